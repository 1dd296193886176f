package agenttest

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	// Twin starts a second process on the session of the first; nil: it cannot be.
	Twin func(t *testing.T, roots []string, first LiveSession) LiveSession
	// Rules limits the run to these, by name; Without leaves some out.
	Rules   []string
	Without []string
	// Deadline bounds each wait; the default is 30 s.
	Deadline time.Duration

	calls *calls
}

// calls keeps the broken rules of the publisher, in all parts.
type calls struct {
	mu     sync.Mutex
	broken []string
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

// sourceRules is the table of what a source is held to.
var sourceRules = []rule[*SourceConfig]{
	{"EmptyRoot", "A root without sessions is one empty reset.", nil, testSourceEmpty},
	{"SwitchedOff", "A source whose harness is off publishes nothing, holds no watch or descriptor and does nothing at all.", nil, testSourceOff},
	{"States", "A session goes through its states in order, each with its evidence, with the right process and folder.", nil, testSourceStates},
	{"FoundAtStart", "What runs already is found at the start, and again by a source that is started anew.", nil, testSourceFound},
	{"KilledWithoutAFileEvent", "A killed process ends its session though no file changed, and what it left is not believed (case P07).", nil, testSourceKilled},
	{"StaleEntries", "A claim is believed only for the process that made it; broken entries beside it hide nothing (case P03).", func(c *SourceConfig) bool { return c.Stale != nil }, testSourceStale},
	{"TwoSessions", "Sessions come and go one by one.", nil, testSourceTwo},
	{"TwoProcessesOnOneSession", "Two processes on one session are one row, which stays as long as one of them lives (case H02).", func(c *SourceConfig) bool { return c.Twin != nil }, testSourceTwins},
	{"RejectionIsPerItem", "A snapshot that the host rejects hides no other, and the source goes on.", nil, testSourceRejected},
	{"CallsAreInOrder", "Reset comes first, nothing is removed that is not there, and every snapshot keeps the closed rules.", nil, testSourceCalls},
}

// sourceEnds are looked at when every source was stopped.
var sourceEnds = []rule[leaks]{
	{name: "NoGoroutineIsLeft", says: "A stopped source runs nothing.", run: func(t *testing.T, l leaks) { goleak.VerifyNone(t, l.goroutines) }},
	{name: "NoDescriptorIsLeft", says: "A stopped source holds no watch, pipe or file.", run: func(t *testing.T, l leaks) {
		settle(t, l.deadline, "descriptors", func() []string { return more(l.descriptors, descriptors()) })
	}},
}

// Source runs the rules of a session source.
func Source(t *testing.T, cfg SourceConfig) {
	t.Helper()
	before := leaks{goroutines: goleak.IgnoreCurrent(), descriptors: descriptors(), deadline: cfg.deadline()}
	cfg.calls = &calls{}
	ch := choice{cfg.Rules, cfg.Without}
	runRules(t, &cfg, ch, sourceRules)
	runRules(t, before, choice{without: cfg.Without}, sourceEnds)
}

// watch starts the source and checks the rules at the end of the test.
func (c *SourceConfig) watch(t *testing.T, roots []string) *Publications {
	t.Helper()
	pub := NewPublications(c.Harness)
	StartSource(t, c.New(t), agent.SourceStart{Harnesses: []string{c.Harness}, Publisher: pub, Roots: roots})
	t.Cleanup(func() {
		c.calls.mu.Lock()
		defer c.calls.mu.Unlock()
		for _, v := range pub.Violations() {
			c.calls.broken = append(c.calls.broken, partOf(t)+": "+v)
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
	watches, open := held(), descriptors()
	stop := StartSource(t, source, agent.SourceStart{Publisher: off, Roots: roots})
	if now := more(open, descriptors()); len(now) > 0 {
		t.Errorf("a source whose harness is off opened %v", now)
	}
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
	// All it may have is the goroutine of Start, which waits for the end: so it
	// reads neither files nor the system's table of processes.
	if states := startedBy("agenttest.StartSource"); !slices.Equal(states, []string{"chan receive"}) && !slices.Equal(states, []string{"select"}) {
		t.Errorf("a source whose harness is off does not only wait for its end: goroutines in the states %q", states)
	}
	stop()
	if len(off.History()) > 0 || len(off.Violations()) > 0 || off.Resets() > 1 {
		t.Errorf("a source whose harness is off published %+v %v", off.History(), off.Violations())
	}
}

var (
	goroutineHead = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\],]+)`)
	goroutineFrom = regexp.MustCompile(`created by \S+ in goroutine (\d+)`)
)

// startedBy counts the goroutines that run fn and those that were created below
// them, and reports the states in which they are.
func startedBy(fn string) (states []string) {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	below := map[string]bool{}
	stacks := strings.Split(string(buf), "\n\n")
	for grown := true; grown; {
		grown = false
		for _, g := range stacks {
			head := goroutineHead.FindStringSubmatch(g)
			if head == nil || below[head[1]] {
				continue
			}
			from := goroutineFrom.FindStringSubmatch(g)
			if strings.Contains(g, fn+".func") || from != nil && below[from[1]] {
				below[head[1]], grown = true, true
				states = append(states, head[2])
			}
		}
	}
	return states
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

// testSourceTwins: each process claims the session; there is one row.
func testSourceTwins(t *testing.T, cfg *SourceConfig) {
	roots := cfg.roots(t)
	pub := cfg.watch(t, roots)
	first := cfg.Live(t, roots)
	pub.MustWait(t, cfg.deadline(), "the session", has(first.ID))
	second := cfg.Twin(t, roots, first)
	byPid := func(pid int) func(map[string]agent.Snapshot) bool {
		return func(m map[string]agent.Snapshot) bool {
			s, ok := m[first.ID]
			return ok && (s.Pid == pid || slices.Contains(s.Candidates, pid) || slices.Contains(s.FacePids, pid))
		}
	}
	pub.MustWait(t, cfg.deadline(), "the second process", byPid(second.Pid))
	if m := pub.Sessions(); len(m) != 1 {
		t.Errorf("one session of two processes is %d rows", len(m))
	}
	if err := syscall.Kill(second.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	pub.MustWait(t, cfg.deadline(), "the first process again", func(m map[string]agent.Snapshot) bool {
		s, ok := m[first.ID]
		return ok && s.Pid == first.Pid
	})
	if err := syscall.Kill(first.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	pub.MustWait(t, cfg.deadline(), "the end of the session", hasNot(first.ID))
}

// refusing is a publisher that rejects one session, as a host does whose rules a
// snapshot breaks.
type refusing struct {
	*Publications
	id func() string
}

func (r refusing) sift(list []agent.Snapshot) (good []agent.Snapshot, bad []agent.Rejected) {
	for _, s := range list {
		if s.ID == r.id() {
			bad = append(bad, agent.Rejected{ID: s.ID, Issues: []agent.Issue{{Path: "$.title", Code: "invalid_string", Message: "refused by a test"}}})
		} else {
			good = append(good, s)
		}
	}
	return good, bad
}

func (r refusing) Reset(list []agent.Snapshot) []agent.Rejected {
	good, bad := r.sift(list)
	return append(bad, r.Publications.Reset(good)...)
}

func (r refusing) Upsert(list ...agent.Snapshot) []agent.Rejected {
	good, bad := r.sift(list)
	return append(bad, r.Publications.Upsert(good...)...)
}

func (r refusing) Remove(harness string, ids ...string) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == r.id() })
	if len(ids) > 0 {
		r.Publications.Remove(harness, ids...)
	}
}

func testSourceRejected(t *testing.T, cfg *SourceConfig) {
	roots := cfg.roots(t)
	bad := cfg.Live(t, roots)
	pub := refusing{NewPublications(cfg.Harness), func() string { return bad.ID }}
	StartSource(t, cfg.New(t), agent.SourceStart{Harnesses: []string{cfg.Harness}, Publisher: pub, Roots: roots})
	good := cfg.Live(t, roots)
	pub.MustWait(t, cfg.deadline(), "the session beside a rejected one", has(good.ID))
	bad.Exit()
	good.Exit()
	pub.MustWait(t, cfg.deadline(), "the end of the session beside a rejected one", hasNot(good.ID))
}

// testSourceCalls reports what the publisher saw in all parts.
func testSourceCalls(t *testing.T, cfg *SourceConfig) {
	cfg.calls.mu.Lock()
	defer cfg.calls.mu.Unlock()
	for _, v := range slices.Compact(slices.Clone(cfg.calls.broken)) {
		t.Error(v)
	}
}
