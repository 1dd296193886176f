package chats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// link is one life of the chat's agent, from Open to the end of its process
// group. The next one opens only when this one is gone.
type link struct {
	n       uint64
	session agent.ChatSession
	ctx     context.Context
	cancel  context.CancelCauseFunc
	calls   sync.WaitGroup // Prompt, Cancel, setters in flight
	opened  chan struct{}  // Open returned
	gone    chan struct{}  // closed and every call returned
	fault   error          // Close failed; read after gone
	ready   agent.Ready
	exit    *agent.Exit
	rebuilt bool // the context was rebuilt from our rows
}

// session is the living, opened session; nil when there is none.
func (c *chat) session() agent.ChatSession {
	if c.live == nil {
		return nil
	}
	select {
	case <-c.live.opened:
		return c.live.session
	default:
		return nil
	}
}

// call runs one call to the agent beside the chat's goroutine and hands what it
// returns to then, on the chat's goroutine.
func (c *chat) call(l *link, do func(ctx context.Context) (any, error), then func(any, error)) {
	l.calls.Add(1)
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		v, err := safely(func() (any, error) { return do(l.ctx) })
		c.post(msg{kind: msgCall, fn: func() { then(v, err) }})
		l.calls.Done()
	}()
}

// safely turns a panic of a provider into an error: one bad agent must not end
// the host.
func safely(do func() (any, error)) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the provider failed: %v", p)
		}
	}()
	return do()
}

// open starts the agent for the turn that has begun, or goes on with the living
// one.
func (c *chat) open() {
	if c.session() != nil && c.live.exit == nil && !(c.overslept() && c.resumable()) {
		c.step(hapOpened)
		return
	}
	c.forget()
	c.links++
	req := c.request()
	l := &link{n: c.links, rebuilt: req.rebuilt, opened: make(chan struct{}), gone: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(c.ctx)
	c.live = l
	before := c.previous
	h, enabled, ok := c.m.o.Harnesses.Harness(c.rec.Harness)
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		session, err := safely(func() (any, error) {
			switch {
			case !ok || h.Provider == nil:
				return nil, Fail(CodeUnavailable, "No agent %q is known here.", req.harness)
			case !enabled:
				return nil, Fail(CodeUnavailable, "%s is switched off in Settings.", h.Identity.DisplayName)
			}
			if before != nil {
				select {
				case <-before.gone:
				case <-l.ctx.Done():
					return nil, context.Cause(l.ctx)
				}
				if err := c.m.lastTry(before); err != nil {
					return nil, Fail(CodeUnavailable, "The agent's previous process did not end: %v. A second one is not started.", err)
				}
			}
			if err := req.complete(l.ctx, c.m, h); err != nil {
				return nil, err
			}
			s, err := h.Provider.Open(l.ctx, req.OpenRequest, &feed{c: c, l: l})
			if err != nil {
				return nil, explain(l.ctx, h, err)
			}
			return s, nil
		})
		if s, ok := session.(agent.ChatSession); ok && err == nil {
			l.session = s
		}
		close(l.opened)
		c.post(msg{kind: msgCall, fn: func() { c.opened(l, err) }})
	}()
}

func (c *chat) opened(l *link, err error) {
	if l != c.live {
		return // abandoned: forget has its own watcher
	}
	if err != nil || l.session == nil {
		c.turn.end = openEnd(err)
		c.step(hapOpenFailed)
		return
	}
	c.awake = c.asleep()
	if l.exit != nil { // it died before the first prompt
		c.turn.end = agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "crashed", Text: exitText(*l.exit)}
		c.step(hapOpenFailed)
		return
	}
	if l.rebuilt {
		c.putRows([]model.Row{c.addRow(agent.Item{ID: "rebuilt-" + itoa(c.turn.n), Type: agent.ItemNotice, Level: agent.LevelInfo, At: c.wall(),
			Text: "The agent had to be started again; its context was rebuilt from the end of this conversation."})})
	}
	c.step(hapOpened)
}

// prompt hands the prompt of the turn to the agent.
func (c *chat) prompt() {
	if c.errand != nil {
		c.runErrand()
		return
	}
	l, n := c.live, c.turn.n
	e := c.entry(c.sending)
	if e == nil { // cannot be: a prompt that is being sent is not taken away
		c.turn.end = agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: "The prompt is gone."}
		c.step(hapRefused)
		return
	}
	prompt := c.promptOf(*e)
	c.listen()
	c.expectAnswer()
	c.call(l, func(ctx context.Context) (any, error) {
		p, err := prompt()
		if err != nil {
			return nil, err
		}
		return l.session.Prompt(ctx, p)
	}, func(v any, err error) {
		if l != c.live || n != c.turn.n {
			return
		}
		if err != nil {
			c.turn.end = agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "refused", Text: "The agent did not take the prompt: " + err.Error()}
			c.step(hapRefused)
			return
		}
		c.turn.end = sane(v.(agent.TurnEnd))
		c.evidence()
		c.step(hapEnded)
	})
}

// forget lets go of the agent: it is closed, and every call to it awaited, in
// the background. What it still reports is dropped.
func (c *chat) forget() {
	l := c.live
	if l == nil {
		return
	}
	c.live = nil
	c.withdrawLink(l)
	c.previous = l
	claim := c.claim()
	claim.Pid = l.ready.Pid
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		l.fault = c.m.closeSession(l)
		l.cancel(context.Canceled)
		<-l.opened
		if l.session != nil && l.fault != nil {
			l.fault = c.m.closeSession(l)
		}
		l.awaitCalls(c.m.o.CloseBound)
		close(l.gone)
		c.post(msg{kind: msgCall, fn: func() { c.letGo(l, claim) }})
	}()
}

func (c *chat) letGo(l *link, claim Claim) {
	if c.previous == l && l.fault == nil {
		c.previous = nil
	}
	c.unsteered(l)
	if g := c.m.guard(); g != nil && l.fault == nil && c.phase == phIdle && c.live == nil {
		g.LetGo(claim)
	}
	if r := c.releasing; r != nil {
		r.advance(c)
	}
}

// awaitCalls waits for every call in flight; a closed session makes them
// return. One that breaks this rule is left behind after a bound, for its
// process is gone already.
func (l *link) awaitCalls(bound time.Duration) {
	all := make(chan struct{})
	go func() { l.calls.Wait(); close(all) }()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	}
}

// closeSession closes within its bound; a start that is under way is aborted
// and awaited first.
func (m *Manager) closeSession(l *link) error {
	select {
	case <-l.opened:
	default:
		l.cancel(context.Canceled)
		<-l.opened
	}
	if l.session == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), m.o.CloseBound, errors.New("its processes did not end in time"))
	defer cancel()
	_, err := safely(func() (any, error) { return nil, l.session.Close(ctx) })
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lastTry closes a session again whose first close failed.
func (m *Manager) lastTry(l *link) error {
	if l.fault == nil {
		return nil
	}
	return m.closeSession(l)
}

func (c *chat) claim() Claim {
	cl := Claim{ChatID: c.id, Harness: c.rec.Harness, Handle: c.rec.Handle}
	if c.live != nil {
		cl.Pid = c.live.ready.Pid
	}
	return cl
}

func handApp(h model.Hand) bool { return h.State == "" || h.State == model.HandApp }
