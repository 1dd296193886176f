package rehearsal

import (
	"context"
	"slices"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// TestA04TwoOptionsOfOneKind: a plan offers two ways to say yes; the one that
// was chosen goes back, and the mode follows it.
func TestCaseA04_TwoOptionsOfOneKind(t *testing.T) {
	for option, mode := range map[string]string{"work-edits": "edits", "work-ask": "ask", "keep-planning": ""} {
		rec, s := openChat(t, "--mode", "plan")
		rec.Decide = func(_ context.Context, a agent.Approval) agent.ApprovalAnswer {
			if a.Kind != agent.ApprovalPlan || a.Plan == nil || a.ModeChange == nil || len(a.Options) != 3 {
				t.Errorf("the request is %+v", a)
			}
			return agent.ApprovalAnswer{OptionID: option}
		}
		rec.BeginPrompt()
		end, err := s.Prompt(t.Context(), agent.Prompt{Text: "plan", ClientID: "c"})
		rec.EndPrompt(end, err)
		if err != nil || end.Outcome != agent.OutcomeCompleted {
			t.Fatalf("%+v %v", end, err)
		}
		if got := rec.InForce().Mode; got != mode {
			t.Errorf("%s led to mode %q, not %q", option, got, mode)
		}
		planned := slices.ContainsFunc(rec.Items(), func(it agent.Item) bool { return it.Type == agent.ItemPlan })
		if planned != (mode != "") {
			t.Errorf("%s: worked through the plan: %v", option, planned)
		}
	}
}

// TestAllowForTheSession: "don't ask again" is the agent's own and lasts as
// long as its process.
func TestAllowForTheSession(t *testing.T) {
	rec, s := openChat(t)
	rec.Decide = func(context.Context, agent.Approval) agent.ApprovalAnswer {
		return agent.ApprovalAnswer{OptionID: "yes-session"}
	}
	for range 2 {
		rec.BeginPrompt()
		end, err := s.Prompt(t.Context(), agent.Prompt{Text: "run", ClientID: "c"})
		rec.EndPrompt(end, err)
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(rec.Approvals()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestReopenBeforeTheFirstPrompt: a chat that was let go before anybody said a
// word opens again under its id; one whose file was lost does not.
func TestReopenBeforeTheFirstPrompt(t *testing.T) {
	h := newHost(t)
	p := New(h).Provider
	req := request(t)
	open := func(resume *agent.Handle) (*agenttest.Recorder, agent.ChatSession, error) {
		rec := agenttest.NewRecorder()
		r := req
		r.Resume = resume
		s, err := p.Open(t.Context(), r, rec)
		return rec, s, err
	}
	rec, s, err := open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := rec.NativeHandle()
	rec, s, err = open(first)
	if err != nil {
		t.Fatalf("reopen before the first prompt: %v", err)
	}
	rec.BeginPrompt()
	end, err := s.Prompt(t.Context(), agent.Prompt{Text: "hello", ClientID: "c"})
	rec.EndPrompt(end, err)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := rec.NativeHandle()
	if now.NativeID != first.NativeID || now.Meta != nil {
		t.Errorf("the handle went from %+v to %+v", first, now)
	}
	lost := *now
	lost.Env = map[string]string{wire.HomeVariable: t.TempDir()}
	if _, _, err := open(&lost); err == nil {
		t.Error("a lost session was begun anew in silence")
	}
}
