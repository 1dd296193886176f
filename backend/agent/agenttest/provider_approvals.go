package agenttest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// testApprovalOptions gives each option of the agent back and looks at what
// became of the tool.
func testApprovalOptions(t *testing.T, cfg *ProviderConfig) {
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
			if end.Outcome == agent.OutcomeFailed {
				t.Fatalf("the turn failed: %s %s", end.Reason, end.Text)
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

// testApprovalCanceled: Cancel while a request is pending withdraws it and
// ends the turn (case A03).
func testApprovalCanceled(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	p := c.prompt(context.Background(), cfg.Prompts.Approval)
	c.pending(0)
	c.cancel()
	if end := c.wait(p); end.Outcome != agent.OutcomeCanceled {
		t.Errorf("the turn ended as %s", end.Outcome)
	}
	c.settled()
	if cfg.Prompts.Text != "" {
		c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	}
}

func testApprovalAtClose(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	p := c.prompt(context.Background(), cfg.Prompts.Approval)
	c.pending(0)
	c.close()
	c.wait(p)
	c.settled()
}

func testApprovalAtDeath(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	p := c.prompt(context.Background(), cfg.Prompts.Approval)
	c.pending(0)
	c.kill()
	if end := c.wait(p); end.Outcome != agent.OutcomeFailed {
		t.Errorf("the agent was killed and its turn ended as %s", end.Outcome)
	}
	c.settled()
	c.dead()
}

// settled checks that no request is pending and that none was answered.
func (c *chat) settled() {
	c.t.Helper()
	c.rec.MustWait(c.t, c.cfg.deadline(), "the end of the approval", func() bool {
		for _, a := range c.rec.Approvals() {
			if !a.Done {
				return false
			}
		}
		return true
	})
	for _, a := range c.rec.Approvals() {
		if !a.Answer.Canceled {
			c.t.Errorf("approval %s was answered by nobody and yet got %+v", a.Approval.ID, a.Answer)
		}
	}
}

func testQuestion(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	c.rec.Decide = func(_ context.Context, a agent.Approval) agent.ApprovalAnswer {
		ans := agent.ApprovalAnswer{Answers: map[string]agent.QuestionAnswer{}}
		if len(a.Options) > 0 {
			ans.OptionID = a.Options[0].ID
		}
		for _, q := range a.Questions {
			switch {
			case len(q.Options) > 0:
				ans.Answers[q.ID] = agent.QuestionAnswer{OptionIDs: []string{q.Options[0].ID}}
			default:
				ans.Answers[q.ID] = agent.QuestionAnswer{Other: "my own words"}
			}
		}
		return ans
	}
	c.ask(cfg.Prompts.Question, agent.OutcomeCompleted)
	asked := c.rec.Approvals()
	if len(asked) == 0 || asked[0].Approval.Kind != agent.ApprovalQuestion || len(asked[0].Approval.Questions) == 0 {
		t.Fatalf("no question was asked: %+v", asked)
	}
}
