package chats

import (
	"context"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// An answer that the agent's own server took from somewhere else: from a terminal
// that is attached it is shown; from nobody knows whom it stops the turn.
func TestAnsweredElsewhere(t *testing.T) {
	for name, c := range map[string]struct{ terminal bool }{"in a terminal": {true}, "by nobody knows whom": {false}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			id, sc := s.running()
			actx, cancel := context.WithCancelCause(ctx)
			out := askFor(sc, actx, runTool("7"))
			s.card("7", model.CardOpen, 1)
			cancel(&agent.AnsweredElsewhere{Terminal: c.terminal})
			if a := <-out; !a.Canceled {
				t.Fatal(a)
			}
			s.card("7", model.CardAnsweredElsewhere, 1)
			if n := len(s.m.Approvals()); n != 0 {
				t.Fatal("the card is still listed")
			}
			if c.terminal {
				sc.done()
				s.ends(id, 1)
				return
			}
			s.cancelled(sc) <- nil
			sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCanceled}}
			if end := s.ends(id, 1); end.Outcome != agent.OutcomeCanceled {
				t.Error(end)
			}
			told := false
			for _, r := range s.get(id).Items {
				told = told || r.Type == agent.ItemNotice
			}
			if !told {
				t.Error("the conversation says nothing of it")
			}
		})
	}
}

// A plan that was denied can still be read, in the audit, as it was shown.
func TestADeniedPlanStaysReadable(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	plan := agent.Approval{ID: "p", Kind: agent.ApprovalPlan, Title: "Ready?", Plan: &agent.PlanText{Text: "# First\nthen the rest"}, Options: []agent.Option{
		{ID: "y", Label: "Yes", Kind: agent.OptionAllowOnce}, {ID: "n", Label: "No", Kind: agent.OptionRejectOnce, AllowsComment: true}}}
	out := askFor(sc, ctx, plan)
	s.card("p", model.CardOpen, 1)
	won, _, err := s.m.Answer(ctx, person, Answer{ChatID: id, ApprovalID: CardID(id, "p"), Answer: agent.ApprovalAnswer{OptionID: "n", Comment: "smaller steps"}})
	if err != nil || !won {
		t.Fatal(won, err)
	}
	if a := <-out; a.OptionID != "n" || a.Comment != "smaller steps" {
		t.Fatal(a)
	}
	sc.done()
	s.ends(id, 1)
	s.close()
	s.log = newRecord()
	s.open()
	list, _, err := s.m.Past(ctx, id, 0, 10)
	if err != nil || len(list) != 1 || list[0].Plan == nil || list[0].Plan.Text != plan.Plan.Text || list[0].Answer.Label != "No" || list[0].Answer.Comment != "smaller steps" {
		t.Fatalf("%+v %v", list, err)
	}
}
