package agenttest

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// SourceConfig says how to run the source suite.
type SourceConfig struct {
	Harness string
	// New makes a source whose shared watchers end with the test.
	New func(t *testing.T) agent.SessionSource
	// Roots are handed to Start; nil means the source's own.
	Roots func(t *testing.T) []string
	// Live starts a real session of the agent that roots show. It ends with
	// the test at the latest.
	Live func(t *testing.T, roots []string) LiveSession
	// Stale leaves behind what a killed agent leaves: an entry whose process
	// is gone, and one whose pid belongs to another process. Nil: no registry.
	Stale func(t *testing.T, roots []string)
	// Deadline bounds each wait; the default is 30 s.
	Deadline time.Duration
}

// LiveSession is a running agent under the test's control.
type LiveSession struct {
	ID  string
	Pid int
	Cwd string
	// Steps drive it through its states; each is followed by a wait for it.
	Steps []Step
	// Exit ends it politely.
	Exit func()
}

// Step is one change and what the source must then say.
type Step struct {
	Name string
	Do   func()
	Want func(agent.Snapshot) bool
}

func (c *SourceConfig) deadline() time.Duration {
	if c.Deadline > 0 {
		return c.Deadline
	}
	return 30 * time.Second
}

func (c *SourceConfig) roots(t *testing.T) []string {
	if c.Roots == nil {
		return nil
	}
	return c.Roots(t)
}

// Source runs the whole suite.
func Source(t *testing.T, cfg SourceConfig) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	for _, p := range []struct {
		name string
		on   bool
		run  func(*testing.T, *SourceConfig)
	}{
		{"Empty", true, testSourceEmpty},
		{"SwitchedOff", true, testSourceOff},
		{"States", true, testSourceStates},
		{"FoundAtStart", true, testSourceFound},
		{"KilledWithoutAFileEvent", true, testSourceKilled},
		{"Stale", cfg.Stale != nil, testSourceStale},
		{"TwoSessions", true, testSourceTwo},
	} {
		if p.on {
			t.Run(p.name, func(t *testing.T) { p.run(t, &cfg) })
		}
	}
	t.Run("NoGoroutineLeft", func(t *testing.T) { goleak.VerifyNone(t, before) })
}

// watch starts the source and checks the rules at the end of the test.
func (c *SourceConfig) watch(t *testing.T, roots []string) *Publications {
	t.Helper()
	pub := NewPublications(c.Harness)
	StartSource(t, c.New(t), agent.SourceStart{Harnesses: []string{c.Harness}, Publisher: pub, Roots: roots})
	t.Cleanup(func() {
		for _, v := range pub.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
	return pub
}

func testSourceEmpty(t *testing.T, cfg *SourceConfig) {
	pub := cfg.watch(t, cfg.roots(t))
	pub.MustWait(t, cfg.deadline(), "the first reset", func(map[string]agent.Snapshot) bool { return pub.Resets() > 0 })
	if n := len(pub.Sessions()); n > 0 {
		t.Errorf("an empty root shows %d sessions", n)
	}
}

// testSourceOff: a source whose harness is off publishes nothing and holds
// nothing, while another one sees the same session.
func testSourceOff(t *testing.T, cfg *SourceConfig) {
	roots := cfg.roots(t)
	off := NewPublications()
	source := cfg.New(t)
	watches := held()
	stop := StartSource(t, source, agent.SourceStart{Publisher: off, Roots: roots})
	live := cfg.Live(t, roots)
	on := NewPublications(cfg.Harness)
	stopOn := StartSource(t, cfg.New(t), agent.SourceStart{Harnesses: []string{cfg.Harness}, Publisher: on, Roots: roots})
	on.MustWait(t, cfg.deadline(), "the session", has(live.ID))
	live.Exit()
	on.MustWait(t, cfg.deadline(), "the end of the session", hasNot(live.ID))
	stopOn()
	if now := held(); now > watches {
		t.Errorf("a source whose harness is off holds %d watches", now-watches)
	}
	stop()
	if len(off.History()) > 0 || len(off.Violations()) > 0 {
		t.Errorf("a source whose harness is off published %+v %v", off.History(), off.Violations())
	}
}

// held counts the directory watches of this process; zero where the system does
// not tell.
func held() (watches int) {
	list, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		return 0
	}
	for _, p := range list {
		f, err := os.Open(p)
		if err != nil {
			continue
		}
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if strings.HasPrefix(sc.Text(), "inotify wd:") {
				watches++
			}
		}
		f.Close()
	}
	return watches
}

func has(id string) func(map[string]agent.Snapshot) bool {
	return func(m map[string]agent.Snapshot) bool { _, ok := m[id]; return ok }
}

func hasNot(id string) func(map[string]agent.Snapshot) bool {
	return func(m map[string]agent.Snapshot) bool { _, ok := m[id]; return !ok }
}

func testSourceStates(t *testing.T, cfg *SourceConfig) {
	roots := cfg.roots(t)
	pub := cfg.watch(t, roots)
	live := cfg.Live(t, roots)
	pub.MustWait(t, cfg.deadline(), "the session", has(live.ID))
	cfg.check(t, pub.Sessions()[live.ID], live)
	for _, s := range live.Steps {
		s.Do()
		pub.MustWait(t, cfg.deadline(), s.Name, func(m map[string]agent.Snapshot) bool {
			snap, ok := m[live.ID]
			return ok && s.Want(snap)
		})
	}
	for _, s := range pub.History() {
		if s.ID == live.ID && s.Evidence == "" {
			t.Errorf("a status without evidence: %+v", s)
			break
		}
	}
	live.Exit()
	pub.MustWait(t, cfg.deadline(), "the end of the session", hasNot(live.ID))
}

func (c *SourceConfig) check(t *testing.T, s agent.Snapshot, live LiveSession) {
	t.Helper()
	if s.Harness != c.Harness || s.Pid != live.Pid {
		t.Errorf("the session is %s of pid %d, not %s of pid %d", s.Harness, s.Pid, c.Harness, live.Pid)
	}
	if live.Cwd != "" && s.Cwd != live.Cwd {
		t.Errorf("the folder is %s, not %s", s.Cwd, live.Cwd)
	}
}

func testSourceFound(t *testing.T, cfg *SourceConfig) {
	roots := cfg.roots(t)
	live := cfg.Live(t, roots)
	first := cfg.watch(t, roots)
	first.MustWait(t, cfg.deadline(), "the session", has(live.ID))
	cfg.check(t, first.Sessions()[live.ID], live)
	second := cfg.watch(t, roots) // a restarted source sees the same
	second.MustWait(t, cfg.deadline(), "the session after a restart of the source", has(live.ID))
}

// testSourceKilled: kill -9 leaves every file as it was; the end is seen by
// the process alone.
func testSourceKilled(t *testing.T, cfg *SourceConfig) {
	roots := cfg.roots(t)
	pub := cfg.watch(t, roots)
	live := cfg.Live(t, roots)
	pub.MustWait(t, cfg.deadline(), "the session", has(live.ID))
	if err := syscall.Kill(live.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	pub.MustWait(t, cfg.deadline(), "the end of the killed session", hasNot(live.ID))
	again := cfg.watch(t, roots)
	again.MustWait(t, cfg.deadline(), "the first reset", func(map[string]agent.Snapshot) bool { return again.Resets() > 0 })
	if _, ok := again.Sessions()[live.ID]; ok {
		t.Error("a new source believes what the killed agent left behind")
	}
}

// testSourceStale: a claim is believed only for the process that made it, and
// the ones beside it are still seen.
func testSourceStale(t *testing.T, cfg *SourceConfig) {
	roots := cfg.roots(t)
	cfg.Stale(t, roots)
	pub := cfg.watch(t, roots)
	live := cfg.Live(t, roots)
	pub.MustWait(t, cfg.deadline(), "the live session beside stale ones", has(live.ID))
	if m := pub.Sessions(); len(m) != 1 {
		t.Errorf("stale entries are shown: %+v", m)
	}
}

func testSourceTwo(t *testing.T, cfg *SourceConfig) {
	roots := cfg.roots(t)
	pub := cfg.watch(t, roots)
	a, b := cfg.Live(t, roots), cfg.Live(t, roots)
	pub.MustWait(t, cfg.deadline(), "both sessions", func(m map[string]agent.Snapshot) bool { return has(a.ID)(m) && has(b.ID)(m) })
	a.Exit()
	pub.MustWait(t, cfg.deadline(), "the end of the first", hasNot(a.ID))
	if !has(b.ID)(pub.Sessions()) {
		t.Error("the second session went with the first")
	}
}
