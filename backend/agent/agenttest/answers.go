package agenttest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// testApprovalOptions gives each option of the agent back and looks at what
// became of the tool.
func testApprovalOptions(t *testing.T, cfg *suite) {
	for n := 0; ; n++ {
		more := false
		t.Run(string(rune('A'+n)), func(t *testing.T) {
			c := open(t, cfg, cfg.Open(t))
			var chosen atomic.Pointer[agent.Option]
			c.rec.Decide = func(_ context.Context, a agent.Approval) agent.ApprovalAnswer {
				o := a.Options[min(n, len(a.Options)-1)]
				if chosen.Load() == nil {
					more = n+1 < len(a.Options)
					chosen.Store(&o)
				}
				return agent.ApprovalAnswer{OptionID: o.ID}
			}
			p := c.prompt(context.Background(), cfg.Prompts.Approval)
			c.pending(0)
			end := c.wait(p)
			if end.Outcome != agent.OutcomeCompleted {
				t.Fatalf("option %s was chosen and the turn ended as %s (%s %s)", chosen.Load().ID, end.Outcome, end.Reason, end.Text)
			}
			checkDecided(t, c, *chosen.Load())
		})
		if !more {
			return
		}
	}
}

func checkDecided(t *testing.T, c *chat, o agent.Option) {
	t.Helper()
	asked := c.rec.Approvals()[0]
	if asked.Withdrawn {
		t.Error("an answered approval was withdrawn")
	}
	if asked.Approval.Acknowledges && !asked.Acked {
		t.Error("the agent acknowledges answers, and this one never was")
	}
	for _, it := range c.rec.Items() {
		if it.ID != asked.Approval.ItemID {
			continue
		}
		switch o.Kind {
		case agent.OptionAllowOnce, agent.OptionAllowAlways:
			if it.State != agent.StateCompleted && it.State != agent.StateFailed {
				t.Errorf("option %s allows, and the tool is %s", o.ID, it.State)
			}
		case agent.OptionRejectOnce, agent.OptionRejectAlways:
			if it.State == agent.StateCompleted || it.State == agent.StateRunning {
				t.Errorf("option %s rejects, and the tool is %s", o.ID, it.State)
			}
		}
	}
}

// testApprovalStands: a request is an object of its own; what is told of its tool
// meanwhile does not settle it.
func testApprovalStands(t *testing.T, s *suite) {
	c := open(t, s, s.Open(t))
	p := c.prompt(context.Background(), s.Prompts.Approval)
	asked := c.pending(0)
	// A question to the agent in between makes it speak.
	if u, ok := c.session.(agent.UsageReporter); ok {
		ctx, cancel := c.ctx()
		defer cancel()
		if _, err := u.Usage(ctx); err != nil {
			t.Errorf("Usage while a request stands: %v", err)
		}
	}
	if now := c.pending(0); now.Done || now.Acked {
		t.Errorf("nobody answered, and the request is %+v", now)
	}
	for _, it := range c.rec.Items() {
		if it.ID == asked.Approval.ItemID && !it.Open() {
			t.Errorf("nobody answered, and the tool is %s", it.State)
		}
	}
	if asked.Approval.ItemID == "" {
		t.Error("the request names no row")
	}
	c.cancel()
	c.wait(p)
}

// testApprovalUndecided: the person was not there, which is not a no.
func testApprovalUndecided(t *testing.T, s *suite) {
	c := open(t, s, s.Open(t))
	c.rec.Decide = func(context.Context, agent.Approval) agent.ApprovalAnswer {
		return agent.ApprovalAnswer{Canceled: true}
	}
	p := c.prompt(context.Background(), s.Prompts.Approval)
	asked := c.pending(0)
	c.wait(p)
	for _, it := range c.rec.Items() {
		if it.ID == asked.Approval.ItemID && it.State != agent.StateCanceled {
			t.Errorf("nobody decided, and the tool is %s", it.State)
		}
	}
	if s.Prompts.Text != "" {
		c.ask(s.Prompts.Text, agent.OutcomeCompleted)
	}
}

func testQuestion(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	c.rec.Decide = First
	c.ask(cfg.Prompts.Question, agent.OutcomeCompleted)
	asked := c.rec.Approvals()
	if len(asked) == 0 || asked[0].Approval.Kind != agent.ApprovalQuestion || len(asked[0].Approval.Questions) == 0 {
		t.Fatalf("no question was asked: %+v", asked)
	}
}
