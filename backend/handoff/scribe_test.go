package handoff

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/program"
)

// Scribe is the agent of these tests: a real process with a live registry and a
// transcript. Like real ones it reads the tip when it starts and appends from
// what it remembers, so that two writers make two branches.

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rehearsal" {
		os.Exit(program.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr, os.Getenv, ""))
	}
	switch os.Getenv(roleEnv) {
	case "host":
		os.Exit(hostRole())
	case "window":
		os.Exit(windowRole())
	}
	if os.Getenv("SCRIBE_MODE") != "" {
		os.Exit(scribeMain())
	}
	goleak.VerifyTestMain(m)
}

type entry struct {
	ID     string `json:"id"`
	Parent string `json:"parent"`
	Role   string `json:"role"`
	Text   string `json:"text"`
	Client string `json:"client,omitempty"`
}

type home string

func (h home) transcript(id string) string {
	return filepath.Join(string(h), "transcripts", id+".jsonl")
}
func (h home) sessions() string { return filepath.Join(string(h), "sessions") }

func (h home) entries(id string) ([]entry, error) {
	b, err := os.ReadFile(h.transcript(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var list []entry
	for _, l := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		var e entry
		if l != "" && json.Unmarshal([]byte(l), &e) == nil {
			list = append(list, e)
		}
	}
	return list, err
}

// writer appends from the tip that it remembers.
type writer struct {
	h        home
	id, last string
}

func (h home) writer(id string) *writer {
	w := &writer{h: h, id: id}
	if list, _ := h.entries(id); len(list) > 0 {
		w.last = list[len(list)-1].ID
	}
	return w
}

func (w *writer) append(role, text, client string) entry {
	e := entry{ID: uuid.NewString(), Parent: w.last, Role: role, Text: text, Client: client}
	b, _ := json.Marshal(e)
	f, err := os.OpenFile(w.h.transcript(w.id), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		panic(err)
	}
	_ = f.Close()
	w.last = e.ID
	return e
}

type claim struct {
	Session string             `json:"session"`
	ID      processes.Identity `json:"id"`
}

func (h home) register(session string) {
	id, err := processes.Identify(os.Getpid())
	if err != nil {
		panic(err)
	}
	b, _ := json.Marshal(claim{session, id})
	path := filepath.Join(h.sessions(), fmt.Sprint(os.Getpid()))
	if os.WriteFile(path+".new", b, 0o600) != nil || os.Rename(path+".new", path+".json") != nil {
		panic("registry")
	}
}

// scribeMain is the agent's program. Modes: chat (holds the session, the test's
// provider writes for it), tui (writes what its stdin says), mute (never
// registers), gone (ends at once).
func scribeMain() int {
	h, session, mode := home(os.Getenv("SCRIBE_HOME")), os.Args[len(os.Args)-1], os.Getenv("SCRIBE_MODE")
	if mode == "gone" {
		return 3
	}
	if mode == "stubborn" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	}
	if mode == "mute" || mode == "stubborn" {
		fmt.Println("up")
		_, _ = io.Copy(io.Discard, os.Stdin)
		forever()
	}
	if os.Getenv("SCRIBE_CHILD") != "" {
		kid := exec.Command(os.Args[0], "none")
		kid.Env = append(os.Environ(), "SCRIBE_MODE=stubborn")
		kid.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		up, err := kid.StdoutPipe()
		if err != nil || kid.Start() != nil {
			panic("child")
		}
		bufio.NewScanner(up).Scan()
		_ = os.WriteFile(filepath.Join(string(h), "child"), []byte(fmt.Sprint(kid.Process.Pid)), 0o600)
	}
	w := h.writer(session)
	h.register(session)
	fmt.Println("up")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "say":
			w.append("user", rest, "")
			w.append("text", "re: "+rest, "")
			fmt.Println("said")
		case "moved": // the conversation goes on under a new id
			list, _ := h.entries(session)
			w = &writer{h: h, id: rest}
			for _, e := range list {
				w.append(e.Role, e.Text, e.Client)
			}
			_ = os.WriteFile(filepath.Join(string(h), "next-"+session), []byte(rest), 0o600)
			h.register(rest)
			fmt.Println("moved")
		case "quit":
			_ = os.Remove(filepath.Join(h.sessions(), fmt.Sprint(os.Getpid())+".json"))
			return 0
		}
	}
	if mode == "tui" {
		forever() // like a terminal that lost its keyboard
	}
	return 0
}

// forever waits for a signal that nobody sends; an empty select would be a
// deadlock to the runtime.
func forever() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR2)
	<-c
}

// troupe is the harness.
type troupe struct {
	t       *testing.T
	home    home
	watcher *agentkit.Watcher
	mode    string // of the next terminal command
	unclear bool
	hold    chan struct{} // when set, a turn ends only when it is closed
	slow    bool          // the agent is registered for a while before it is ready
	mu      sync.Mutex
	prompts []string
	child   bool // the chat's agent has a child that ignores TERM and leaves its group
}

func newTroupe(t *testing.T) *troupe {
	p := &troupe{t: t, home: home(t.TempDir()), watcher: agentkit.NewWatcher(agentkit.WatcherOptions{}), mode: "tui"}
	for _, d := range []string{p.home.sessions(), filepath.Dir(p.home.transcript("x"))} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = p.watcher.Close() })
	return p
}

func (p *troupe) Harness(id string) (agent.Harness, bool, bool) {
	return agent.Harness{Identity: agent.Identity{Harness: "scribe", DisplayName: "Scribe"}, Provider: p, Handover: p}, true, id == "scribe"
}

func (p *troupe) Availability(context.Context) (agent.Availability, error) {
	return agent.Availability{Available: true}, nil
}

// start starts the program.
func (p *troupe) start(mode, session string) (*exec.Cmd, io.WriteCloser, *bufio.Scanner) {
	cmd := exec.Command(os.Args[0], session)
	cmd.Env = append(os.Environ(), "SCRIBE_MODE="+mode, "SCRIBE_HOME="+string(p.home))
	if p.child && mode == "chat" {
		cmd.Env = append(cmd.Env, "SCRIBE_CHILD=1")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	return cmd, in, lines
}

func (p *troupe) Open(_ context.Context, req agent.OpenRequest, ev agent.Events) (agent.ChatSession, error) {
	h := agent.Handle{Harness: "scribe", NativeID: uuid.NewString(), Cwd: req.WorkingDirectory}
	if req.Resume != nil {
		h = *req.Resume
	}
	s := &pen{p: p, ev: ev, w: p.home.writer(h.NativeID), cancel: make(chan struct{}, 1), closed: make(chan struct{})}
	s.cmd, s.in, _ = p.start("chat", h.NativeID)
	if p.slow {
		<-time.After(500 * time.Millisecond)
	}
	var handle *agent.Handle
	if req.Kind == agent.KindWorkspace {
		handle = &h
	}
	ev.Ready(agent.Ready{Handle: handle, Agent: agent.AgentInfo{Name: "Scribe"}, Pid: s.cmd.Process.Pid})
	return s, nil
}

// pen is the chat's side of the agent.
type pen struct {
	p      *troupe
	ev     agent.Events
	w      *writer
	cmd    *exec.Cmd
	in     io.WriteCloser
	cancel chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (s *pen) Prompt(_ context.Context, pr agent.Prompt) (agent.TurnEnd, error) {
	s.p.mu.Lock()
	s.p.prompts = append(s.p.prompts, pr.Text)
	hold := s.p.hold
	s.p.mu.Unlock()
	s.ev.Item(itemOf(s.w.append("user", pr.Text, pr.ClientID)))
	if hold != nil {
		select {
		case <-hold:
		case <-s.cancel:
			return agent.TurnEnd{Outcome: agent.OutcomeCanceled}, nil
		case <-s.closed:
			return agent.TurnEnd{Outcome: agent.OutcomeCanceled}, nil
		}
	}
	s.ev.Item(itemOf(s.w.append("text", "re: "+pr.Text, "")))
	return agent.TurnEnd{Outcome: agent.OutcomeCompleted}, nil
}

func (s *pen) Cancel(context.Context) error { s.cancel <- struct{}{}; return nil }

func (s *pen) Close(context.Context) error {
	s.once.Do(func() {
		close(s.closed)
		_ = s.in.Close()
		_ = s.cmd.Wait()
	})
	return nil
}

func itemOf(e entry) agent.Item {
	it := agent.Item{ID: e.ID, Type: agent.ItemType(e.Role), Text: e.Text, At: 1}
	if it.Type == agent.ItemUser {
		it.NativeID, it.ClientID = e.ID, e.Client
	} else {
		it.EndedAt = 1
	}
	return it
}

func (p *troupe) TerminalCommand(_ context.Context, r agent.TerminalRequest) (agent.Command, []string, error) {
	return agent.Command{Argv: []string{os.Args[0], r.Handle.NativeID}, Cwd: r.Handle.Cwd,
		Env: map[string]string{"SCRIBE_MODE": p.mode, "SCRIBE_HOME": string(p.home)}}, []string{"nothing"}, nil
}

func (p *troupe) Owner(_ context.Context, h agent.Handle, ignore []int) (agent.Ownership, error) {
	p.mu.Lock()
	unclear := p.unclear
	p.mu.Unlock()
	if unclear {
		return agent.Ownership{Owner: agent.OwnerUnclear, Evidence: "a test says so"}, nil
	}
	files, err := filepath.Glob(filepath.Join(p.home.sessions(), "*.json"))
	if err != nil {
		return agent.Ownership{}, err
	}
next:
	for _, f := range files {
		b, _ := os.ReadFile(f)
		var c claim
		if json.Unmarshal(b, &c) != nil || c.Session != h.NativeID || !c.ID.Alive() {
			continue
		}
		for _, pid := range ignore {
			if pid == c.ID.Pid {
				continue next
			}
		}
		return agent.Ownership{Owner: agent.OwnerTerminal, Pid: c.ID.Pid, Link: agent.LinkProved, Evidence: filepath.Base(f)}, nil
	}
	return agent.Ownership{Owner: agent.OwnerNobody, Evidence: "nobody is registered"}, nil
}

func (p *troupe) Tip(_ context.Context, h agent.Handle) (agent.Handle, error) {
	if b, err := os.ReadFile(filepath.Join(string(p.home), "next-"+h.NativeID)); err == nil {
		h.NativeID = string(b)
	}
	return h, nil
}

func (p *troupe) ChangeDirs(agent.Handle) []string { return []string{p.home.sessions()} }

func (p *troupe) Mirror(ctx context.Context, h agent.Handle, from agent.Position, sink agent.Sink) error {
	w := p.watcher.Watch(filepath.Dir(p.home.transcript("x")))
	defer w.Close()
	for {
		list, err := p.home.entries(h.NativeID)
		if err != nil {
			return err
		}
		skip := from.RecordID != ""
		for _, e := range list {
			if !skip {
				sink.Item(itemOf(e))
				from.RecordID = e.ID
			} else if e.ID == from.RecordID {
				skip = false
			}
		}
		sink.CaughtUp(from)
		select {
		case <-ctx.Done():
			return nil
		case <-w.Wake():
			w.Take()
		}
	}
}
