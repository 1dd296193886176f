package agenttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Provider runs the whole suite.
func Provider(t *testing.T, cfg ProviderConfig) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	if cfg.Prompts.Steered == "" {
		cfg.Prompts.Steered = cfg.Prompts.Running
	}
	parts := []struct {
		name string
		on   bool
		run  func(*testing.T, *ProviderConfig)
	}{
		{"Availability", true, testAvailability},
		{"OpenFailure", true, testOpenFailure},
		{"Turns", cfg.Prompts.Text != "", testTurns},
		{"Idle", cfg.Prompts.Text != "", testIdle},
		{"Close", true, testClose},
		{"CloseDuringTurn", cfg.Prompts.Running != "", testCloseDuringTurn},
		{"Cancel", cfg.Prompts.Running != "", testCancel},
		{"CancelRacesEnd", cfg.Prompts.Text != "", testCancelRacesEnd},
		{"ContextEnds", cfg.Prompts.Running != "", testContextEnds},
		{"Killed", cfg.Prompts.Running != "", testKilled},
		{"ApprovalOptions", cfg.Prompts.Approval != "", testApprovalOptions},
		{"ApprovalCanceled", cfg.Prompts.Approval != "", testApprovalCanceled},
		{"ApprovalAtClose", cfg.Prompts.Approval != "", testApprovalAtClose},
		{"ApprovalAtDeath", cfg.Prompts.Approval != "", testApprovalAtDeath},
		{"Question", cfg.Prompts.Question != "", testQuestion},
		{"Plan", cfg.Prompts.Plan != "", testPlan},
		{"Subagents", cfg.Prompts.Subagents != "", testSubagents},
		{"AgentTurn", cfg.Prompts.AgentTurn != "", testAgentTurn},
		{"Fail", cfg.Prompts.Fail != "", testFail},
		{"Steer", cfg.Prompts.Steered != "", testSteer},
		{"Setters", true, testSetters},
		{"Usage", cfg.Prompts.Text != "", testUsage},
		{"Resume", cfg.Prompts.Text != "", testResume},
		{"Confined", cfg.Confined != nil, testConfined},
	}
	for _, p := range parts {
		if p.on && !slices.Contains(cfg.without, p.name) {
			t.Run(p.name, func(t *testing.T) { p.run(t, &cfg) })
		}
	}
	for _, f := range cfg.Faults {
		t.Run("Fault/"+f.Name, func(t *testing.T) { testFault(t, &cfg, f) })
	}
	t.Run("NoGoroutineLeft", func(t *testing.T) { goleak.VerifyNone(t, before) })
}

func testAvailability(t *testing.T, cfg *ProviderConfig) {
	ctx, cancel := context.WithTimeout(t.Context(), cfg.deadline())
	defer cancel()
	a, err := cfg.New(t).Availability(ctx)
	if err != nil {
		t.Fatalf("Availability: %v", err)
	}
	if agent.UTF16Len(a.Detail) > agent.LimitDetail {
		t.Errorf("the detail is longer than %d", agent.LimitDetail)
	}
	if a.Available && a.Reason != "" {
		t.Errorf("available, and yet with the reason %q", a.Reason)
	}
	if !a.Available {
		t.Fatalf("the suite needs an agent that is available; this one says %q: %s", a.Reason, a.Detail)
	}
}

// testOpenFailure: after a failed Open nothing was reported and nothing runs.
func testOpenFailure(t *testing.T, cfg *ProviderConfig) {
	req := cfg.Open(t)
	req.Binary = "/nonexistent/agent"
	rec := NewRecorder()
	ctx, cancel := context.WithTimeout(t.Context(), cfg.deadline())
	defer cancel()
	s, err := cfg.New(t).Open(ctx, req, rec)
	if err == nil {
		_ = s.Close(ctx)
		t.Fatal("Open worked with a binary that does not exist")
	}
	if len(rec.ReadyEvents()) > 0 || len(rec.Items()) > 0 {
		t.Error("Open failed and yet reported Ready or an item")
	}
}

func testTurns(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	if r := c.rec.ReadyEvents()[0]; r.Handle == nil {
		t.Error("a workspace chat is ready without a handle")
	}
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	first := len(c.rec.Items())
	if c.rec.Text() == "" {
		t.Error("the turn completed without a text")
	}
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	if len(c.rec.Items()) <= first {
		t.Error("the second turn has no rows of its own")
	}
}

func testIdle(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	c.cancel() // nothing runs: there is nothing to do
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	c.cancel()
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
}

func testClose(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	c.close()
	ctx, cancel := c.ctx()
	defer cancel()
	if err := c.session.Cancel(ctx); err != nil {
		t.Errorf("Cancel after Close: %v; what ran before cannot run any more", err)
	}
	if _, err := c.session.Prompt(ctx, agent.Prompt{Text: "hello", ClientID: clientID()}); err == nil {
		t.Error("Prompt after Close was accepted")
	}
	if c.rec.Exited() == nil {
		t.Error("Exit was never reported")
	}
}

func testCloseDuringTurn(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	p := c.running(cfg.Prompts.Running)
	both := make(chan struct{})
	go func() {
		defer close(both)
		ctx, cancel := c.ctx()
		defer cancel()
		if err := c.session.Close(ctx); err != nil {
			t.Errorf("Close from another goroutine: %v", err)
		}
	}()
	c.close()
	<-both
	if end := c.wait(p); end.Outcome == agent.OutcomeCompleted {
		t.Error("the turn was closed in its middle and yet completed")
	}
}

func testCancel(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	p := c.running(cfg.Prompts.Running)
	second := make(chan error, 1)
	go func() {
		ctx, cancel := c.ctx()
		defer cancel()
		second <- c.session.Cancel(ctx)
	}()
	c.cancel()
	if err := <-second; err != nil {
		t.Errorf("Cancel called twice: %v", err)
	}
	if end := c.wait(p); end.Outcome != agent.OutcomeCanceled {
		t.Errorf("the stopped turn ended as %s", end.Outcome)
	}
	if cfg.Prompts.Text != "" {
		c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	}
}

// testCancelRacesEnd: whoever wins, the turn has one end and the next works.
func testCancelRacesEnd(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	races := cfg.Races
	if races == 0 {
		races = 8
	}
	for i := range races {
		p := c.prompt(context.Background(), cfg.Prompts.Text)
		chunks := c.rec.Chunks() + i*3
		c.rec.MustWait(t, cfg.deadline(), "some text or the end", func() bool {
			return c.rec.Chunks() > chunks || closed(p.done)
		})
		c.cancel()
		switch end := c.wait(p); end.Outcome {
		case agent.OutcomeCompleted, agent.OutcomeCanceled:
		default:
			t.Fatalf("race %d: the turn ended as %s (%s)", i, end.Outcome, end.Text)
		}
	}
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
}

// testContextEnds: a Prompt whose context ends does not wait for the agent.
func testContextEnds(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	before := c.rec.Chunks()
	p := c.prompt(ctx, cfg.Prompts.Running)
	c.rec.MustWait(t, cfg.deadline(), "the first text", func() bool { return c.rec.Chunks() > before })
	cancel()
	select {
	case <-p.done:
	case <-time.After(cfg.deadline()):
		t.Fatal("Prompt did not return after its context had ended")
	}
	if p.err == nil && p.end.Outcome == agent.OutcomeCompleted {
		t.Error("a turn whose context ended in its middle completed")
	}
}

func testKilled(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	p := c.running(cfg.Prompts.Running)
	c.kill()
	if end := c.wait(p); end.Outcome != agent.OutcomeFailed {
		t.Errorf("the agent was killed and its turn ended as %s", end.Outcome)
	}
	c.dead()
}

// kill ends the agent the hard way.
func (c *chat) kill() {
	c.t.Helper()
	pid := c.rec.ReadyEvents()[0].Pid
	if pid <= 0 {
		c.t.Fatal("Ready names no pid; a death cannot be tested")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		c.t.Fatalf("kill: %v", err)
	}
}

// dead checks a session whose process has gone.
func (c *chat) dead() {
	c.t.Helper()
	c.rec.MustWait(c.t, c.cfg.deadline(), "Exit", func() bool { return c.rec.Exited() != nil })
	c.cancel()
	ctx, cancel := c.ctx()
	defer cancel()
	if _, err := c.session.Prompt(ctx, agent.Prompt{Text: "hello", ClientID: clientID()}); err == nil {
		c.t.Error("a dead agent accepted a prompt")
	}
}

func testFail(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	c.ask(cfg.Prompts.Fail, agent.OutcomeFailed)
	if cfg.Prompts.Text != "" {
		c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	}
}

func testPlan(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	c.ask(cfg.Prompts.Plan, agent.OutcomeCompleted)
	for _, it := range c.rec.Items() {
		if it.Type == agent.ItemPlan && len(it.Entries) > 0 {
			return
		}
	}
	t.Error("no plan row")
}

func testSubagents(t *testing.T, cfg *ProviderConfig) {
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

func testAgentTurn(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	c.ask(cfg.Prompts.AgentTurn, agent.OutcomeCompleted)
	c.rec.MustWait(t, cfg.deadline(), "a turn of the agent's own", func() bool { return len(c.rec.OwnEnds()) > 0 })
	if cfg.Prompts.Text != "" {
		c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	}
}

func testSteer(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Open(t))
	st, ok := c.session.(agent.Steerer)
	if said := agent.AbilitySteer.In(c.rec.ReadyEvents()[0].Abilities); said != ok {
		t.Fatalf("the ability steer is %v and the method is there: %v", said, ok)
	}
	if !ok {
		return
	}
	ctx, cancel := c.ctx()
	defer cancel()
	if err := st.Steer(ctx, agent.Prompt{Text: "hello", ClientID: clientID()}); !errors.Is(err, agent.ErrSteerUnavailable) {
		t.Errorf("Steer while idle: %v, not ErrSteerUnavailable", err)
	}
	p := c.running(cfg.Prompts.Steered)
	id := clientID()
	const said = "Please mention the word kingfisher."
	if err := st.Steer(ctx, agent.Prompt{Text: said, ClientID: id}); err != nil {
		t.Fatalf("Steer: %v", err)
	}
	c.rec.MustWait(t, cfg.deadline(), "a sign that the steer was taken", func() bool {
		for _, it := range c.rec.Items() {
			if it.Type == agent.ItemUser && strings.Contains(it.Text, said) {
				return true
			}
		}
		return len(c.rec.Deliveries(id)) > 0
	})
	c.cancel()
	c.wait(p)
}

func testUsage(t *testing.T, cfg *ProviderConfig) {
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

func testConfined(t *testing.T, cfg *ProviderConfig) {
	c := open(t, cfg, cfg.Confined(t))
	if c.rec.ReadyEvents()[0].Handle != nil {
		t.Error("a confined chat has a native session")
	}
	if cfg.Prompts.Text != "" {
		c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	}
}

func testFault(t *testing.T, cfg *ProviderConfig, f Fault) {
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
