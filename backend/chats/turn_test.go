package chats

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

var ctx = context.Background()

// Every phase has a move for everything that can happen, none is left to the
// zero value by mistake.
func TestTheTableIsWhole(t *testing.T) {
	for p := range phases {
		for h := range happenings {
			mv := table[p][h]
			if p != phIdle && mv.to == phIdle && len(mv.acts) == 0 {
				t.Errorf("phase %d, happening %d: falls to idle without doing anything", p, h)
			}
		}
	}
	// Reachable: from idle every phase, and from every phase idle again.
	reach := func(from phase) map[phase]bool {
		seen, todo := map[phase]bool{from: true}, []phase{from}
		for len(todo) > 0 {
			p := todo[0]
			todo = todo[1:]
			for h := range happenings {
				if n := table[p][h].to; !seen[n] {
					seen[n] = true
					todo = append(todo, n)
				}
			}
		}
		return seen
	}
	if n := len(reach(phIdle)); n != int(phases) {
		t.Errorf("only %d of %d phases can be reached", n, phases)
	}
	for p := range phases {
		if !reach(p)[phIdle] {
			t.Errorf("phase %d is a trap", p)
		}
	}
}

func TestOneTurn(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	if sent := s.send(id, "c1", "hello\nworld"); sent.State != model.QueueSending || sent.Turn != 1 {
		t.Fatalf("sent = %+v", sent)
	}
	sc := s.scene()
	if p := s.prompt(sc); p.Text != "hello\nworld" || p.ClientID != "c1" {
		t.Fatalf("prompt = %+v", p)
	}
	sc.say("t1", "Hi", false)
	sc.Append("t1", " there")
	sc.Item(agent.Item{ID: "x1", Type: agent.ItemTool, CallID: "x1", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateRunning})
	sc.done()
	if end := s.ends(id, 1); end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("end = %+v", end)
	}
	c := s.get(id)
	if len(c.Items) != 3 || c.Items[0].Text != "hello\nworld" || c.Items[1].Text != "Hi there" {
		t.Fatalf("items = %+v", c.Items)
	}
	for i, r := range c.Items {
		if r.Seq != int64(i+1) || r.Turn != 1 || r.Provisional || r.Open() {
			t.Errorf("row %d = %+v", i, r)
		}
	}
	if c.Title != "hello" || len(c.Queue) != 0 || c.Model != "m1" || c.Handle == nil {
		t.Errorf("chat = %+v", c.ChatSummary)
	}
	// The turn's end comes after all of its rows.
	after := false
	for _, e := range s.log.all() {
		if tc, ok := e.data.(TurnChanged); ok && tc.End != nil {
			after = true
		} else if after && (e.typ == eventRow || e.typ == eventAppend) {
			t.Error("a row follows the end of its turn")
		}
	}
}

func TestLateUpdatesAreDroppedAndCounted(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	sc.say("t1", "one", true)
	sc.done()
	s.ends(id, 1)
	sc.Append("t1", " more")
	sc.say("t1", "changed", true)
	c := s.get(id)
	if c.Items[1].Text != "one" || c.Turn != model.TurnIdle {
		t.Fatalf("items = %+v", c.Items)
	}
	var late int
	_ = s.m.with(ctx, id, func(c *chat) error { late = c.tl.late; return nil })
	if late != 2 {
		t.Errorf("late = %d", late)
	}
}

func TestStopWaitsForTheEndAndTheCancel(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	st, err := s.m.StopTurn(ctx, id)
	if err != nil || st.Turn != model.TurnStopping {
		t.Fatal(st, err)
	}
	ch := s.cancelled(sc)
	if st, _ = s.m.StopTurn(ctx, id); st.Turn != model.TurnStopping || len(sc.cancels) != 0 {
		t.Fatal("a second cancel was sent while the first is in flight")
	}
	ch <- errors.New("busy")
	s.log.wait(t, "the cancel's error", func(e event) bool {
		n, ok := e.data.(agent.Notice)
		return ok && strings.Contains(n.Text, "busy")
	})
	if st, _ = s.m.StopTurn(ctx, id); st.Turn != model.TurnStopping {
		t.Fatal(st)
	}
	ch = s.cancelled(sc) // Stop again retried the one that is owed
	if sent := s.send(id, "c2", "next"); sent.State != model.QueueQueued {
		t.Fatal(sent)
	}
	sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCanceled}}
	if end := s.ends(id, 1); end.Outcome != agent.OutcomeCanceled {
		t.Fatal(end)
	}
	if sum, _ := s.m.Summary(id); sum.Turn != model.TurnStopping {
		t.Fatalf("the gate opened before the cancel settled: %s", sum.Turn)
	}
	ch <- nil
	if p := s.prompt(sc); p.ClientID != "c2" {
		t.Fatal(p)
	}
	sc.done()
	s.ends(id, 2)
}

func TestAStopThatIsIgnoredKillsAndResumes(t *testing.T) {
	s := newStage(t, func(o *Options) { o.StopBound = 200 * time.Millisecond })
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	sc.say("t1", "half", false)
	if _, err := s.m.StopTurn(ctx, id); err != nil {
		t.Fatal(err)
	}
	if end := s.ends(id, 1); end.Outcome != agent.OutcomeCanceled {
		t.Fatal(end)
	}
	<-sc.shut
	s.settled(id)
	s.send(id, "c2", "again")
	sc2 := s.scene()
	if sc2.req.Resume == nil || sc2.req.Resume.NativeID == "" {
		t.Fatal("the chat was not resumed in its new process")
	}
	s.prompt(sc2)
	sc2.done()
	s.ends(id, 2)
	if s.agent.most != 1 {
		t.Errorf("%d processes at once", s.agent.most)
	}
}

func TestACloseThatFailsStrandsNothing(t *testing.T) {
	s := newStage(t, func(o *Options) { o.StopBound = 100 * time.Millisecond })
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	sc.mu.Lock()
	sc.closeErr = errors.New("not permitted")
	sc.mu.Unlock()
	_, _ = s.m.StopTurn(ctx, id)
	s.ends(id, 1)
	if sum, _ := s.m.Summary(id); sum.Turn != model.TurnStopping {
		t.Fatalf("turn = %s", sum.Turn)
	}
	if sent := s.send(id, "c2", "more"); sent.State != model.QueueQueued || sent.Note == "" {
		t.Fatal(sent)
	}
	sc.mu.Lock()
	sc.closeErr = nil
	sc.mu.Unlock()
	_, _ = s.m.StopTurn(ctx, id)
	s.settled(id)
}

// S04: death in the middle of a turn.
func TestCaseS04_DeathEndsTheTurn(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	sc.say("t1", "one two three", false)
	sc.Item(agent.Item{ID: "x1", Type: agent.ItemTool, CallID: "x1", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateRunning})
	sc.Exit(agent.Exit{Code: -1, Signal: "killed", Stderr: "out of memory\n"})
	end := s.ends(id, 1)
	if end.Outcome != agent.OutcomeFailed || end.Reason != "crashed" || !strings.Contains(end.Text, "out of memory") {
		t.Fatalf("end = %+v", end)
	}
	c := s.get(id)
	if c.Items[1].Text != "one two three" || c.Items[2].State != agent.StateFailed || c.Items[3].Type != agent.ItemError {
		t.Fatalf("items = %+v", c.Items)
	}
	s.send(id, "c2", "again")
	sc2 := s.scene()
	s.prompt(sc2)
	sc2.done()
	s.ends(id, 2)
}

func TestCaseS04_SilenceIsShown(t *testing.T) {
	s := newStage(t, func(o *Options) { o.SilentAfter = 50 * time.Millisecond })
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	s.log.until(t, "the silence is shown", func() bool { return s.get(id).Silent > 0 })
	sc.say("t1", "here again", false)
	s.log.until(t, "the silence is over", func() bool { return s.get(id).Silent == 0 })
	sc.done()
	s.ends(id, 1)
}

// S09: the agent wakes by itself.
func TestCaseS09_TurnThatTheAgentStartsItself(t *testing.T) {
	s := newStage(t, func(o *Options) { o.SilentAfter = 100 * time.Millisecond })
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	sc.done()
	s.ends(id, 1)
	sc.Turn(agent.TurnEvent{Origin: agent.OriginAgent})
	sc.say("b1", "the background task ended", true)
	sc.Turn(agent.TurnEvent{Origin: agent.OriginAgent, End: &agent.TurnEnd{Outcome: agent.OutcomeCompleted}})
	s.ends(id, 2)
	// Without a word about turns: activity opens one, silence ends it.
	sc.say("b2", "and one more", false)
	end := s.ends(id, 3)
	if end.Outcome != agent.OutcomeCompleted || !strings.Contains(end.Text, "by itself") {
		t.Fatal(end)
	}
	c := s.get(id)
	if c.Items[1].Turn != 2 || c.Items[2].Turn != 3 || !c.Unread {
		t.Fatalf("items = %+v", c.Items)
	}
}

func TestOpenFailureKeepsThePrompt(t *testing.T) {
	s := newStage(t)
	first := true
	s.agent.open = func(context.Context, *scene) error {
		if first {
			first = false
			return errors.New("not signed in")
		}
		return nil
	}
	id := s.chat()
	s.send(id, "c1", "go")
	if end := s.ends(id, 1); end.Outcome != agent.OutcomeFailed || !strings.Contains(end.Text, "not signed in") {
		t.Fatal(end)
	}
	c := s.get(id)
	if len(c.Queue) != 1 || c.Queue[0].State != model.QueueFailed {
		t.Fatalf("queue = %+v", c.Queue)
	}
	if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: id, ClientID: "c1", Retry: true}); err != nil {
		t.Fatal(err)
	}
	sc := s.scene()
	if p := s.prompt(sc); p.ClientID != "c1" {
		t.Fatal(p)
	}
	sc.done()
	s.ends(id, 2)
}

func TestStopWhileTheAgentStarts(t *testing.T) {
	s := newStage(t)
	started := make(chan struct{})
	s.agent.open = func(ctx context.Context, _ *scene) error {
		close(started)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	id := s.chat()
	s.send(id, "c1", "go")
	<-started
	_, _ = s.m.StopTurn(ctx, id)
	if end := s.ends(id, 1); end.Outcome != agent.OutcomeCanceled {
		t.Fatal(end)
	}
	s.settled(id)
}

func TestSteer(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	var got agent.Prompt
	sc.steer = func(p agent.Prompt) error { got = p; return nil }
	if sent := s.send(id, "c2", "left", "steer"); sent.State != model.QueueAccepted || got.Text != "left" {
		t.Fatal(sent, got)
	}
	sc.steer = func(agent.Prompt) error { return errors.New("pipe broke") }
	if sent := s.send(id, "c3", "right", "steer"); sent.State != model.QueueFailed || !strings.Contains(sent.Note, "pipe broke") {
		t.Fatal(sent)
	}
	sc.steer = nil // unavailable: stop and replace
	if sent := s.send(id, "c4", "instead", "steer"); sent.State != model.QueueQueued {
		t.Fatal(sent)
	}
	s.cancelled(sc) <- nil
	sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCanceled}}
	if p := s.prompt(sc); p.ClientID != "c4" {
		t.Fatal(p)
	}
	sc.done()
	s.ends(id, 2)
	c := s.get(id)
	if len(c.Queue) != 1 || c.Queue[0].ClientID != "c3" || c.Items[1].ClientID != "c2" || c.Items[1].Turn != 1 {
		t.Fatalf("queue %+v items %+v", c.Queue, c.Items)
	}
}

func TestIdleAgentIsReleasedAndResumed(t *testing.T) {
	s := newStage(t, func(o *Options) { o.IdleAfter = 50 * time.Millisecond })
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	sc.done()
	s.ends(id, 1)
	<-sc.shut
	s.send(id, "c2", "again")
	sc2 := s.scene()
	if sc2.req.Resume == nil {
		t.Fatal("not resumed")
	}
	s.prompt(sc2)
	sc2.done()
	s.ends(id, 2)
}

// While nothing happens nothing is timed: idle costs no wake-up.
func TestAnIdleChatHasNoDeadline(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.say("t1", "one", false)
	sc.done()
	s.ends(id, 1)
	_ = s.m.with(ctx, id, func(c *chat) error {
		for i, at := range c.due {
			if !at.IsZero() {
				t.Errorf("deadline %d is set", i)
			}
		}
		return nil
	})
}
