package sessions

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// terminals are faked by the pids of their shells.
type terminals struct {
	mu      sync.Mutex
	shells  map[int]string
	program map[string]*model.ProgramStatus
	front   map[string]int
}

func (f *terminals) Of(t *processes.Table, pid int) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range t.Ancestors(pid) {
		if id, ok := f.shells[p.Pid]; ok {
			return id, true
		}
	}
	return "", false
}

func (f *terminals) Get(id string) (model.Terminal, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return model.Terminal{ID: id, Title: "title " + id, Program: f.program[id]}, true
}

func (f *terminals) Foreground(id string) (int, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.front[id]
	return g, ok
}

type native func(pid int) model.Place

func (n native) Locate(_ context.Context, _ *processes.Table, pid int) model.Place { return n(pid) }

// shell starts a shell that runs a script and tells the pid of its last child.
func (b *bench) shell(script string) (shell *exec.Cmd, child int) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "pid")
	fifo := exec.Command("mkfifo", file)
	if err := fifo.Run(); err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", script, "bash", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	child, err = strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = exec.Command("kill", "-9", strconv.Itoa(child)).Run()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd, child
}

// Two terminals in one folder, an agent behind wrappers in each, and a decoy
// outside: all are bound right.
func TestBindingByAncestry(t *testing.T) {
	f := &terminals{shells: map[int]string{}, program: map[string]*model.ProgramStatus{}, front: map[string]int{}}
	b := newBench(t, func(o *Options) {
		o.Terminals = f
		o.Native = native(func(int) model.Place {
			return model.Place{Kind: "terminal", App: "kitty", Label: "kitty", CanFocus: true}
		})
	})
	const wrapped = `bash -c 'bash -c "sleep 1000 & echo \$! > $0; wait; :" "$0"; :' "$1"; :`
	one, first := b.shell(wrapped)
	two, second := b.shell(wrapped)
	decoy := b.process()
	f.mu.Lock()
	f.shells[one.Process.Pid], f.shells[two.Process.Pid] = "t1", "t2"
	f.mu.Unlock()
	b.upsert(agent.Snapshot{ID: "1", Pid: first, Status: agent.StatusIdle})
	b.upsert(agent.Snapshot{ID: "2", Pid: second, Status: agent.StatusIdle})
	b.upsert(agent.Snapshot{ID: "3", Pid: decoy.Process.Pid, Status: agent.StatusIdle})
	places := map[string]model.Place{}
	for len(places) < 3 {
		c := b.wait("places", func(c Change) bool { return c.Session.Place.Kind != "none" })
		places[c.Session.Key.ID] = c.Session.Place
	}
	if p := places["1"]; p.TerminalID != "t1" || p.Label != "title t1" || p.External || !p.CanFocus {
		t.Errorf("%+v", p)
	}
	if p := places["2"]; p.TerminalID != "t2" {
		t.Errorf("%+v", p)
	}
	if p := places["3"]; p.TerminalID != "" || !p.External || p.App != "kitty" {
		t.Errorf("%+v", p)
	}
	// The terminal is closed while the process lives on: outside.
	f.mu.Lock()
	delete(f.shells, one.Process.Pid)
	f.mu.Unlock()
	b.r.Rebind()
	b.wait("outside", func(c Change) bool { return c.Session.Key.ID == "1" && c.Session.Place.External })
}

// What a terminal was told counts while the agent is in its foreground.
func TestProgramStatusOfTheTerminal(t *testing.T) {
	f := &terminals{shells: map[int]string{}, program: map[string]*model.ProgramStatus{}, front: map[string]int{}}
	b := newBench(t, func(o *Options) { o.Terminals = f })
	sh, child := b.shell(`set -m; sleep 1000 & echo $! > "$1"; wait; :`)
	p, err := processes.Read(child)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.shells[sh.Process.Pid] = "t"
	f.program["t"] = &model.ProgramStatus{State: "blocked", Kind: "permission", Text: "run it?", At: 5}
	f.front["t"] = p.Pgrp
	f.mu.Unlock()
	b.upsert(agent.Snapshot{ID: "s", Pid: child, Status: agent.StatusRunning})
	c := b.wait("waiting", is("s", model.SessionWaiting))
	if s := c.Session; s.WaitingKind != agent.WaitApproval || s.WaitingFor != "run it?" || s.Evidence.Source != "terminal" {
		t.Errorf("%+v", s)
	}
	f.mu.Lock()
	f.front["t"] = sh.Process.Pid
	f.mu.Unlock()
	b.r.Rebind()
	b.wait("its own word again", is("s", model.SessionRunning))
	f.mu.Lock()
	f.front["t"] = p.Pgrp
	f.program["t"] = &model.ProgramStatus{State: "blocked", Kind: "auth", At: 6}
	f.mu.Unlock()
	b.r.Rebind()
	b.wait("blocked", is("s", model.SessionBlocked))
	// Where the terminal was not told for what it waits, the registry's word stands.
	f.mu.Lock()
	f.program["t"] = &model.ProgramStatus{State: "blocked", Kind: "permission", At: 7}
	f.mu.Unlock()
	b.upsert(agent.Snapshot{ID: "s", Pid: child, Status: agent.StatusWaiting, WaitingKind: agent.WaitApproval, WaitingFor: "Bash: make", Env: map[string]string{"HOME_OF_IT": "/x"}})
	b.r.Rebind()
	b.wait("what it waits for", func(c Change) bool {
		return c.Session.WaitingFor == "Bash: make" && c.Session.Evidence.Source == "terminal" && c.Session.Env["HOME_OF_IT"] == "/x"
	})
	// The agent's own server knows better.
	b.upsert(agent.Snapshot{ID: "s", Pid: child, Status: agent.StatusIdle, EvidenceKind: "server"})
	b.state("s", model.SessionIdle)
}

// recognizer knows agents by the name they were started with.
type recognizer struct{}

func (recognizer) Recognize(_ string, argv []string) agent.Recognition {
	name := filepath.Base(argv[0])
	rec := agent.Recognition{Agent: name == "fakeagent" || name == "fakeagent-daemon", Helper: name == "fakeagent-daemon"}
	if i := slices.Index(argv, "--resume"); i > 0 && i+1 < len(argv) {
		rec.SessionID = argv[i+1]
	}
	return rec
}

// Case P02: wrappers, decoys and the agent itself; a process that has written
// nothing is a starting row until its source names it.
func TestP02StartingByProcess(t *testing.T) {
	b := newBench(t, func(o *Options) { o.LeaveGrace = 0 })
	known := Recognizers{"h": recognizer{}}
	// exec -a gives a real process the agent's name; the wrapper has it too.
	_, inner := b.shell(`exec -a fakeagent bash -c '(exec -a fakeagent sleep 1000) & echo $! > "$0"; wait; :' "$1"`)
	_, decoy := b.shell(`(exec -a vim bash -c 'sleep 1001; :' x fakeagent.md) & echo $! > "$1"; wait; :`)
	_, daemon := b.shell(`(exec -a fakeagent-daemon sleep 1002) & echo $! > "$1"; wait; :`)
	_, resumed := b.shell(`(exec -a fakeagent bash -c 'sleep 1003; :' x --resume S9) & echo $! > "$1"; wait; :`)
	named := func(pid int, name string) {
		for range 500 { // the child is there before its exec
			if argv, err := processes.Argv(pid); err == nil && len(argv) > 0 && filepath.Base(argv[0]) == name {
				return
			}
			b.sched()
		}
		t.Fatalf("%d never became %s", pid, name)
	}
	named(inner, "fakeagent")
	named(decoy, "vim")
	named(daemon, "fakeagent-daemon")
	named(resumed, "fakeagent")
	b.r.Scan(known)
	list := b.r.List()
	if len(list) != 2 {
		t.Fatalf("%v", b.ids())
	}
	for _, s := range list {
		if s.State != model.SessionStarting || s.Pid != inner && s.Pid != resumed || s.Link != agent.LinkProved || s.Evidence.Source != "process" {
			t.Errorf("%+v", s)
		}
	}
	if s := b.row("S9"); s.Pid != resumed {
		t.Errorf("%+v", s)
	}
	// Its source names it: one row.
	b.upsert(agent.Snapshot{ID: "S1", Pid: inner, Status: agent.StatusIdle})
	if got := b.ids(); len(got) != 2 || !slices.Contains(got, "S1=idle") {
		t.Errorf("%v", got)
	}
	b.r.Scan(known)
	if got := b.ids(); len(got) != 2 {
		t.Errorf("found again: %v", got)
	}
	// One that ends without a word leaves nothing.
	b.drain()
	if err := exec.Command("kill", "-9", strconv.Itoa(resumed)).Run(); err != nil {
		t.Fatal(err)
	}
	b.wait("gone", removed("S9"))
}

// A child between its fork and its exec looks like the agent that forked it.
func TestAForkOfTheAgentIsNoAgent(t *testing.T) {
	b := newBench(t, func(o *Options) { o.LeaveGrace = 0 })
	// The subshell stays a fork: it bears the very command line of its parent.
	agentPid, fork := b.shell(`exec -a fakeagent bash -c '(read -r x < <(sleep 1000); :) & echo $! > "$1"; wait; :' x "$1"`)
	for range 500 {
		if argv, err := processes.Argv(fork); err == nil && len(argv) > 0 && argv[0] == "fakeagent" {
			break
		}
		b.sched()
	}
	b.r.Scan(Recognizers{"h": recognizer{}})
	list := b.r.List()
	if len(list) != 1 || list[0].Pid != agentPid.Process.Pid {
		t.Errorf("agent %d, its fork %d: %+v", agentPid.Process.Pid, fork, list)
	}
}

// A real start is seen by the start watcher, by the kernel or on a hint.
func TestStartedByTheWatcher(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Now = nil })
	w := processes.NewStartWatcher(func(ids []processes.Identity) { b.r.Started(Recognizers{"h": recognizer{}}, ids) })
	defer w.Close()
	_, pid := b.shell(`(exec -a fakeagent sleep 1000) & echo $! > "$1"; wait; :`)
	for range 500 {
		if argv, err := processes.Argv(pid); err == nil && len(argv) > 0 && argv[0] == "fakeagent" {
			break
		}
		b.sched()
	}
	w.Hint()
	c := b.wait("starting", func(c Change) bool { return c.Session.State == model.SessionStarting })
	if c.Session.Pid != pid {
		t.Errorf("%+v", c.Session)
	}
}

// Our own chats: their agents are no rows of their own; the chat and the session
// are one row; a process of somebody else beats the chat's word.
func TestChatsOfOurs(t *testing.T) {
	b := newBench(t, nil)
	own := b.process()
	chat := model.ChatSummary{ID: "c", Harness: "h", Cwd: "/", Title: "the chat", State: model.SessionRunning, CreatedAt: 1, UpdatedAt: 2,
		Hand: model.Hand{State: model.HandApp}}
	// Before the session has a name: the agent's own registry entry is hidden.
	b.r.SetChat(chat, own.Process.Pid)
	b.upsert(agent.Snapshot{ID: "temporary", Pid: own.Process.Pid, Status: agent.StatusIdle})
	if got := b.ids(); !slices.Equal(got, []string{"chat:c=running"}) {
		t.Fatalf("%v", got)
	}
	chat.Handle = &agent.Handle{Harness: "h", NativeID: "S1"}
	chat.State, chat.Waiting = model.SessionWaiting, 1
	b.r.SetChat(chat, own.Process.Pid)
	b.upsert(agent.Snapshot{ID: "S1", Pid: own.Process.Pid, Status: agent.StatusRunning, Title: "of the agent"})
	if got := b.ids(); !slices.Equal(got, []string{"S1=waiting"}) {
		t.Fatalf("%v", got)
	}
	if s := b.row("S1"); s.ChatID != "c" || s.Title != "the chat" || s.Evidence.Source != "chat" || s.WaitingKind != agent.WaitApproval || s.Pid != own.Process.Pid {
		t.Errorf("%+v", s)
	}
	b.r.Bound(t.Context())
	if s := b.row("S1"); s.Place.Kind != "none" || s.Place.External {
		t.Errorf("a chat's agent is shown where the host was started: %+v", s.Place)
	}
	// Released: the process ends, the chat rests; no row claims a failure.
	chat.State, chat.Waiting = model.SessionIdle, 0
	b.r.SetChat(chat, own.Process.Pid)
	kill(t, own)
	b.r.SetChat(chat, 0)
	b.wait("gone", removed("S1"))
	// The person opens it in a terminal: the process there is the evidence.
	foreign := b.process()
	b.upsert(agent.Snapshot{ID: "S1", Pid: foreign.Process.Pid, Status: agent.StatusRunning})
	if s := b.row("S1"); s.State != model.SessionRunning || s.ChatID != "c" || s.Evidence.Source != "registry" || s.Pid != foreign.Process.Pid {
		t.Errorf("%+v", s)
	}
	b.r.RemoveChat("c")
	if s := b.row("S1"); s.ChatID != "" || s.State != model.SessionRunning {
		t.Errorf("%+v", s)
	}
}

// A place is shown for the process it was found for, never for the next one.
func TestPlaceOfTheNextProcess(t *testing.T) {
	b := newBench(t, nil)
	first, next := b.process(), b.process()
	b.upsert(agent.Snapshot{ID: "S1", Pid: first.Process.Pid, Status: agent.StatusIdle})
	b.r.Bound(t.Context())
	if s := b.row("S1"); s.Place.Kind != "external" {
		t.Fatalf("%+v", s.Place)
	}
	b.drain()
	b.upsert(agent.Snapshot{ID: "S1", Pid: next.Process.Pid, Status: agent.StatusIdle})
	c := b.wait("the next process", func(c Change) bool { return c.Session.Pid == next.Process.Pid })
	if c.Session.Place.Kind != "none" {
		t.Errorf("before it was looked for: %+v", c.Session.Place)
	}
	b.r.Bound(t.Context())
	if s := b.row("S1"); s.Place.Kind != "external" {
		t.Errorf("%+v", s.Place)
	}
}

// What a chat's agent starts by itself is no session either.
func TestInsideOurs(t *testing.T) {
	b := newBench(t, nil)
	sh, child := b.shell(`sleep 1000 & echo $! > "$1"; wait; :`)
	b.r.SetChat(model.ChatSummary{ID: "c", Harness: "h", Cwd: "/", State: model.SessionIdle, Hand: model.Hand{State: model.HandApp}}, sh.Process.Pid)
	b.upsert(agent.Snapshot{ID: "inner", Pid: child, Status: agent.StatusRunning})
	if _, ok := b.r.Session(key("inner")); ok {
		b.wait("hidden", removed("inner"))
	}
	b.none("inner")
}

// A tab's title may be a whole first message; its label is a label.
func TestLabelOfATabIsShort(t *testing.T) {
	for in, want := range map[string]string{
		"zsh":                   "zsh",
		strings.Repeat("я", 32): strings.Repeat("я", 32),
		"Find out why the upload test is flaky and fix it": "Find out why the upload test is…",
	} {
		if got := short(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
