package chats

import (
	"errors"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// commands shows a tool's row and asks for it with its command.
func command(sc *scene, tool, name, text string) agent.Approval {
	sc.Item(agent.Item{ID: tool, Type: agent.ItemTool, CallID: tool, Name: name, Tool: agent.ToolExecute, State: agent.StateRunning})
	a := runTool("ask-" + tool)
	a.ItemID, a.Preview = tool, &agent.Preview{Command: text}
	return a
}

func TestAPersonRemembersAnAnswerForTheProject(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	out := askFor(sc, ctx, command(sc, "t1", "Bash", "make test"))
	card := s.card("ask-t1", model.CardOpen, 1)
	if o := card.Remember; o == nil || o.Tool != "Bash" || o.Pattern != "make test" || o.OptionID != "a" || o.Project == "" {
		t.Fatalf("what can be remembered: %+v", o)
	}
	always := Answer{ChatID: id, ApprovalID: card.ID, Answer: agent.ApprovalAnswer{OptionID: "r"}, Remember: true}
	if _, _, err := s.m.Answer(ctx, person, always); !errors.Is(err, ErrInvalid) {
		t.Errorf("a refusal was remembered: %v", err)
	}
	always.Answer.OptionID = "a"
	bad := Caller{By: "agent", Where: "below an agent"}
	if _, _, err := s.m.Answer(ctx, bad, always); err == nil || len(s.m.Rules()) != 0 {
		t.Fatalf("an agent made a rule: %v %v", err, s.m.Rules())
	}
	won, got, err := s.m.Answer(ctx, person, always)
	if err != nil || !won || got.Answer.Rule == "" {
		t.Fatalf("%v %+v %v", won, got, err)
	}
	if a := <-out; a.OptionID != "a" {
		t.Fatalf("the agent got %+v", a)
	}
	rules := s.m.Rules()
	if len(rules) != 1 || rules[0].ID != got.Answer.Rule || rules[0].Pattern != "make test" || rules[0].Project != card.Remember.Project {
		t.Fatalf("%+v", rules)
	}

	// The same command again is allowed once, by the rule; nothing else is.
	if a := <-askFor(sc, ctx, command(sc, "t2", "Bash", "make test")); a.OptionID != "a" {
		t.Fatalf("the agent got %+v", a)
	}
	if c, err := s.st.Approval(ctx, id, CardID(id, "ask-t2")); err != nil || c.Answer.By != "rule" || c.Answer.Rule != rules[0].ID {
		t.Errorf("%+v %v", c.Answer, err)
	}
	for tool, other := range map[string][2]string{"t3": {"Bash", "make test; rm -rf x"}, "t4": {"Other", "make test"}} {
		out := askFor(sc, ctx, command(sc, tool, other[0], other[1]))
		s.card("ask-"+tool, model.CardOpen, 1)
		s.answer(id, "ask-"+tool, "r")
		<-out
	}
	several := command(sc, "t5", "Bash", "make test")
	several.Options = append(several.Options, agent.Option{ID: "a2", Label: "Allow otherwise", Kind: agent.OptionAllowOnce, Reach: "once"})
	out = askFor(sc, ctx, several)
	if c := s.card("ask-t5", model.CardOpen, 1); c.Remember != nil {
		t.Errorf("a choice can be remembered: %+v", c.Remember)
	}
	s.answer(id, "ask-t5", "r")
	<-out

	// A restarted host knows it; taken back, it is asked again.
	if list, err := s.st.Rules(ctx); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := s.m.RevokeRule(ctx, bad, rules[0].ID); err == nil {
		t.Error("an agent took a rule back")
	}
	if err := s.m.RevokeRule(ctx, person, rules[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := s.m.RevokeRule(ctx, person, rules[0].ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("taken back twice: %v", err)
	}
	out = askFor(sc, ctx, command(sc, "t6", "Bash", "make test"))
	s.card("ask-t6", model.CardOpen, 1)
	s.answer(id, "ask-t6", "r")
	<-out
	sc.done()
	s.ends(id, 1)
}

func TestTheSettingsForbidRulesAndTheAutomaticMode(t *testing.T) {
	policy := Policy{Rules: true, AutoMode: true}
	var mu sync.Mutex
	s := newStage(t, func(o *Options) {
		o.Policy = func() Policy {
			mu.Lock()
			defer mu.Unlock()
			return policy
		}
	})
	id, sc := s.running()
	s.m.ruled(model.ApprovalRule{ID: "old", Project: s.m.o.Project(s.dir).Root, Harness: s.get(id).Harness, Tool: "Bash", Pattern: "make"})
	if _, _, err := s.m.Set(ctx, person, id, "autoMode", raw(true)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	policy = Policy{}
	mu.Unlock()
	out := askFor(sc, ctx, command(sc, "t1", "Bash", "make"))
	card := s.card("ask-t1", model.CardOpen, 1)
	if card.Remember != nil {
		t.Error("the card offers what the settings forbid")
	}
	r := Answer{ChatID: id, ApprovalID: card.ID, Answer: agent.ApprovalAnswer{OptionID: "a"}, Remember: true}
	if _, _, err := s.m.Answer(ctx, person, r); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("remembered all the same: %v", err)
	}
	if _, _, err := s.m.Set(ctx, person, id, "autoMode", raw(true)); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("the automatic mode: %v", err)
	}
	s.answer(id, "ask-t1", "a")
	<-out
	sc.done()
	s.ends(id, 1)
}
