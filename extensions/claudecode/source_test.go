package claudecode

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// observing runs the source until the test ends.
type observing struct {
	*board
	t   *testing.T
	h   *agentkit.Host
	ctx context.Context
	end func()
}

func observe(t *testing.T, h *agentkit.Host) *observing {
	t.Helper()
	if h.Exits == nil {
		h.Exits = processes.NewExitWatcher()
		t.Cleanup(h.Exits.Close)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	o := &observing{board: newBoard(), t: t, h: h, ctx: ctx}
	done := make(chan error, 1)
	go func() {
		done <- New(h).Source.Start(ctx, agent.SourceStart{Harnesses: []string{harnessID}, Publisher: o.board})
	}()
	o.end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(o.end)
	return o
}

func (o *observing) until(what string, ok func(agent.Snapshot) bool) agent.Snapshot {
	o.t.Helper()
	return o.wait(o.ctx, o.t, what, true, ok)
}

// process starts one that stands for a running program.
func process(t *testing.T) int {
	t.Helper()
	p := exec.Command("sleep", "600")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan struct{})
	go func() { _ = p.Wait(); close(reaped) }()
	t.Cleanup(func() { _ = p.Process.Kill(); <-reaped })
	return p.Process.Pid
}

// entered writes a process's registry entry.
func entered(t *testing.T, h *agentkit.Host, pid int, session string, more map[string]any) {
	t.Helper()
	registryFile(t, h, pid, func(m map[string]any) {
		m["sessionId"] = session
		for k, v := range more {
			m[k] = v
		}
	})
}

func TestSpareAndParkedProcessesAreNoSessions(t *testing.T) {
	h := quietHost(t)
	spare, parked, job, plain := process(t), process(t), process(t), process(t)
	entered(t, h, spare, "spare-one", map[string]any{"spare": true})
	entered(t, h, parked, "parked-one", map[string]any{"parkedJobId": "j1"})
	entered(t, h, job, "the-job", map[string]any{"jobId": "j1", "status": "busy"})
	entered(t, h, plain, "plain", map[string]any{"parkedJobId": "j9", "status": "shell"}) // its job is gone
	o := observe(t, h)
	o.until("the job", func(s agent.Snapshot) bool { return s.ID == "the-job" && s.Status == agent.StatusRunning })
	o.until("the plain one", func(s agent.Snapshot) bool { return s.ID == "plain" && s.Status == agent.StatusRunning })
	if n := o.seen("spare-one") + o.seen("parked-one"); n != 0 {
		t.Errorf("a spare or a parked process was shown %d times", n)
	}
	// A spare one that is taken becomes a session.
	entered(t, h, spare, "taken", nil)
	o.until("the spare one", func(s agent.Snapshot) bool { return s.ID == "taken" && s.Supersedes == "" })
}

func (b *board) seen(id string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.history {
		if s.ID == id {
			n++
		}
	}
	return n
}

func (b *board) has(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.rows[id]
	return ok
}

// /clear, /new and /resume: one process goes from session to session, and back.
func TestCaseP09OneProcessManySessions(t *testing.T) {
	h := quietHost(t)
	pid := process(t)
	transcript(t, h, "/w/app", "S1", said{"user", "u1", "", "first"})
	entered(t, h, pid, "S1", nil)
	o := observe(t, h)
	o.until("the first", func(s agent.Snapshot) bool { return s.ID == "S1" && s.Title == "first" })
	transcript(t, h, "/w/app", "S2", said{"user", "u1", "", "second"})
	entered(t, h, pid, "S2", map[string]any{"status": "busy"})
	o.until("the second", func(s agent.Snapshot) bool {
		return s.ID == "S2" && s.Supersedes == "S1" && s.Title == "second" && s.Status == agent.StatusRunning
	})
	o.gone("S1")
	entered(t, h, pid, "S1", nil)
	o.until("the first again", func(s agent.Snapshot) bool { return s.ID == "S1" && s.Supersedes == "S2" })
	o.gone("S2")
}

// A file that was left by kill -9, and one that names a pid which somebody else has now, are
// not believed; a process that is killed takes its row along.
func TestLeftoversOfAKillAreNotBelieved(t *testing.T) {
	h := quietHost(t)
	gone, other, live := process(t), process(t), process(t)
	entered(t, h, gone, "gone", map[string]any{"status": "busy"})
	entered(t, h, other, "other", map[string]any{"procStart": "1"})
	entered(t, h, live, "live", map[string]any{"status": "busy"})
	kill(t, gone)
	o := observe(t, h)
	o.until("the live one", func(s agent.Snapshot) bool { return s.ID == "live" })
	if o.has("gone") || o.has("other") {
		t.Errorf("a leftover is shown")
	}
	kill(t, live) // its file stays
	o.gone("live")
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	id, err := agentkit.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); id.Alive(); {
		if time.Now().After(end) {
			t.Fatal("it does not die")
		}
		time.Sleep(time.Millisecond) // there is no event: it is a child of the test
	}
}

// gone waits until a row is taken back.
func (o *observing) gone(id string) {
	o.t.Helper()
	for {
		o.mu.Lock()
		_, there := o.rows[id]
		changed := o.changed
		o.mu.Unlock()
		if !there {
			return
		}
		select {
		case <-changed:
		case <-o.ctx.Done():
			o.t.Fatalf("%s is still there", id)
		}
	}
}

// What a live session's transcript tells, append by append, and what a permission
// is asked for.
func TestLiveSessionFollowsItsTranscript(t *testing.T) {
	h := quietHost(t)
	index := &agentkit.MemoryIndex{}
	h.Index = index
	pid := process(t)
	entered(t, h, pid, "S1", map[string]any{"status": "busy"})
	o := observe(t, h)
	o.until("no transcript yet", func(s agent.Snapshot) bool { return s.ID == "S1" && s.Title == "" && s.Status == agent.StatusRunning })
	transcript(t, h, "/w/app", "S1", said{"user", "u1", "", "make it so"})
	o.until("the title", func(s agent.Snapshot) bool { return s.Title == "make it so" })
	path := file(h, "/w/app", "S1")
	appendTo(t, path, `{"type":"permission-mode","permissionMode":"acceptEdits"}`+"\n")
	appendTo(t, path, `{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-01-01T10:00:05.000Z","message":{"id":"m1","model":"claude-x","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make install"}}]}}`+"\n")
	o.until("the tool", func(s agent.Snapshot) bool {
		return s.Tool == "Bash" && s.Model == "claude-x" && s.Mode == "acceptEdits" && s.WaitingFor == ""
	})
	entered(t, h, pid, "S1", map[string]any{"status": "waiting", "waitingFor": "permission prompt"})
	o.until("what is asked", func(s agent.Snapshot) bool {
		return s.Status == agent.StatusWaiting && s.WaitingKind == agent.WaitApproval && s.WaitingFor == "Bash: make install"
	})
	appendTo(t, path, `{"type":"assistant","uuid":"a1b","timestamp":"2026-01-01T10:00:05.000Z","message":{"id":"m1","model":"claude-x","content":[{"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"/w/app/x.txt","content":"x"}}]}}`+"\n")
	o.until("that it is one of two", func(s agent.Snapshot) bool {
		return strings.HasPrefix(s.WaitingFor, "one of Bash: make install; Write: ")
	})
	entered(t, h, pid, "S1", map[string]any{"status": "waiting", "waitingFor": "input needed"})
	o.until("a question", func(s agent.Snapshot) bool { return s.WaitingKind == agent.WaitQuestion })
	appendTo(t, path, `{"type":"user","uuid":"u2","parentUuid":"a1","timestamp":"2026-01-01T10:00:06.000Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`+"\n"+
		`{"type":"assistant","uuid":"a2","timestamp":"2026-01-01T10:00:07.000Z","message":{"id":"m2","model":"claude-x","stop_reason":"end_turn","content":[{"type":"text","text":"done"}]}}`+"\n")
	entered(t, h, pid, "S1", map[string]any{"status": "idle"})
	o.until("the end", func(s agent.Snapshot) bool {
		return s.Status == agent.StatusIdle && s.LastTurn == "completed" && s.LastTurnEndedAt == time.Date(2026, 1, 1, 10, 0, 7, 0, time.UTC).UnixMilli() && s.Tool == ""
	})
	appendTo(t, path, c("u3", "a2", "user", "again")+"\n"+`{"type":"user","uuid":"u4","timestamp":"2026-01-01T10:00:08.000Z","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`+"\n")
	o.until("an interrupt", func(s agent.Snapshot) bool { return s.LastTurn == "interrupted" })
	appendTo(t, path, c("u5", "u4", "user", "once more")+"\n"+`{"type":"assistant","uuid":"a3","isApiErrorMessage":true,"timestamp":"2026-01-01T10:00:09.000Z","message":{"id":"m3","model":"<synthetic>","content":[{"type":"text","text":"API Error: 500 overloaded"}]}}`+"\n")
	o.until("an error", func(s agent.Snapshot) bool { return s.LastTurn == "failed" && strings.Contains(s.Error, "500") })
	o.end()
	// Reading goes on from here after a restart.
	x, ok, err := index.Known(t.Context(), harnessID, path)
	info, serr := os.Stat(path)
	if err != nil || serr != nil || !ok || x.Tail.Offset != info.Size() || x.Stamp != agentkit.StampOf(info) || x.Session.LastTurn != "failed" {
		t.Errorf("the index knows %+v of %d bytes, %v %v", x, info.Size(), err, serr)
	}
	next := observe(t, h)
	next.until("the same again", func(s agent.Snapshot) bool {
		return s.LastTurn == "failed" && s.Title == "make it so" && s.Mode == "acceptEdits" && s.Model == "claude-x"
	})
}

// A session in another home says where its data is.
func TestSessionsOfSeveralHomes(t *testing.T) {
	h := quietHost(t)
	second := t.TempDir()
	var mu sync.Mutex
	var launches []agent.Launch
	var tell func()
	h.Launches = func(string) []agent.Launch { mu.Lock(); defer mu.Unlock(); return launches }
	h.OnLaunches = func(f func()) func() { mu.Lock(); defer mu.Unlock(); tell = f; return func() {} }
	other := *h
	other.Env = func() []string { return []string{configDirEnv + "=" + second} }
	entered(t, h, process(t), "S1", nil)
	entered(t, &other, process(t), "S2", nil)
	o := observe(t, h)
	o.until("the default home", func(s agent.Snapshot) bool { return s.ID == "S1" && s.Env == nil })
	if o.has("S2") {
		t.Error("a home that nobody named is looked into")
	}
	mu.Lock()
	launches = []agent.Launch{{Env: map[string]string{configDirEnv: second}}}
	f := tell
	mu.Unlock()
	f() // the settings changed
	o.until("the second home", func(s agent.Snapshot) bool { return s.ID == "S2" && s.Env[configDirEnv] == second })
}

// Thirty live sessions: an append to one reads that one only.
func TestAnAppendReadsOneTranscript(t *testing.T) {
	h := quietHost(t)
	for i := range 30 {
		id := fmt.Sprintf("S%d", i)
		transcript(t, h, "/w/app", id, said{"user", "u1", "", "title of " + id})
		entered(t, h, process(t), id, map[string]any{"cwd": "/w/app"})
	}
	o := observe(t, h)
	o.until("all", func(agent.Snapshot) bool { return len(o.rows) == 30 })
	appendTo(t, file(h, "/w/app", "S7"), `{"type":"custom-title","customTitle":"begun"}`+"\n")
	o.until("the folder to be watched", func(s agent.Snapshot) bool { return s.Title == "begun" })
	dir := filepath.Dir(file(h, "/w/app", "S1"))
	opened := opens(t, dir, sessionsDir(configDir(h, nil)))
	for i := range 10 {
		appendTo(t, file(h, "/w/app", "S7"), `{"type":"custom-title","customTitle":"title `+strconv.Itoa(i)+`"}`+"\n")
		o.until("the new title", func(s agent.Snapshot) bool { return s.ID == "S7" && s.Title == "title "+strconv.Itoa(i) })
	}
	if names := opened(); !slices.Equal(names, []string{"S7.jsonl"}) { // by us, to append
		t.Errorf("ten appends to one session opened %v", names)
	}
}
