package chats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

func runTool(id string) agent.Approval {
	return agent.Approval{ID: id, ItemID: "t1", Kind: agent.ApprovalTool, Title: "Run", Options: []agent.Option{
		{ID: "a", Label: "Allow", Kind: agent.OptionAllowOnce, Reach: "once"},
		{ID: "r", Label: "No", Kind: agent.OptionRejectOnce, Reach: "once"},
	}}
}

// asked waits for a card in a state.
func (s *stage) card(id string, state model.CardState, rev int64) model.ApprovalCard {
	s.Helper()
	ev := s.log.wait(s.T, fmt.Sprintf("card %s to be %s", id, state), func(e event) bool {
		c, ok := e.data.(model.ApprovalCard)
		return ok && c.ID == CardID(c.ChatID, id) && c.State == state && c.Revision >= rev
	})
	return ev.data.(model.ApprovalCard)
}

func (s *stage) answer(chat, id, option string) (bool, model.ApprovalCard) {
	s.Helper()
	won, card, err := s.m.Answer(ctx, person, Answer{ChatID: chat, ApprovalID: CardID(chat, id), Answer: agent.ApprovalAnswer{OptionID: option}})
	if err != nil {
		s.Fatal(err)
	}
	return won, card
}

func (s *stage) running() (string, *scene) {
	s.Helper()
	id := s.chat()
	s.send(id, "c1", "go")
	sc := s.scene()
	s.prompt(sc)
	return id, sc
}

func askFor(sc *scene, ctx context.Context, a agent.Approval) chan agent.ApprovalAnswer {
	out := make(chan agent.ApprovalAnswer, 1)
	go func() { out <- sc.Approval(ctx, a) }()
	return out
}

// A01: the request is its own object; a tool update before, after or never
// changes nothing about it.
func TestCaseA01_AskedAndShown(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	out := askFor(sc, ctx, runTool("7")) // before its tool call was announced
	s.card("7", model.CardOpen, 1)
	sc.Item(agent.Item{ID: "t1", Type: agent.ItemTool, CallID: "t1", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateRunning})
	never := runTool("8")
	never.ItemID = "never"
	out2 := askFor(sc, ctx, never)
	s.card("8", model.CardOpen, 1)
	c := s.get(id)
	if len(c.Approvals) != 2 || c.State != model.SessionWaiting || c.Waiting != 2 {
		t.Fatalf("approvals = %+v", c.Approvals)
	}
	if n := len(s.m.Approvals()); n != 2 {
		t.Fatal(n)
	}
	s.answer(id, "7", "a")
	s.answer(id, "8", "r")
	if a := <-out; a.OptionID != "a" {
		t.Fatal(a)
	}
	if a := <-out2; a.OptionID != "r" {
		t.Fatal(a)
	}
	if n := len(s.m.Approvals()); n != 0 {
		t.Fatal("settled cards are still listed")
	}
	sc.done()
	s.ends(id, 1)
}

// A02: two answers at once, a thousand times: one wins and is sent once.
func TestCaseA02_AnsweredTwice(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	for i := range 1000 {
		s.log.clear()
		rid := fmt.Sprintf("q%d", i)
		out := askFor(sc, ctx, runTool(rid))
		s.card(rid, model.CardOpen, 1)
		var wg sync.WaitGroup
		wins := make([]bool, 2)
		cards := make([]model.ApprovalCard, 2)
		for j, opt := range []string{"a", "r"} {
			wg.Go(func() { wins[j], cards[j] = s.answer(id, rid, opt) })
		}
		wg.Wait()
		got := <-out
		if wins[0] == wins[1] {
			t.Fatalf("run %d: wins = %v", i, wins)
		}
		won := map[bool]string{true: "a", false: "r"}[wins[0]]
		if got.OptionID != won || cards[0].Answer.OptionID != won || cards[1].Answer.OptionID != won {
			t.Fatalf("run %d: the agent got %q, the winner was %q, the cards say %q %q", i, got.OptionID, won, cards[0].Answer.OptionID, cards[1].Answer.OptionID)
		}
	}
	// Withdrawn while the dialog is open, then clicked.
	wctx, cancel := context.WithCancel(ctx)
	out := askFor(sc, wctx, runTool("w"))
	s.card("w", model.CardOpen, 1)
	cancel()
	if a := <-out; !a.Canceled {
		t.Fatal(a)
	}
	if won, card := s.answer(id, "w", "a"); won || card.State != model.CardWithdrawn {
		t.Fatal(won, card.State)
	}
	sc.done()
	s.ends(id, 1)
}

// A03: stop, death and a deaf agent while a request is pending.
func TestCaseA03_CancelOrCrashWhilePending(t *testing.T) {
	t.Run("stop", func(t *testing.T) {
		s := newStage(t)
		id, sc := s.running()
		out := askFor(sc, ctx, runTool("7"))
		s.card("7", model.CardOpen, 1)
		_, _ = s.m.StopTurn(ctx, id)
		if a := <-out; !a.Canceled || a.OptionID != "" {
			t.Fatal(a)
		}
		s.card("7", model.CardWithdrawn, 1)
		s.cancelled(sc) <- nil
		sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCanceled}}
		s.ends(id, 1)
	})
	t.Run("answers stay outside the gate", func(t *testing.T) {
		s := newStage(t)
		id, sc := s.running()
		_, _ = s.m.StopTurn(ctx, id)
		ch := s.cancelled(sc)
		out := askFor(sc, ctx, runTool("8")) // the agent asks before it sees the cancel
		s.card("8", model.CardOpen, 1)
		s.answer(id, "8", "r")
		if a := <-out; a.OptionID != "r" {
			t.Fatal(a)
		}
		ch <- nil
		sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCanceled}}
		s.ends(id, 1)
	})
	t.Run("death", func(t *testing.T) {
		s := newStage(t)
		id, sc := s.running()
		out := askFor(sc, ctx, runTool("7"))
		s.card("7", model.CardOpen, 1)
		sc.Exit(agent.Exit{Code: 1})
		if a := <-out; !a.Canceled {
			t.Fatal(a)
		}
		s.card("7", model.CardWithdrawn, 1)
		s.ends(id, 1)
		if len(s.m.Approvals()) != 0 {
			t.Fatal("a card outlives its agent")
		}
	})
}

// A04: the exact option goes back, and nothing is picked by itself.
func TestCaseA04_MeaningOfOptions(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	if _, _, err := s.m.Set(ctx, person, id, "autoMode", raw(true)); err != nil {
		t.Fatal(err)
	}
	plan := agent.Approval{ID: "p", Kind: agent.ApprovalMode, Title: "switch", Options: []agent.Option{
		{ID: "o1", Label: "Plan A", Kind: agent.OptionAllowOnce}, {ID: "o2", Label: "Plan B", Kind: agent.OptionAllowOnce}, {ID: "o3", Label: "?", Kind: agent.OptionOther}}}
	two := plan
	two.ID, two.Kind = "two", agent.ApprovalTool
	out, out2 := askFor(sc, ctx, plan), askFor(sc, ctx, two)
	s.card("p", model.CardOpen, 1)
	s.card("two", model.CardOpen, 1)
	if _, _, err := s.m.Answer(ctx, person, Answer{ChatID: id, ApprovalID: CardID(id, "p"), Answer: agent.ApprovalAnswer{OptionID: "o4"}}); err == nil {
		t.Fatal("an option that was not offered was taken")
	}
	s.answer(id, "p", "o2")
	s.answer(id, "two", "o3")
	if a := <-out; a.OptionID != "o2" {
		t.Fatal(a)
	}
	if a := <-out2; a.OptionID != "o3" {
		t.Fatal(a)
	}
	// One allow_once: the visible automatic mode takes it, and counts.
	if a := <-askFor(sc, ctx, runTool("auto")); a.OptionID != "a" {
		t.Fatal(a)
	}
	if n := s.get(id).AutoMode; n == nil || n.Answers != 1 {
		t.Fatal(n)
	}
	// No options: only cancel.
	none := agent.Approval{ID: "none", Kind: agent.ApprovalTool, Title: "?"}
	out = askFor(sc, ctx, none)
	s.card("none", model.CardOpen, 1)
	if _, _, err := s.m.Answer(ctx, person, Answer{ChatID: id, ApprovalID: CardID(id, "none"), Answer: agent.ApprovalAnswer{OptionID: "a"}}); err == nil {
		t.Fatal("taken")
	}
	if won, _, err := s.m.Answer(ctx, person, Answer{ChatID: id, ApprovalID: CardID(id, "none"), Answer: agent.ApprovalAnswer{Canceled: true}}); err != nil || !won {
		t.Fatal(won, err)
	}
	if a := <-out; !a.Canceled {
		t.Fatal(a)
	}
	sc.done()
	s.ends(id, 1)
}

// A06: a card lives until the agent acknowledged the answer; without that it
// comes back and says so.
func TestCaseA06_AcknowledgedOrBack(t *testing.T) {
	s := newStage(t, func(o *Options) { o.AckBound = 100 * time.Millisecond })
	id, sc := s.running()
	q := runTool("7")
	q.Acknowledges = true
	out := askFor(sc, ctx, q)
	s.card("7", model.CardOpen, 1)
	s.answer(id, "7", "a")
	<-out
	s.card("7", model.CardSent, 1)
	s.card("7", model.CardUnconfirmed, 1)
	if c := s.get(id); len(c.Approvals) != 1 || c.Approvals[0].State != model.CardUnconfirmed {
		t.Fatal(c.Approvals)
	}
	sc.ApprovalAcked("7") // late, but it came
	s.card("7", model.CardConfirmed, 1)
	if len(s.get(id).Approvals) != 0 {
		t.Fatal("a confirmed card is still shown")
	}
	sc.done()
	s.ends(id, 1)
}

// A06: what a mirrored session asks in its terminal is shown and answered there.
func TestCaseA06_AskedInTheTerminal(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.done()
	s.ends(id, 1)
	place := model.Place{Kind: "tab", TerminalID: "t1", CanFocus: true}
	if err := s.m.SetHand(ctx, id, model.Hand{State: model.HandMirror, Place: &place}); err != nil {
		t.Fatal(err)
	}
	state := func(st agent.Status) {
		if _, err := s.m.ApplyMirror(ctx, id, Mirrored{State: &agent.MirrorState{Status: st}, Via: "terminal"}); err != nil {
			t.Fatal(err)
		}
	}
	state(agent.StatusWaiting)
	state(agent.StatusWaiting)
	list := s.m.Approvals()
	if len(list) != 1 || list[0].Elsewhere == nil || list[0].Elsewhere.TerminalID != "t1" || s.get(id).State != model.SessionWaiting {
		t.Fatalf("%+v", list)
	}
	if _, _, err := s.m.Answer(ctx, person, Answer{ChatID: id, ApprovalID: list[0].ID, Answer: agent.ApprovalAnswer{OptionID: "a"}}); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	if _, busy, err := s.m.Inspect(ctx, id); err != nil || busy {
		t.Fatal("the chat counts as busy", err)
	}
	state(agent.StatusRunning)
	s.card("terminal", model.CardAnsweredElsewhere, 1)
	if len(s.m.Approvals()) != 0 || s.get(id).State != model.SessionRunning {
		t.Fatal(s.m.Approvals())
	}
	state(agent.StatusWaiting)
	if err := s.m.SetHand(ctx, id, model.Hand{State: model.HandApp}); err != nil {
		t.Fatal(err)
	}
	if len(s.m.Approvals()) != 0 {
		t.Fatal("the card outlives the mirror")
	}
}

// A07: a message while a request is open is queued and shown as queued.
func TestCaseA07_MessageWhileAskedIsQueued(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	out := askFor(sc, ctx, runTool("7"))
	s.card("7", model.CardOpen, 1)
	if sent := s.send(id, "c2", "more"); sent.State != model.QueueQueued || !strings.Contains(sent.Note, "answer") {
		t.Fatal(sent)
	}
	s.answer(id, "7", "a")
	<-out
	sc.done()
	if p := s.prompt(sc); p.ClientID != "c2" {
		t.Fatal(p)
	}
	sc.done()
	s.ends(id, 2)
}
