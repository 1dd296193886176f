package chats

import (
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestAChangedRequestIsANewRevision(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	out := askFor(sc, ctx, runTool("7"))
	s.card("7", model.CardOpen, 1)
	changed := runTool("7")
	changed.Title = "Run something else"
	out2 := askFor(sc, ctx, changed)
	if a := <-out; !a.Canceled {
		t.Fatal(a)
	}
	s.card("7", model.CardOpen, 2)
	if _, _, err := s.m.Answer(ctx, person, Answer{ChatID: id, ApprovalID: CardID(id, "7"), Revision: 1, Answer: agent.ApprovalAnswer{OptionID: "a"}}); err == nil {
		t.Fatal("an answer to the old text was taken for the new one")
	}
	s.answer(id, "7", "r")
	if a := <-out2; a.OptionID != "r" {
		t.Fatal(a)
	}
	sc.done()
	s.ends(id, 1)
}

func TestOnlyAPersonAnswers(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	out := askFor(sc, ctx, runTool("7"))
	s.card("7", model.CardOpen, 1)
	bad := Caller{By: "agent", Where: "below claude (pid 9)"}
	if _, _, err := s.m.Answer(ctx, bad, Answer{ApprovalID: CardID(id, "7"), Answer: agent.ApprovalAnswer{OptionID: "a"}}); err == nil {
		t.Fatal("an agent answered")
	}
	if c := s.get(id).Approvals[0]; len(c.Refused) != 1 || c.Refused[0].Where != bad.Where || c.State != model.CardOpen {
		t.Fatal(c)
	}
	// It is told in the conversation too, once a card.
	if _, _, err := s.m.Answer(ctx, bad, Answer{ApprovalID: CardID(id, "7"), Answer: agent.ApprovalAnswer{OptionID: "a"}}); err == nil {
		t.Fatal("an agent answered")
	}
	told := 0
	for _, r := range s.get(id).Items {
		if r.Type == agent.ItemNotice && strings.Contains(r.Text, bad.Where) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the conversation tells of it %d times", told)
	}
	for name, v := range map[string]any{"mode": "bypass", "autoMode": true, "feature:x": 1} {
		if _, _, err := s.m.Set(ctx, bad, id, name, raw(v)); err == nil {
			t.Errorf("an agent set %s", name)
		}
	}
	if _, err := s.m.TrustGrant(ctx, bad, s.dir, "trusted"); err == nil {
		t.Error("an agent trusted a folder")
	}
	s.answer(id, "7", "a")
	<-out
	sc.done()
	s.ends(id, 1)
	audit, _, err := s.m.Audit(ctx, "", 10)
	if err != nil || len(audit) != 1 || audit[0].Answer.By != "window" || len(audit[0].Refused) != 2 {
		t.Fatal(audit, err)
	}
}

func TestQuestionsAreHeldAgainstWhatWasAsked(t *testing.T) {
	q := agent.Approval{Kind: agent.ApprovalQuestion, Questions: []agent.Question{
		{ID: "one", Text: "Which?", Options: []agent.QuestionOption{{ID: "x"}, {ID: "y"}}},
		{ID: "two", Text: "More?", Options: []agent.QuestionOption{{ID: "z"}}, Multi: true, AllowOther: true, Skippable: true},
	}}
	ok := func(a map[string]agent.QuestionAnswer) bool { return fits(q, agent.ApprovalAnswer{Answers: a}) == nil }
	type m = map[string]agent.QuestionAnswer
	one := agent.QuestionAnswer{OptionIDs: []string{"x"}}
	for i, c := range []struct {
		a    m
		want bool
	}{
		{m{"one": one}, true},
		{m{"one": one, "two": {Skipped: true}}, true},
		{m{"one": one, "two": {Other: "words"}}, true},
		{m{"one": {Skipped: true}}, false},
		{m{"one": {Other: "words"}}, false},
		{m{"one": {OptionIDs: []string{"x", "y"}}}, false},
		{m{"one": {OptionIDs: []string{"z"}}}, false},
		{m{"two": {Skipped: true}}, false},
		{m{"three": one}, false},
		{nil, false},
	} {
		if ok(c.a) != c.want {
			t.Errorf("case %d: %v is %v", i, c.a, !c.want)
		}
	}
}

// A question that may be skipped: skipped is an answer and no cancel.
func TestSkipIsNoCancel(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	q := agent.Approval{ID: "q", Kind: agent.ApprovalQuestion, Title: "Which?", Questions: []agent.Question{
		{ID: "one", Text: "Which?", Options: []agent.QuestionOption{{ID: "x"}}, Skippable: true},
		{ID: "two", Text: "And?", Options: []agent.QuestionOption{{ID: "y"}, {ID: "z"}}, Multi: true, AllowOther: true},
	}}
	out := askFor(sc, ctx, q)
	s.card("q", model.CardOpen, 1)
	ans := agent.ApprovalAnswer{Comment: "as a remark", Answers: map[string]agent.QuestionAnswer{"one": {Skipped: true}, "two": {OptionIDs: []string{"y", "z"}, Other: "and this"}}}
	if won, _, err := s.m.Answer(ctx, person, Answer{ChatID: id, ApprovalID: CardID(id, "q"), Answer: ans}); err != nil || !won {
		t.Fatal(won, err)
	}
	a := <-out
	if a.Canceled || !a.Answers["one"].Skipped || len(a.Answers["two"].OptionIDs) != 2 || a.Answers["two"].Other != "and this" || a.Comment != "as a remark" {
		t.Fatalf("%+v", a)
	}
	sc.done()
	s.ends(id, 1)
}
