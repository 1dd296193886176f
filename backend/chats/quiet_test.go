package chats

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// A message to a program that is stopped fails visibly, and the next one runs.
func TestAFrozenAgentFailsTheTurn(t *testing.T) {
	s := newStage(t, func(o *Options) {
		o.AnswerBound = 50 * time.Millisecond
		o.Frozen = func(pid int) bool { return pid == 4242 }
	})
	id, sc := s.running()
	end := s.ends(id, 1)
	if end.Outcome != agent.OutcomeFailed || end.Reason != "unresponsive" {
		t.Fatalf("end = %+v", end)
	}
	<-sc.shut
	s.settled(id)
	s.send(id, "c2", "again")
	next := s.scene()
	next.Item(agent.Item{ID: "n", Type: agent.ItemText, Text: "here"})
	s.prompt(next)
	next.done()
	if end := s.ends(id, 2); end.Outcome != agent.OutcomeCompleted {
		t.Fatal(end)
	}
	if s.agent.most != 1 {
		t.Errorf("%d processes at once", s.agent.most)
	}
}

// pinging is a session whose program can be asked whether it is there.
type pinging struct {
	*scene
	ping func(context.Context) error
}

func (p *pinging) Ping(ctx context.Context) error { return p.ping(ctx) }

func TestAProgramThatDoesNotAnswerFailsTheTurn(t *testing.T) {
	for name, c := range map[string]struct {
		ping func(context.Context) error
		dead bool
	}{
		"there": {func(context.Context) error { return nil }, false},
		"gone":  {func(context.Context) error { return errors.New("broken pipe") }, true},
		"slow":  {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(o *Options) { o.AnswerBound = 50 * time.Millisecond })
			asked := make(chan struct{}, 10)
			s.agent.wrap = func(sc *scene) agent.ChatSession {
				return &pinging{sc, func(ctx context.Context) error { asked <- struct{}{}; return c.ping(ctx) }}
			}
			id, sc := s.running()
			<-asked
			if name == "slow" {
				s.log.until(t, "the silence is shown", func() bool { return s.get(id).Silent > 0 })
			}
			if !c.dead { // a slow model or machine: nothing is ended
				sc.done()
			}
			if end := s.ends(id, 1); (end.Reason == "unresponsive") != c.dead {
				t.Errorf("end = %+v", end)
			}
		})
	}
}

// After a sleep an idle agent is not believed: it is resumed in a new process.
func TestAfterASleepTheAgentIsResumed(t *testing.T) {
	var slept atomic.Int64
	s := newStage(t, func(o *Options) { o.Asleep = func() time.Duration { return time.Duration(slept.Load()) } })
	id, sc := s.running()
	sc.done()
	s.ends(id, 1)
	s.send(id, "c2", "awake")
	s.prompt(sc)
	sc.done()
	s.ends(id, 2)
	slept.Store(int64(time.Hour))
	s.send(id, "c3", "after the sleep")
	next := s.scene()
	if next.req.Resume == nil {
		t.Fatal("not resumed")
	}
	s.prompt(next)
	<-sc.shut
	next.done()
	s.ends(id, 3)
	s.send(id, "c4", "the same process")
	s.prompt(next)
	next.done()
	s.ends(id, 4)
}

// A message during a turn that has slept: silence is shown soon, not after minutes.
func TestAfterASleepSilenceOfATurnIsShownSoon(t *testing.T) {
	var slept atomic.Int64
	s := newStage(t, func(o *Options) {
		o.AnswerBound = 50 * time.Millisecond
		o.Asleep = func() time.Duration { return time.Duration(slept.Load()) }
	})
	id, sc := s.running()
	sc.say("t1", "half", false)
	slept.Store(int64(time.Hour))
	if sent := s.send(id, "c2", "are you there?"); sent.State != model.QueueQueued {
		t.Fatal(sent)
	}
	s.log.until(t, "the silence is shown", func() bool { return s.get(id).Silent > 0 })
	sc.done()
	s.prompt(sc)
	sc.done()
	s.ends(id, 2)
}

// The clock is set back in the middle of a turn: rows keep their order, nothing
// took a negative time, deadlines come, and the list is in the order of use.
func TestTheClockIsSetBack(t *testing.T) {
	var shift atomic.Int64
	s := newStage(t, func(o *Options) {
		o.Wall = func() time.Time { return time.Now().Add(time.Duration(shift.Load())).Round(0) }
		o.IdleAfter = 50 * time.Millisecond
	})
	other, err := s.m.Create(ctx, CreateRequest{ClientID: "other", Harness: "actor", Cwd: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	id, sc := s.running()
	sc.say("t1", "before", true)
	sc.Item(agent.Item{ID: "x1", Type: agent.ItemTool, CallID: "x1", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateRunning, StartedAt: time.Now().UnixMilli()})
	s.get(id)
	shift.Store(-int64(time.Hour))
	sc.say("t2", "after", true)
	sc.Item(agent.Item{ID: "x2", Type: agent.ItemTool, CallID: "x2", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateCompleted,
		StartedAt: time.Now().UnixMilli(), EndedAt: time.Now().Add(-time.Hour).UnixMilli()})
	sc.done()
	s.ends(id, 1)
	<-sc.shut // released: its deadline came
	c := s.get(id)
	var ids []string
	for i, r := range c.Items {
		ids = append(ids, r.ID)
		if r.Seq != int64(i+1) || r.EndedAt != 0 && r.EndedAt < r.StartedAt {
			t.Errorf("row %+v", r)
		}
	}
	if want := []string{"user-c1", "t1", "x1", "t2", "x2"}; !slices.Equal(ids, want) {
		t.Errorf("rows %v", ids)
	}
	turns, err := s.st.Turns(ctx, id)
	if err != nil || turns[0].EndedAt < turns[0].StartedAt || turns[0].EndedAt > turns[0].StartedAt+60_000 {
		t.Errorf("%+v %v", turns, err)
	}
	if list := s.m.List(); list[0].ID != id || list[1].ID != other.ID {
		t.Error("the list is not in the order of use")
	}
	if _, _, err := s.m.Set(ctx, person, other.ID, "title", raw("x")); err != nil {
		t.Fatal(err)
	}
}

// What was waited for between turns does not keep an agent for ever.
func TestAnErrandsAgentIsReleasedToo(t *testing.T) {
	s := newStage(t, func(o *Options) { o.IdleAfter = 50 * time.Millisecond })
	id, sc := s.running()
	sc.Item(agent.Item{ID: "n1", Type: agent.ItemUser, ClientID: "c1", NativeID: "n1", Text: "go"})
	sc.done()
	s.ends(id, 1)
	<-sc.shut
	if err := s.m.Rewind(ctx, id, "user-c1", ""); err != nil {
		t.Fatal(err)
	}
	<-s.scene().shut
}

// The time after which idle agents are released is a setting that is read when it
// matters.
func TestTheReleaseOfIdleAgentsFollowsTheSetting(t *testing.T) {
	var after atomic.Int64
	after.Store(int64(30 * time.Millisecond))
	s := newStage(t, func(o *Options) {
		o.Timing = func() Timing { return Timing{IdleAfter: time.Duration(after.Load())} }
	})
	id, sc := s.running()
	sc.done()
	s.ends(id, 1)
	<-sc.shut
	s.send(id, "c2", "again")
	sc = s.scene()
	s.prompt(sc)
	sc.done()
	s.ends(id, 2)
	look := func(setting time.Duration, released bool) {
		t.Helper()
		after.Store(int64(setting))
		_ = s.m.with(ctx, id, func(c *chat) error {
			if c.live == nil {
				return nil // on a slow machine it was released before
			}
			c.idleSince = c.now().Add(-time.Minute)
			c.idleOut()
			if gone := c.live == nil; gone != released {
				t.Errorf("after %s: released is %v", setting, gone)
			}
			return nil
		})
	}
	look(-1, false)
	look(time.Hour, false)
	look(time.Second, true)
}

func TestASettingDuringTheStartIsTaken(t *testing.T) {
	s := newStage(t)
	starting, goOn := make(chan struct{}), make(chan struct{})
	s.agent.open = func(context.Context, *scene) error { close(starting); <-goOn; return nil }
	id := s.chat()
	s.send(id, "c1", "go")
	<-starting
	set := make(chan error, 1)
	go func() {
		_, n, err := s.m.Set(ctx, person, id, "model", raw("m2"))
		if err == nil && (n == nil || !strings.Contains(n.Text, "ok")) {
			err = errors.New("the agent was not told")
		}
		set <- err
	}()
	s.log.until(t, "the chat is starting", func() bool { sum, _ := s.m.Summary(id); return sum.Turn == model.TurnOpening })
	close(goOn)
	sc := s.scene()
	s.prompt(sc)
	if err := <-set; err != nil {
		t.Fatal(err)
	}
	sc.done()
	s.ends(id, 1)
	if sum, _ := s.m.Summary(id); sum.Model != "m2" {
		t.Error(sum.Model)
	}
}
