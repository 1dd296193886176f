package agenttest

import (
	"context"
	"slices"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func testPlaces(t *testing.T, s *suite) {
	for _, at := range AllPlaces {
		there, why := s.point(at) != nil, s.Unreachable[at]
		if there == (why != "") {
			t.Errorf("%s: a point is there: %v, a reason why it cannot be reached: %q", at, there, why)
		}
	}
}

// at brings a new chat to a place. The turn is nil between turns.
func (s *suite) at(t *testing.T, p *Point) (*chat, *turn) {
	t.Helper()
	req := s.Open(t)
	if p.Apply != nil {
		p.Apply(&req)
	}
	c := open(t, s, req)
	c.rec.Decide = p.Decide
	run := c.prompt(context.Background(), p.Prompt)
	over := p.At == BetweenTurns || p.At == BackgroundOpen
	if over {
		if end := c.wait(run); end.Outcome != agent.OutcomeCompleted {
			t.Fatalf("on the way to %s the turn ended as %s (%s %s)", p.At, end.Outcome, end.Reason, end.Text)
		}
	}
	c.rec.MustWait(t, s.deadline(), string(p.At), func() bool { return c.isAt(p) || !over && closed(run.done) })
	if p.Reached != nil {
		ctx, cancel := c.ctx()
		defer cancel()
		if err := p.Reached(ctx); err != nil {
			t.Fatalf("%s was not reached: %v\nrows: %s", p.At, err, rowsText(c.rec.Items()))
		}
	}
	if over {
		return c, nil
	}
	if closed(run.done) {
		t.Fatalf("the turn ended before %s: %+v %v\nrows: %s", p.At, run.end, run.err, rowsText(c.rec.Items()))
	}
	return c, run
}

// isAt reads from what was told whether the place was reached.
func (c *chat) isAt(p *Point) bool {
	open := func(want agent.ItemType) func(agent.Item) bool {
		return func(it agent.Item) bool { return it.Type == want && it.Open() }
	}
	said := func(want agent.ItemType) func(agent.Item) bool {
		return func(it agent.Item) bool { return open(want)(it) && it.Text != "" && it.ParentID == "" }
	}
	rows := c.rec.Items()
	pending := c.rec.pending()
	asked := func(kind agent.ApprovalKind) bool {
		return slices.ContainsFunc(pending, func(a Asked) bool { return a.Approval.Kind == kind })
	}
	switch p.At {
	case BeforeFirstEvent:
		return p.Reached != nil || slices.ContainsFunc(rows, func(it agent.Item) bool { return it.Type == agent.ItemUser })
	case MidText:
		return slices.ContainsFunc(rows, said(agent.ItemText))
	case MidReasoning:
		return slices.ContainsFunc(rows, said(agent.ItemReasoning))
	case ToolOpen:
		return len(pending) == 0 && slices.ContainsFunc(rows, open(agent.ItemTool)) &&
			(p.Decide == nil || len(c.rec.Approvals()) > 0)
	case PermissionOpen:
		return asked(agent.ApprovalTool)
	case QuestionOpen:
		return asked(agent.ApprovalQuestion)
	case PlanOpen:
		return asked(agent.ApprovalPlan)
	case SubagentOpen, BackgroundOpen:
		return slices.ContainsFunc(rows, open(agent.ItemSubagent))
	}
	return true
}

// nothingStands checks that the requests that stood were taken back and that
// nothing is open.
func (c *chat) nothingStands(stood []Asked) {
	c.t.Helper()
	c.rec.MustWait(c.t, c.cfg.deadline(), "the end of every request", func() bool { return len(c.rec.pending()) == 0 })
	for _, a := range c.rec.Approvals() {
		if slices.ContainsFunc(stood, func(s Asked) bool { return s.Approval.ID == a.Approval.ID }) && !a.Answer.Canceled {
			c.t.Errorf("request %s was answered by nobody and yet got %+v", a.Approval.ID, a.Answer)
		}
	}
	for _, it := range c.rec.Items() {
		if it.Open() {
			c.t.Errorf("item %s (%s) is still open", it.ID, it.Type)
		}
	}
}

func testStopAt(t *testing.T, s *suite, p *Point) {
	c, run := s.at(t, p)
	stood := c.rec.pending()
	c.cancel()
	if run != nil {
		if end := c.wait(run); end.Outcome != agent.OutcomeCanceled {
			t.Errorf("the stopped turn ended as %s (%s %s)", end.Outcome, end.Reason, end.Text)
		}
		c.nothingStands(stood)
	}
	if s.Prompts.Text != "" {
		c.ask(s.Prompts.Text, agent.OutcomeCompleted)
	}
	c.close()
	c.nothingStands(nil)
}

func testDeathAt(t *testing.T, s *suite, p *Point) {
	c, run := s.at(t, p)
	stood := c.rec.pending()
	turns := c.rec.Turns()
	c.kill()
	if run != nil {
		if end := c.wait(run); end.Outcome != agent.OutcomeFailed || end.Reason == "" {
			t.Errorf("the agent was killed and its turn ended as %s (%s)", end.Outcome, end.Reason)
		}
	}
	c.dead()
	c.nothingStands(stood)
	if n := c.rec.Turns(); n > turns && run != nil {
		t.Errorf("the death began %d turns", n-turns)
	}
	h := c.rec.NativeHandle()
	live := c.rec.Items()
	c.close()
	if h == nil || s.Prompts.Text == "" {
		return
	}
	if s.Handover != nil {
		onlyKnown(t, live, MirrorRows(t, s.Handover(t), *h, s.deadline()))
	}
	req := s.Open(t)
	req.WorkingDirectory, req.Resume = c.req.WorkingDirectory, h
	next := open(t, s, req)
	next.ask(s.Prompts.Text, agent.OutcomeCompleted)
}

// onlyKnown checks what a killed agent left: no row is open, and none is there
// that was not shown live. Text that was streaming may be lost.
func onlyKnown(t *testing.T, live, left []agent.Item) {
	t.Helper()
	for _, it := range left {
		if it.Open() {
			t.Errorf("the agent is dead, and in the mirror item %s (%s) is open", it.ID, it.Type)
		}
		if it.Type == agent.ItemNotice || it.Type == agent.ItemError {
			continue
		}
		i := slices.IndexFunc(live, func(l agent.Item) bool { return l.ID == it.ID })
		switch {
		case i < 0:
			t.Errorf("in the mirror only: %s", agent.RowBytes(it))
		case live[i].Type != it.Type || live[i].ParentID != it.ParentID || ended(live[i].State) != ended(it.State):
			t.Errorf("a row differs after the death\n  live:   %s\n  mirror: %s", agent.RowBytes(live[i]), agent.RowBytes(it))
		}
	}
}

// ended puts both words for what a death cut off as one: neither the provider nor
// the file saw an end.
func ended(s agent.ItemState) agent.ItemState {
	if s == agent.StateFailed {
		return agent.StateCanceled
	}
	return s
}

func testCloseAt(t *testing.T, s *suite, p *Point) {
	c, run := s.at(t, p)
	stood := c.rec.pending()
	c.close()
	if run != nil {
		if end := c.wait(run); end.Outcome != agent.OutcomeCanceled {
			t.Errorf("the turn was closed in its middle and ended as %s (%s %s)", end.Outcome, end.Reason, end.Text)
		}
	}
	c.nothingStands(stood)
	if c.rec.Exited() == nil {
		t.Error("Exit was never reported")
	}
}
