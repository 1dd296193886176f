package agenttest

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func testAvailability(t *testing.T, cfg *suite) {
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
func testOpenFailure(t *testing.T, cfg *suite) {
	req := cfg.Open(t)
	running := children()
	programs := []string{"/nonexistent/agent"}
	if ends, err := exec.LookPath("true"); err == nil {
		programs = append(programs, ends) // begins, and ends without a word
	}
	for _, program := range programs {
		req.Binary = program
		rec := NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), cfg.deadline())
		defer cancel()
		s, err := cfg.New(t).Open(ctx, req, rec)
		if err == nil {
			_ = s.Close(ctx)
			t.Fatalf("Open worked with %s", program)
		}
		if len(rec.ReadyEvents()) > 0 || len(rec.Items()) > 0 {
			t.Errorf("Open of %s failed and yet reported Ready or an item", program)
		}
	}
	settle(t, cfg.deadline(), "processes of an open that failed", newChildren(running))
}

func testTurns(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	if r := c.rec.ReadyEvents()[0]; r.Handle == nil {
		t.Error("a workspace chat is ready without a handle")
	}
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	first := c.answers()
	if c.rec.Text() == "" {
		t.Error("the turn completed without a text")
	}
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	if c.answers() <= first {
		t.Error("the second turn has no rows of its own")
	}
}

// answers counts the rows that are not the person's.
func (c *chat) answers() (n int) {
	for _, it := range c.rec.Items() {
		if it.Type != agent.ItemUser {
			n++
		}
	}
	return n
}

func testIdle(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	c.cancel() // nothing runs: there is nothing to do
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	c.cancel()
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
}

func testClose(t *testing.T, cfg *suite) {
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

func testCloseDuringTurn(t *testing.T, cfg *suite) {
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

func testCancel(t *testing.T, cfg *suite) {
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
func testCancelRacesEnd(t *testing.T, cfg *suite) {
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
func testContextEnds(t *testing.T, cfg *suite) {
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
