package sessions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

func TestStatesAndUnread(t *testing.T) {
	b := newBench(t, nil)
	pid := b.process().Process.Pid
	b.upsert(with(agent.Snapshot{Status: agent.StatusIdle, LastTurn: "completed", LastTurnEndedAt: b.clock.now().UnixMilli() - 60000}, "s", pid))
	if s := b.row("s"); s.State != model.SessionIdle || s.Unread || s.Pid != pid || s.Link != agent.LinkProved || s.Evidence.Source != "registry" {
		t.Errorf("idle at the start is nothing new: %+v", s)
	}
	now := b.clock.add(time.Second)
	b.upsert(with(agent.Snapshot{Status: agent.StatusRunning, StatusAt: now, Tool: "Bash"}, "s", pid))
	if s := b.row("s"); s.State != model.SessionRunning || s.Tool != "Bash" || s.StateSince != now {
		t.Errorf("%+v", s)
	}
	now = b.clock.add(time.Second)
	b.upsert(with(agent.Snapshot{Status: agent.StatusWaiting, StatusAt: now, WaitingKind: agent.WaitApproval, WaitingFor: "rm -r\x1b[31m x\u202e"}, "s", pid))
	if s := b.row("s"); s.State != model.SessionWaiting || !s.NeedsYou || s.WaitingFor != "rm -r[31m x" || s.WaitingKind != agent.WaitApproval {
		t.Errorf("%+v", s)
	}
	// A status that is not told keeps the last one.
	b.upsert(with(agent.Snapshot{Title: "t"}, "s", pid))
	b.state("s", model.SessionWaiting)
	now = b.clock.add(time.Second)
	b.upsert(with(ended(now), "s", pid))
	if s := b.row("s"); s.State != model.SessionIdle || !s.Unread || s.NeedsYou {
		t.Errorf("a fresh end: %+v", s)
	}
	b.clock.add(time.Second)
	if err := b.r.Acknowledge(context.Background(), key("s")); err != nil {
		t.Fatal(err)
	}
	if s := b.row("s"); s.State != model.SessionIdle || s.Unread {
		t.Errorf("acknowledged: %+v", s)
	}
	now = b.clock.add(time.Second)
	b.upsert(with(agent.Snapshot{Status: agent.StatusIdle, LastTurn: "failed", LastTurnEndedAt: now, Error: "overloaded"}, "s", pid))
	if s := b.row("s"); s.State != model.SessionFailed || !s.Unread || !s.NeedsYou || s.Error != "overloaded" {
		t.Errorf("failed: %+v", s)
	}
	b.clock.add(time.Second)
	_ = b.r.Acknowledge(context.Background(), key("s"))
	b.state("s", model.SessionIdle)
	now = b.clock.add(time.Second)
	b.upsert(with(agent.Snapshot{Status: agent.StatusIdle, LastTurn: "interrupted", LastTurnEndedAt: now}, "s", pid))
	b.state("s", model.SessionCanceled)
	// A source that knows no times: an end before our eyes is an end.
	b.clock.add(time.Second)
	b.upsert(with(agent.Snapshot{Status: agent.StatusRunning}, "t", pid))
	b.clock.add(time.Second)
	b.upsert(with(agent.Snapshot{Status: agent.StatusIdle}, "t", pid))
	if s := b.row("t"); s.State != model.SessionIdle || !s.Unread {
		t.Errorf("%+v", s)
	}
}

func TestRejectionIsPerItemAndTold(t *testing.T) {
	b := newBench(t, nil)
	pid := b.process().Process.Pid
	good := agent.Snapshot{ID: "good", Harness: "h", Cwd: "/", Pid: pid}
	bad := b.pub.Upsert(good,
		agent.Snapshot{ID: "rel", Harness: "h", Cwd: "x"},
		agent.Snapshot{ID: "off", Harness: "other", Cwd: "/"},
		agent.Snapshot{ID: "foreign", Harness: "foreign", Cwd: "/"},
		agent.Snapshot{ID: "sub", Harness: "h", Cwd: "/", Subagents: []agent.SubagentInfo{{ID: "a", Type: "t", Status: "paused"}}})
	if len(bad) != 4 || bad[0].Issues[0].Path != "$.cwd" || bad[1].Issues[0].Code != "harness_not_enabled" || bad[2].Issues[0].Code != "harness_not_enabled" || bad[3].Issues[0].Path != "$.subagents[0].status" {
		t.Errorf("%+v", bad)
	}
	if got := b.ids(); len(got) != 1 || got[0] != "good=idle" {
		t.Errorf("%v", got)
	}
	b.mu.Lock()
	if len(b.told) != 4 || !strings.HasPrefix(b.told[0], "source rejected ") {
		t.Errorf("%q", b.told)
	}
	b.mu.Unlock()
	list := []agent.Snapshot{good, good}
	for i := range agent.LimitResetSessions + 5 {
		list = append(list, agent.Snapshot{ID: fmt.Sprint(i), Harness: "h", Cwd: "/"})
	}
	bad = b.pub.Reset(list)
	if len(bad) != 7+1 { // 7 over the limit, one twice
		t.Errorf("%d rejected", len(bad))
	}
	if n := len(b.r.List()); n != agent.LimitResetSessions-1 {
		t.Errorf("%d rows", n)
	}
	b.stop()
	b.pub.Reset(nil)
	if n := len(b.r.List()); n != agent.LimitResetSessions-1 {
		t.Errorf("a call after the end of the source changed the list to %d", n)
	}
}

func TestSwitchedOffLosesItsRowsAtOnce(t *testing.T) {
	b := newBench(t, nil)
	b.r.SetEnabled("other", true)
	pid := b.process().Process.Pid
	b.upsert(agent.Snapshot{ID: "s", Pid: pid, Status: agent.StatusRunning})
	b.upsert(agent.Snapshot{ID: "o", Harness: "other", Pid: pid})
	b.drain()
	b.r.SetEnabled("h", false)
	if c := <-b.changes; !removed("s")(c) {
		t.Errorf("%+v", c)
	}
	if got := b.ids(); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if bad := b.pub.Upsert(agent.Snapshot{ID: "s", Harness: "h", Cwd: "/", Pid: pid}); len(bad) != 1 {
		t.Errorf("%v", bad)
	}
}

// Two sources of one conversation give one row; the better evidence decides.
func TestTwoSourcesOneRow(t *testing.T) {
	b := newBench(t, nil)
	pid := b.process().Process.Pid
	second := b.r.Publisher(b.ctx, "transcripts", []string{"h"})
	b.upsert(agent.Snapshot{ID: "s", Pid: pid, Status: agent.StatusWaiting, WaitingKind: agent.WaitQuestion, Evidence: "registry"})
	second.Upsert(agent.Snapshot{ID: "s", Harness: "h", Cwd: "/", Status: agent.StatusRunning, Title: "from the transcript", StatusAt: b.clock.add(time.Minute)})
	s := b.row("s")
	if len(b.r.List()) != 1 || s.State != model.SessionWaiting || s.Title != "from the transcript" || s.Pid != pid {
		t.Errorf("%+v", s)
	}
	server := b.r.Publisher(b.ctx, "server", []string{"h"})
	server.Upsert(agent.Snapshot{ID: "s", Harness: "h", Cwd: "/", Status: agent.StatusIdle, EvidenceKind: "server"})
	if s := b.row("s"); s.State != model.SessionIdle || s.Evidence.Source != "server" {
		t.Errorf("%+v", s)
	}
	server.Remove("h", "s")
	b.clock.add(time.Hour)
	b.r.due()
	b.state("s", model.SessionWaiting)
}

// Case P07: killed in the middle of a tool call, without any file event.
func TestP07DeadIsNotRunning(t *testing.T) {
	b := newBench(t, nil)
	p := b.process()
	b.upsert(agent.Snapshot{ID: "s", Pid: p.Process.Pid, Status: agent.StatusRunning, Tool: "Bash",
		Subagents: []agent.SubagentInfo{{ID: "a", Type: "t", Status: "running"}}})
	b.drain()
	kill(t, p)
	c := b.wait("failed", is("s", model.SessionFailed))
	if s := c.Session; s.Pid != 0 || s.Tool != "" || !s.Unread || !s.NeedsYou || s.EndedAt == 0 || s.Evidence.Source != "process" || s.Subagents[0].Status != "cancelled" || s.Error == "" {
		t.Errorf("%+v", s)
	}
	// A source that has not noticed changes nothing (it may say what it wants).
	b.upsert(agent.Snapshot{ID: "s", Pid: p.Process.Pid, Status: agent.StatusRunning})
	b.pub.Upsert(agent.Snapshot{ID: "s", Harness: "h", Cwd: "/", Status: agent.StatusRunning, StatusAt: 5})
	b.state("s", model.SessionFailed)
	// A dead pid never makes a row.
	b.upsert(agent.Snapshot{ID: "late", Pid: p.Process.Pid, Status: agent.StatusRunning})
	b.none("late")
	if err := b.r.Acknowledge(context.Background(), key("s")); err != nil {
		t.Fatal(err)
	}
	b.none("s")
}

// What is left after the process: an end nobody saw stays, others go.
func TestAfterTheProcess(t *testing.T) {
	b := newBench(t, nil)
	seen, unseen, never, failed := b.process(), b.process(), b.process(), b.process()
	b.upsert(with(agent.Snapshot{Status: agent.StatusRunning}, "seen", seen.Process.Pid))
	b.upsert(with(agent.Snapshot{Status: agent.StatusRunning}, "unseen", unseen.Process.Pid))
	b.upsert(with(agent.Snapshot{Status: agent.StatusIdle}, "never", never.Process.Pid))
	b.upsert(with(agent.Snapshot{Status: agent.StatusRunning}, "failed", failed.Process.Pid))
	now := b.clock.add(time.Second)
	b.upsert(with(ended(now), "seen", seen.Process.Pid))
	b.upsert(with(ended(now), "unseen", unseen.Process.Pid))
	b.upsert(with(agent.Snapshot{Status: agent.StatusIdle, LastTurn: "failed", LastTurnEndedAt: now}, "failed", failed.Process.Pid))
	b.clock.add(time.Second)
	_ = b.r.Acknowledge(context.Background(), key("seen"))
	b.drain()
	// The source takes the row back just before the process ends, as agents do.
	b.pub.Remove("h", "unseen")
	for _, p := range []func(){func() { kill(t, unseen) }, func() { kill(t, seen) }, func() { kill(t, never) }, func() { kill(t, failed) }} {
		p()
	}
	want := map[string]model.SessionState{"unseen": model.SessionDone, "failed": model.SessionFailed, "seen": "", "never": ""}
	for len(want) > 0 {
		c := b.wait("all ends", func(Change) bool { return true })
		if w, ok := want[c.Session.Key.ID]; ok && (w == "" && c.Removed || w == c.Session.State && c.Session.Pid == 0) {
			delete(want, c.Session.Key.ID)
		}
	}
	if got := b.ids(); !slices.Equal(got, []string{"failed=failed", "unseen=done"}) {
		t.Errorf("%v", got)
	}
}

// A row that its source takes back while the process lives on goes after a
// moment, without an end.
func TestTakenBackWhileTheProcessLives(t *testing.T) {
	b := newBench(t, func(o *Options) { o.LeaveGrace = time.Millisecond; o.Now = nil })
	p := b.process()
	b.upsert(agent.Snapshot{ID: "s", Pid: p.Process.Pid, Status: agent.StatusRunning})
	b.pub.Remove("h", "s")
	b.wait("removed", removed("s"))
	b.none("s")
	// And back within the moment it never left.
	b2 := newBench(t, func(o *Options) { o.LeaveGrace = time.Hour })
	b2.upsert(agent.Snapshot{ID: "s", Pid: p.Process.Pid, Status: agent.StatusRunning})
	b2.drain()
	b2.pub.Reset(nil)
	b2.upsert(agent.Snapshot{ID: "s", Pid: p.Process.Pid, Status: agent.StatusRunning})
	for len(b2.changes) > 0 { // its place may arrive meanwhile
		if c := <-b2.changes; c.Removed || c.Session.State != model.SessionRunning {
			t.Errorf("flickered: %+v", c)
		}
	}
}

// Case P03: a pid that another process has now is not the session's.
func TestP03PidReuse(t *testing.T) {
	b := newBench(t, nil)
	p := b.process()
	b.upsert(agent.Snapshot{ID: "s", Pid: p.Process.Pid, Status: agent.StatusRunning})
	// The row was tied to an earlier process with this pid.
	b.r.mu.Lock()
	x := b.r.rows[key("s")]
	b.r.unwatch(x)
	x.proc.Start--
	b.r.mu.Unlock()
	b.drain()
	b.upsert(agent.Snapshot{ID: "s", Pid: p.Process.Pid, Status: agent.StatusIdle})
	b.wait("the first process's end", is("s", model.SessionFailed))
	b.state("s", model.SessionIdle) // the new one
	id, link, ok := b.r.Identity(key("s"))
	if now, err := processes.Identify(p.Process.Pid); !ok || err != nil || id != now || link != agent.LinkProved {
		t.Errorf("%v %v %v", id, link, ok)
	}
}

// Cases P09 and H01: a new session in the same process supersedes the old one,
// there and back; a fork is a session of its own.
func TestP09NewSessionInTheSameProcess(t *testing.T) {
	s := openStore(t)
	b := newBench(t, func(o *Options) { o.Memory = s })
	p, other := b.process(), b.process()
	b.upsert(agent.Snapshot{ID: "S1", Pid: p.Process.Pid, Status: agent.StatusRunning})
	b.upsert(agent.Snapshot{ID: "S2", Pid: p.Process.Pid, Status: agent.StatusRunning, Supersedes: "S1"})
	if got := b.ids(); !slices.Equal(got, []string{"S2=running"}) {
		t.Fatalf("%v", got)
	}
	if s := b.row("S1"); s.Key.ID != "S2" || !slices.Equal(s.Aliases, []string{"S1"}) {
		t.Errorf("by its old id: %+v", s)
	}
	b.upsert(agent.Snapshot{ID: "S3", Pid: other.Process.Pid, Status: agent.StatusIdle})
	// A late word of the old one does not bring it back to life beside the new.
	b.upsert(agent.Snapshot{ID: "S1", Pid: p.Process.Pid, Status: agent.StatusIdle, Supersedes: "S2"})
	if got := b.ids(); !slices.Equal(got, []string{"S1=idle", "S3=idle"}) {
		t.Errorf("back in S1: %v", got)
	}
	// Resumed elsewhere while S1 lives: two rows, whatever S1 superseded.
	b.upsert(agent.Snapshot{ID: "S2", Pid: other.Process.Pid, Status: agent.StatusIdle})
	b.upsert(agent.Snapshot{ID: "S1", Pid: p.Process.Pid, Status: agent.StatusRunning, Supersedes: "S2"})
	if got := b.ids(); len(got) != 3 {
		t.Errorf("%v", got)
	}
	b.r.Close()
	if tip, err := s.Tip(context.Background(), "h", "S2"); err != nil || tip != "S1" {
		t.Errorf("the lineage's tip is %s, %v", tip, err)
	}
}

// Case P06: evidence with an age, no flapping of what is only inferred, stale
// instead of green.
func TestP06NoFlappingAndStale(t *testing.T) {
	var used atomic.Int64
	b := newBench(t, func(o *Options) {
		o.StaleAfter = 10 * time.Minute
		o.Work = func(*processes.Table, int) time.Duration { return time.Duration(used.Load()) }
	})
	pid := b.process().Process.Pid
	say := func(status agent.Status, evidence string) {
		b.upsert(agent.Snapshot{ID: "s", Pid: pid, Status: status, Link: agent.LinkInferred, Evidence: evidence})
	}
	say(agent.StatusRunning, "a")
	b.drain()
	for i := range 10 {
		b.clock.add(10 * time.Millisecond)
		say([]agent.Status{agent.StatusIdle, agent.StatusRunning}[i%2], fmt.Sprint(i))
	}
	for len(b.changes) > 0 {
		if c := <-b.changes; c.Session.State != model.SessionRunning {
			t.Errorf("flapped to %s", c.Session.State)
		}
	}
	say(agent.StatusIdle, "end")
	b.clock.add(time.Second)
	b.r.due()
	b.state("s", model.SessionIdle)
	// Waiting is never held back.
	b.clock.add(10 * time.Millisecond)
	say(agent.StatusWaiting, "asks")
	b.state("s", model.SessionWaiting)
	b.clock.add(time.Second)
	say(agent.StatusRunning, "on")
	b.drain()
	// Silent and working: not stale. Silent and idle: stale, never green for ever.
	used.Store(int64(time.Minute))
	b.clock.add(5 * time.Minute)
	b.r.due()
	b.measured("s")
	used.Store(int64(2 * time.Minute))
	b.clock.add(5 * time.Minute)
	b.r.due()
	b.measured("s")
	if b.row("s").Stale {
		t.Error("stale while it computes")
	}
	b.clock.add(5 * time.Minute)
	b.r.due()
	b.measured("s")
	b.clock.add(5 * time.Minute)
	b.r.due()
	if c := b.wait("stale", func(c Change) bool { return c.Session.Stale }); c.Session.State != model.SessionRunning {
		t.Errorf("%+v", c.Session)
	}
	say(agent.StatusRunning, "a sign of life")
	if b.row("s").Stale {
		t.Error("stale after a sign of life")
	}
}

// Case T13: times that lie.
func TestT13TimesThatLie(t *testing.T) {
	b := newBench(t, nil)
	pid := b.process().Process.Pid
	now := b.clock.now().UnixMilli()
	far := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	b.upsert(agent.Snapshot{ID: "s", Pid: pid, Status: agent.StatusRunning, StatusAt: far, StartedAt: far})
	if s := b.row("s"); s.StateSince > now || s.Evidence.At > now || s.StartedAt > now {
		t.Errorf("in the future: %+v", s)
	}
	// An end in the future is an end; one acknowledgement is enough for it.
	b.clock.add(time.Second)
	b.upsert(with(agent.Snapshot{Status: agent.StatusIdle, LastTurn: "completed", LastTurnEndedAt: far}, "s", pid))
	if !b.row("s").Unread {
		t.Error("not unread")
	}
	_ = b.r.Acknowledge(context.Background(), key("s"))
	if b.row("s").Unread {
		t.Error("still unread")
	}
}

// Acknowledgements and unseen ends outlive the host.
func TestAfterARestartOfTheHost(t *testing.T) {
	s := openStore(t)
	p, q := newBench(t, nil).process(), newBench(t, nil).process()
	one := newBench(t, func(o *Options) { o.Memory = s })
	one.upsert(with(agent.Snapshot{Status: agent.StatusRunning}, "live", p.Process.Pid))
	one.upsert(with(agent.Snapshot{Status: agent.StatusRunning}, "dead", q.Process.Pid))
	at := one.clock.add(time.Second)
	one.upsert(with(ended(at), "live", p.Process.Pid))
	one.clock.add(time.Second)
	if err := one.r.Acknowledge(context.Background(), key("live")); err != nil {
		t.Fatal(err)
	}
	kill(t, q)
	one.wait("failed", is("dead", model.SessionFailed))
	one.r.Close()

	two := newBench(t, func(o *Options) { o.Memory = s })
	two.state("dead", model.SessionFailed)
	two.upsert(with(ended(at), "live", p.Process.Pid))
	if two.row("live").Unread {
		t.Error("an acknowledged end is new again")
	}
	if err := two.r.Acknowledge(context.Background(), key("dead")); err != nil {
		t.Fatal(err)
	}
	two.none("dead")
	two.r.Close()
	three := newBench(t, func(o *Options) { o.Memory = s })
	three.none("dead")
}

func TestOrder(t *testing.T) {
	b := newBench(t, nil)
	dir := t.TempDir()
	pid := b.process().Process.Pid
	at := b.clock.now().UnixMilli()
	for _, s := range []agent.Snapshot{
		{ID: "run", Status: agent.StatusRunning, Cwd: mkdir(t, filepath.Join(dir, "b")), StartedAt: at - 10},
		{ID: "idle", Status: agent.StatusIdle, Cwd: mkdir(t, filepath.Join(dir, "a")), StartedAt: at - 5},
		{ID: "idle2", Status: agent.StatusIdle, Cwd: mkdir(t, filepath.Join(dir, "a")), StartedAt: at - 20},
		{ID: "young", Status: agent.StatusWaiting, StatusAt: at - 1000, Cwd: mkdir(t, filepath.Join(dir, "a"))},
		{ID: "old", Status: agent.StatusBlocked, StatusAt: at - 5000, WaitingKind: agent.WaitSignin, Cwd: mkdir(t, filepath.Join(dir, "z"))},
	} {
		s.Pid = pid
		b.upsert(s)
	}
	if got := strings.Join(b.ids(), " "); got != "old=blocked young=waiting idle2=idle idle=idle run=running" {
		t.Error(got)
	}
}

// Case P04: a session that no process can be shown for (a container) is a row
// without one, and its folder is not called removed.
func TestP04WithoutAProcess(t *testing.T) {
	b := newBench(t, nil)
	b.upsert(agent.Snapshot{ID: "s", Status: agent.StatusRunning, Cwd: "/workspace/app"})
	if s := b.row("s"); s.Pid != 0 || s.Place.Kind != "external" || s.Place.WhyNot == "" || s.Link != "" || s.Project.Gone {
		t.Errorf("%+v", s)
	}
	b.pub.Remove("h", "s")
	b.none("s")
}

// Nothing that happens leaves a clock behind, so that idling costs nothing.
func TestNoClockWhileNothingHappens(t *testing.T) {
	b := newBench(t, nil)
	pid := b.process().Process.Pid
	for i := range 20 {
		b.upsert(agent.Snapshot{ID: fmt.Sprint(i), Pid: pid, Status: []agent.Status{agent.StatusIdle, agent.StatusWaiting, agent.StatusBlocked}[i%3]})
	}
	b.r.mu.Lock()
	if b.r.timer != nil {
		t.Error("a deadline runs without a reason")
	}
	b.r.mu.Unlock()
	b.upsert(agent.Snapshot{ID: "r", Pid: pid, Status: agent.StatusRunning})
	b.r.mu.Lock()
	if b.r.timer == nil {
		t.Error("no deadline for a running row")
	}
	b.r.mu.Unlock()
	b.upsert(agent.Snapshot{ID: "r", Pid: pid, Status: agent.StatusIdle})
	b.r.mu.Lock()
	if b.r.timer != nil {
		t.Error("the deadline of a running row stayed")
	}
	b.r.mu.Unlock()
}

// source is a session source of the test.
type source struct {
	start func(context.Context, agent.SourceStart) error
}

func (s source) Start(ctx context.Context, start agent.SourceStart) error { return s.start(ctx, start) }

func TestRunner(t *testing.T) {
	b := newBench(t, nil)
	b.r.SetEnabled("h", false)
	pid := b.process().Process.Pid
	states := make(chan string, 100)
	u := NewRunner(b.r, func(h, state, fault string) { states <- h + " " + state + " " + fault })
	defer u.Close()
	starts := make(chan []string, 100)
	ends := make(chan bool, 100)
	fail := errors.New("no such folder")
	u.Add(Source{ID: "x", Harnesses: []string{"h", "other"}, Source: source{func(ctx context.Context, s agent.SourceStart) error {
		starts <- s.Harnesses
		if fail != nil {
			err := fail
			fail = nil
			return err
		}
		s.Publisher.Reset([]agent.Snapshot{{ID: "s", Harness: "h", Cwd: "/", Pid: pid, Status: agent.StatusIdle}})
		<-ctx.Done()
		s.Publisher.Upsert(agent.Snapshot{ID: "after", Harness: "h", Cwd: "/", Pid: pid})
		ends <- true
		return nil
	}}})
	if len(starts) != 0 {
		t.Fatal("started while switched off")
	}
	u.SetEnabled("h", true)
	if got := <-starts; !slices.Equal(got, []string{"h"}) {
		t.Errorf("%v", got)
	}
	<-starts // again after the failure
	b.wait("the row", is("s", model.SessionIdle))
	u.Settled(t.Context())
	u.SetEnabled("other", true)
	<-ends
	if got := <-starts; !slices.Equal(got, []string{"h", "other"}) {
		t.Errorf("%v", got)
	}
	u.SetEnabled("h", false)
	b.none("s")
	<-ends
	u.SetEnabled("other", false)
	<-ends
	b.none("after")
	u.Close()
	close(states)
	var all []string
	for s := range states {
		all = append(all, s)
	}
	if !slices.Contains(all, "h failed no such folder") || all[len(all)-1] != "other off " && all[len(all)-2] != "other off " {
		t.Errorf("%q", all)
	}
}

// A source that panics is a failed one.
func TestRunnerSurvivesAPanic(t *testing.T) {
	b := newBench(t, nil)
	failed := make(chan string, 10)
	u := NewRunner(b.r, func(h, state, fault string) {
		if state == "failed" {
			failed <- fault
		}
	})
	defer u.Close()
	u.Add(Source{ID: "x", Harnesses: []string{"h"}, Source: source{func(context.Context, agent.SourceStart) error { panic("index out of range") }}})
	if got := <-failed; !strings.Contains(got, "index out of range") {
		t.Error(got)
	}
}

// The processor time of a real process that computes is seen.
func TestWorkOfARealProcess(t *testing.T) {
	b := newBench(t, nil)
	busy, idle := b.process("sh", "-c", "while :; do :; done"), b.process()
	for range 2000 {
		table, err := processes.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if got := workOf(table, busy.Process.Pid); got > 50*time.Millisecond {
			if rest := workOf(table, idle.Process.Pid); rest > got/2 {
				t.Errorf("a sleeping process used %v, a busy one %v", rest, got)
			}
			return
		}
	}
	t.Error("a process that computes uses no time")
}

// Settled waits for the first look of every source, and for no longer than told.
func TestSettled(t *testing.T) {
	b := newBench(t, nil)
	u := NewRunner(b.r, nil)
	defer u.Close()
	pid := b.process().Process.Pid
	look := make(chan bool)
	for _, id := range []string{"x", "y"} {
		u.Add(Source{ID: id, Harnesses: []string{"h"}, Source: source{func(ctx context.Context, s agent.SourceStart) error {
			select {
			case <-look:
				s.Publisher.Reset([]agent.Snapshot{{ID: id, Harness: "h", Cwd: "/", Pid: pid}})
			case <-ctx.Done():
			}
			<-ctx.Done()
			return nil
		}}})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	u.Settled(ended)
	go close(look)
	u.Settled(t.Context())
	if n := len(b.r.List()); n != 2 {
		t.Errorf("%d rows after the first look", n)
	}
	b.r.Bound(t.Context())
	for _, s := range b.r.List() {
		if s.Place.Kind != "external" {
			t.Errorf("without its place: %+v", s)
		}
	}
}
