package agenttest

import (
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func testFail(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	c.ask(cfg.Prompts.Fail, agent.OutcomeFailed)
	if cfg.Prompts.Text != "" {
		c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	}
}

func testPlan(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	c.ask(cfg.Prompts.Plan, agent.OutcomeCompleted)
	for _, it := range c.rec.Items() {
		if it.Type == agent.ItemPlan && len(it.Entries) > 0 {
			return
		}
	}
	t.Error("no plan row")
}

func testSubagents(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	c.rec.Decide = firstOption
	c.ask(cfg.Prompts.Subagents, agent.OutcomeCompleted)
	agents, children := 0, 0
	for _, it := range c.rec.Items() {
		if it.Type == agent.ItemSubagent {
			agents++
		}
		if it.ParentID != "" {
			children++
		}
	}
	if agents == 0 || children == 0 {
		t.Errorf("%d sub-agents with %d rows of their own", agents, children)
	}
}

func testAgentTurn(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	c.ask(cfg.Prompts.AgentTurn, agent.OutcomeCompleted)
	c.rec.MustWait(t, cfg.deadline(), "a turn of the agent's own", func() bool { return len(c.rec.OwnEnds()) > 0 })
	if cfg.Prompts.Text != "" {
		c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	}
}

func testUsage(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	u, ok := c.session.(agent.UsageReporter)
	if !ok {
		return
	}
	ctx, cancel := c.ctx()
	defer cancel()
	got, err := u.Usage(ctx)
	if err != nil {
		t.Fatalf("Usage: %v", err)
	}
	if got.Input+got.Output+got.CacheRead+got.CacheWrite <= 0 {
		t.Errorf("after a turn the usage is %+v", got)
	}
}

func testConfined(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Confined(t))
	if c.rec.ReadyEvents()[0].Handle != nil {
		t.Error("a confined chat has a native session")
	}
	if cfg.Prompts.Text != "" {
		c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	}
}
