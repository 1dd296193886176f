package sessions

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/projects"
	"github.com/whippletree-app/whippletree/backend/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is moved by the test.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }

func (c *clock) add(d time.Duration) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	return c.at.UnixMilli()
}

// bench is a registry with everything around it.
type bench struct {
	t       *testing.T
	r       *Registry
	exits   *processes.ExitWatcher
	changes chan Change
	clock   *clock
	ctx     context.Context
	stop    context.CancelFunc
	pub     agent.Publisher
	told    []string
	mu      sync.Mutex
}

func newBench(t *testing.T, change func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, exits: processes.NewExitWatcher(), changes: make(chan Change, 10000), clock: &clock{at: time.Now()}}
	p := projects.New(projects.Options{})
	o := Options{Exits: b.exits, Project: p.Of, Now: b.clock.now, OnChange: func(c Change) { b.changes <- c },
		OnDiagnostic: func(source, code, message string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.told = append(b.told, source+" "+code+" "+message)
		}}
	if change != nil {
		change(&o)
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.r = r
	b.ctx, b.stop = context.WithCancel(context.Background())
	t.Cleanup(func() { b.stop(); r.Close(); p.Close(); b.exits.Close() })
	r.SetEnabled("h", true)
	b.pub = r.Publisher(b.ctx, "source", []string{"h", "other"})
	return b
}

// process starts a real one that lives until the test ends it.
func (b *bench) process(args ...string) *exec.Cmd {
	b.t.Helper()
	if len(args) == 0 {
		args = []string{"sleep", "1000"}
	}
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func (b *bench) upsert(s agent.Snapshot) {
	b.t.Helper()
	if s.Harness == "" {
		s.Harness = "h"
	}
	if s.Cwd == "" {
		s.Cwd = "/"
	}
	if s.Pid > 0 && s.Link == "" {
		s.Link = agent.LinkProved
	}
	if bad := b.pub.Upsert(s); len(bad) > 0 {
		b.t.Fatalf("rejected: %+v", bad)
	}
}

func key(id string) model.SessionKey { return model.SessionKey{Harness: "h", ID: id} }

func (b *bench) row(id string) model.Session {
	b.t.Helper()
	s, ok := b.r.Session(key(id))
	if !ok {
		b.t.Fatalf("no row %s in %v", id, b.ids())
	}
	return s
}

func (b *bench) state(id string, want model.SessionState) {
	b.t.Helper()
	if got := b.row(id); got.State != want {
		b.t.Fatalf("%s is %s, not %s (%+v)", id, got.State, want, got.Evidence)
	}
}

func (b *bench) none(id string) {
	b.t.Helper()
	if s, ok := b.r.Session(key(id)); ok {
		b.t.Fatalf("%s is still there: %+v", id, s)
	}
}

func (b *bench) ids() []string {
	var ids []string
	for _, s := range b.r.List() {
		ids = append(ids, s.Key.ID+"="+string(s.State))
	}
	return ids
}

// wait takes changes until one fits.
func (b *bench) wait(what string, fits func(Change) bool) Change {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case c := <-b.changes:
			if fits(c) {
				return c
			}
		case <-deadline:
			b.t.Fatalf("never: %s; %v", what, b.ids())
		}
	}
}

func (b *bench) drain() {
	for {
		select {
		case <-b.changes:
		default:
			return
		}
	}
}

func is(id string, state model.SessionState) func(Change) bool {
	return func(c Change) bool { return !c.Removed && c.Session.Key.ID == id && c.Session.State == state }
}

func removed(id string) func(Change) bool {
	return func(c Change) bool { return c.Removed && c.Session.Key.ID == id }
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.OpenWith(t.TempDir(), store.Options{Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func ended(at int64) agent.Snapshot {
	return agent.Snapshot{Status: agent.StatusIdle, LastTurn: "completed", LastTurnEndedAt: at}
}

func with(s agent.Snapshot, id string, pid int) agent.Snapshot {
	s.ID, s.Pid = id, pid
	return s
}

// sched lets a process that was just started get to its exec.
func (b *bench) sched() { _ = exec.Command("true").Run() }

// measured waits until the processor time of a row was read.
func (b *bench) measured(id string) {
	b.t.Helper()
	for range 5000 {
		b.r.mu.Lock()
		p := b.r.rows[key(id)].probe
		ready := p != nil && !p.pending
		b.r.mu.Unlock()
		if ready {
			return
		}
		b.sched()
	}
	b.t.Fatal("never measured")
}
