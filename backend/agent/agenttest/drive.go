package agenttest

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// chat is an opened session with the host's part played by a test.
type chat struct {
	t        *testing.T
	cfg      *suite
	provider agent.ChatProvider
	req      agent.OpenRequest
	rec      *Recorder
	session  agent.ChatSession
	group    int // process group of the agent, 0 unknown
	closed   bool
}

var lastClient atomic.Int64

func clientID() string { return "client-" + strconv.FormatInt(lastClient.Add(1), 10) }

// open opens a chat and, at the end of the test, closes it and reports every
// broken rule and every process that is left.
func open(t *testing.T, cfg *suite, req agent.OpenRequest) *chat {
	t.Helper()
	c := &chat{t: t, cfg: cfg, provider: cfg.New(t), req: req, rec: NewRecorder()}
	ctx, cancel := c.ctx()
	defer cancel()
	s, err := c.provider.Open(ctx, req, c.rec)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	c.session = s
	t.Cleanup(c.finish)
	ready := c.rec.ReadyEvents()
	if len(ready) != 1 {
		t.Fatalf("Open returned and Ready came %d times, not once", len(ready))
	}
	if pid := ready[0].Pid; pid > 0 {
		c.group = groupOf(pid)
	}
	return c
}

func (c *chat) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), c.cfg.deadline())
}

func (c *chat) finish() {
	c.t.Helper()
	if !c.closed {
		c.close()
	}
	for _, v := range c.rec.Broken() {
		c.cfg.note(partOf(c.t), v.Rule, v.Text)
	}
}

// close closes the session and checks that nothing of it runs.
func (c *chat) close() {
	c.t.Helper()
	c.closed = true
	ctx, cancel := c.ctx()
	defer cancel()
	if err := c.session.Close(ctx); err != nil {
		c.t.Errorf("Close: %v", err)
	}
	if c.group > 0 {
		if left := members(c.group); len(left) > 0 {
			c.cfg.note(partOf(c.t), RuleProcesses, fmt.Sprintf("these processes of the agent's group are left: %v", left))
		}
	}
	if err := c.session.Close(ctx); err != nil {
		c.cfg.note(partOf(c.t), RuleProcesses, fmt.Sprintf("Close again: %v", err))
	}
}

// turn is a prompt on its way.
type turn struct {
	end  agent.TurnEnd
	err  error
	done chan struct{}
}

// prompt sends a prompt and returns at once.
func (c *chat) prompt(ctx context.Context, text string, with ...agent.Attachment) *turn {
	p := &turn{done: make(chan struct{})}
	c.rec.BeginPrompt()
	go func() {
		defer close(p.done)
		p.end, p.err = c.session.Prompt(ctx, agent.Prompt{Text: text, Attachments: with, ClientID: clientID()})
		c.rec.EndPrompt(p.end, p.err)
	}()
	return p
}

// wait returns at the end of the turn.
func (c *chat) wait(p *turn) agent.TurnEnd {
	c.t.Helper()
	select {
	case <-p.done:
	case <-time.After(c.cfg.deadline()):
		c.t.Fatalf("the turn did not end\nrows: %s", rowsText(c.rec.Items()))
	}
	if p.err != nil {
		c.t.Fatalf("Prompt: %v", p.err)
	}
	return p.end
}

// ask runs a whole turn and checks its outcome.
func (c *chat) ask(text string, want agent.Outcome) agent.TurnEnd {
	c.t.Helper()
	end := c.wait(c.prompt(context.Background(), text))
	if end.Outcome != want {
		c.t.Fatalf("the turn ended as %s (%s %s), not %s", end.Outcome, end.Reason, end.Text, want)
	}
	return end
}

// running starts a prompt and waits for its first text.
func (c *chat) running(text string) *turn {
	c.t.Helper()
	before := c.rec.Chunks()
	p := c.prompt(context.Background(), text)
	c.rec.MustWait(c.t, c.cfg.deadline(), "the first text", func() bool { return c.rec.Chunks() > before || closed(p.done) })
	if closed(p.done) {
		c.t.Fatalf("the turn ended before it could be looked at: %+v %v", p.end, p.err)
	}
	return p
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (c *chat) cancel() {
	c.t.Helper()
	ctx, cancel := c.ctx()
	defer cancel()
	if err := c.session.Cancel(ctx); err != nil {
		c.t.Fatalf("Cancel: %v", err)
	}
}

// pending waits for the n-th approval (from 0) to be asked.
func (c *chat) pending(n int) Asked {
	c.t.Helper()
	c.rec.MustWait(c.t, c.cfg.deadline(), "an approval", func() bool { return len(c.rec.Approvals()) > n })
	return c.rec.Approvals()[n]
}
