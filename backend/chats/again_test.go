package chats

import (
	"errors"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// A06: an answer that was not acknowledged can be given again.
func TestCaseA06_AnUnconfirmedCardIsAnsweredAgain(t *testing.T) {
	s := newStage(t, func(o *Options) { o.AckBound = 100 * time.Millisecond })
	id, sc := s.running()
	got := make(chan agent.ApprovalAnswer, 1)
	sc.reanswer = func(request string, a agent.ApprovalAnswer) error {
		if request != "7" {
			t.Errorf("the agent knows no request %q", request)
		}
		got <- a
		return nil
	}
	q := runTool("7")
	q.Acknowledges = true
	out := askFor(sc, ctx, q)
	s.card("7", model.CardOpen, 1)
	s.answer(id, "7", "a")
	<-out
	s.card("7", model.CardUnconfirmed, 1)

	again := Answer{ChatID: id, ApprovalID: CardID(id, "7"), Answer: agent.ApprovalAnswer{OptionID: "none"}}
	if _, _, err := s.m.Answer(ctx, person, again); !errors.Is(err, ErrInvalid) {
		t.Errorf("an answer that was not offered: %v", err)
	}
	again.Answer.OptionID = "r"
	won, card, err := s.m.Answer(ctx, person, again)
	if err != nil || !won || card.State != model.CardSent || card.Answer.OptionID != "r" || len(card.Earlier) != 1 || card.Earlier[0].OptionID != "a" {
		t.Fatalf("%v %+v %v", won, card, err)
	}
	if a := <-got; a.OptionID != "r" {
		t.Errorf("the agent got %+v", a)
	}
	sc.ApprovalAcked("7")
	s.card("7", model.CardConfirmed, 1)
	if list, _, err := s.m.Audit(ctx, "", 10); err != nil || len(list) != 1 || len(list[0].Earlier) != 1 {
		t.Error(list, err)
	}
	sc.done()
	s.ends(id, 1)
}

func TestAnAnswerThatCannotBeGivenAgainComesBack(t *testing.T) {
	s := newStage(t, func(o *Options) { o.AckBound = 100 * time.Millisecond })
	id, sc := s.running()
	q := runTool("7")
	q.Acknowledges = true
	out := askFor(sc, ctx, q)
	s.card("7", model.CardOpen, 1)
	s.answer(id, "7", "a")
	<-out
	s.card("7", model.CardUnconfirmed, 1)
	s.log.clear()
	s.answer(id, "7", "a")
	s.card("7", model.CardSent, 1)
	s.card("7", model.CardUnconfirmed, 1)
	sc.done()
	s.ends(id, 1)
}
