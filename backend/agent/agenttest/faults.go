package agenttest

import (
	"context"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func testFault(t *testing.T, cfg *suite, f Fault) {
	req := cfg.Open(t)
	f.Apply(&req)
	if f.OpenFails {
		rec := NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), cfg.deadline())
		defer cancel()
		s, err := cfg.New(t).Open(ctx, req, rec)
		if err == nil {
			_ = s.Close(ctx)
			t.Fatal("Open worked")
		}
		return
	}
	c := open(t, cfg, req)
	if !f.Withdraws {
		c.rec.Decide = firstOption
	}
	if f.Prompt != "" {
		if end := c.wait(c.prompt(context.Background(), f.Prompt)); end.Outcome != f.Ends {
			t.Errorf("the turn ended as %s (%s %s), not %s", end.Outcome, end.Reason, end.Text, f.Ends)
		}
	}
	if f.Withdraws {
		a := c.rec.Approvals()
		if len(a) == 0 || !a[0].Withdrawn {
			t.Errorf("the approval was not withdrawn: %+v", a)
		}
	}
	if f.Dies {
		c.dead()
	}
}

// firstOption answers everything with its first option.
func firstOption(_ context.Context, a agent.Approval) agent.ApprovalAnswer {
	if len(a.Options) == 0 {
		return agent.ApprovalAnswer{Canceled: true}
	}
	return agent.ApprovalAnswer{OptionID: a.Options[0].ID}
}
