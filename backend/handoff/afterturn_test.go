package handoff

import (
	"errors"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
)

// running makes a turn that ends only when end is called.
func (s *stage) running(id, text string) (end func()) {
	s.Helper()
	hold := make(chan struct{})
	s.p.mu.Lock()
	s.p.hold = hold
	s.p.mu.Unlock()
	s.send(id, text)
	s.until("the turn", func() bool { sum, _ := s.chats.Summary(id); return sum.Turn == model.TurnRunning })
	return func() {
		s.p.mu.Lock()
		s.p.hold = nil
		s.p.mu.Unlock()
		close(hold)
	}
}

// pending asks for a hand-over after the turn; the answer comes at once.
func (s *stage) pending(id string) {
	s.Helper()
	res := s.toTerminal(id, Request{When: chats.WhenAfterTurn})
	p := res.Hand.Pending
	if res.Hand.State != model.HandApp || p == nil || p.Place != placeApp || p.Label == "" || p.Since == 0 {
		s.Fatalf("%+v", res.Hand)
	}
	if sum, _ := s.chats.Summary(id); sum.Hand.Pending == nil || sum.Turn != model.TurnRunning {
		s.Fatalf("a hand-over that waits is not shown: %+v", sum)
	}
}

func TestAfterTurn(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	end := s.running(id, "two")
	s.pending(id)
	if p, err := s.m.Preview(ctx, id); err != nil || p.CanNow || p.Why == "" {
		t.Fatalf("%+v %v", p, err)
	}
	if _, err := s.m.ToTerminal(ctx, Request{ChatID: id, When: chats.WhenAfterTurn}); !errors.Is(err, chats.ErrBusy) {
		t.Fatal(err)
	}
	s.send(id, "three") // stays in the queue: the release comes first
	end()
	s.owned(id)
	if n := len(s.p.prompts); n != 2 {
		t.Fatalf("%d prompts", n)
	}
	if _, err := s.m.Withdraw(ctx, id); !errors.Is(err, chats.ErrConflict) {
		t.Fatal(err)
	}
	s.tabs.last().typed("quit")
	s.rows(id, "re: three")
	s.oneBranch(s.session(id))
}

func TestAfterTurnWithdrawn(t *testing.T) {
	for name, withdraw := range map[string]func(*stage, string) (model.Hand, error){
		"withdrawn":  func(s *stage, id string) (model.Hand, error) { return s.m.Withdraw(ctx, id) },
		"taken back": func(s *stage, id string) (model.Hand, error) { return s.m.TakeBack(ctx, id, false) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			id := s.chat()
			s.said(id, "one")
			end := s.running(id, "two")
			s.pending(id)
			s.send(id, "three")
			hand, err := withdraw(s, id)
			if err != nil || hand.State != model.HandApp || hand.Pending != nil || hand.Note != "" {
				t.Fatalf("%+v %v", hand, err)
			}
			end()
			s.rows(id, "re: three") // the queue goes on as if nothing had been asked
			if len(s.tabs.list) != 0 {
				t.Fatal("a terminal was opened")
			}
			s.toTerminal(id, Request{}) // and it can be asked for again
			s.owned(id)
		})
	}
}

// A turn that was stopped or failed has ended too.
func TestAfterTurnThatIsStopped(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.running(id, "two")
	s.pending(id)
	if _, err := s.chats.StopTurn(ctx, id); err != nil {
		t.Fatal(err)
	}
	s.owned(id)
	if end := s.get(id).LastEnd; end.Outcome != agent.OutcomeCanceled {
		t.Fatal(end)
	}
}

// Its failure comes when nobody waits for an answer any more: the chat says it.
func TestAfterTurnFails(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	end := s.running(id, "two")
	s.pending(id)
	s.tabs.mu.Lock()
	s.tabs.fail = errors.New("no pty left")
	s.tabs.mu.Unlock()
	end()
	s.until("what happened", func() bool {
		sum, _ := s.chats.Summary(id)
		return sum.Hand.State == model.HandApp && sum.Hand.Pending == nil && strings.Contains(sum.Hand.Note, "no pty left")
	})
	s.said(id, "three")
	if sum, _ := s.chats.Summary(id); sum.Hand.Note != "" {
		t.Fatalf("an old note stays for ever: %q", sum.Hand.Note)
	}
}

// A foreign writer overtakes it.
func TestAfterTurnOvertaken(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	end := s.running(id, "two")
	s.pending(id)
	other := s.cli(s.session(id))
	s.hand(id, model.HandMirror)
	end()
	if got := s.owned(id); got.Ownership.Pid != other.cmd.Process.Pid || len(s.tabs.list) != 0 {
		t.Fatalf("%+v, %d tabs", got.Ownership, len(s.tabs.list))
	}
	other.typed("quit")
	s.hand(id, model.HandApp)
}

// A host that ends meanwhile does not open a terminal that nobody waits for.
func TestAfterTurnAndTheHostEnds(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.running(id, "two")
	s.pending(id)
	s.close()
	s.p.mu.Lock()
	s.p.hold = nil
	s.p.mu.Unlock()
	s.open()
	if hand := s.hand(id, model.HandApp); hand.Pending != nil || !strings.Contains(hand.Note, "Whippletree was ended") {
		t.Fatalf("%+v", hand)
	}
	s.said(id, "three")
	if len(s.tabs.list) != 0 {
		t.Fatal("a terminal was opened")
	}
	s.oneBranch(s.session(id))
}
