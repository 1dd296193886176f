package chats

import (
	"context"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// dyingBound is how long the end of a turn may follow the exit of its process:
// the turn's own end knows better why.
const dyingBound = 300 * time.Millisecond

// stop owes the running turn a cancel. hold keeps the queue back until a person
// goes on.
func (c *chat) stop(hold bool) Stopped {
	if hold && c.phase != phIdle && len(c.queue) > 0 {
		c.held = true
	}
	c.step(hapStop)
	return Stopped{Turn: c.phase.public(), Err: c.owedErr}
}

// cancel owes one Cancel to the agent until it returns nil. Each one that was
// issued is awaited, and only the newest may keep the gate closed.
func (c *chat) cancel() {
	l := c.live
	c.cancels++
	n := c.cancels
	c.owedErr = ""
	c.call(l, func(ctx context.Context) (any, error) { return nil, l.session.Cancel(ctx) }, func(_ any, err error) {
		switch {
		case l != c.live:
		case err == nil:
			c.step(hapCancelOK)
		case n == c.cancels:
			c.owedErr = "The agent could not be stopped: " + err.Error()
			next := " Press Stop again, or its process is ended in a moment."
			if len(c.shared()) > 0 {
				next = " Press Stop again, or restart its server."
			}
			c.publish(eventNotice, agent.Notice{Level: agent.LevelWarning, Text: c.owedErr + next})
			c.step(hapCancelFailed)
		}
	})
}

// bound arms the bound of stopping (or dying).
func (c *chat) bound(d time.Duration) {
	c.stopEnds = 0
	if c.phase != phDying && len(c.shared()) == 0 {
		c.stopEnds = c.wall() + d.Milliseconds()
	}
	c.deadline(dlBound, c.now().Add(d))
}

// pastBound goes on with what did not stop in time.
func (c *chat) pastBound() {
	if c.phase.public() == model.TurnStopping && len(c.shared()) > 0 {
		c.step(hapShared)
		return
	}
	c.step(hapBound)
}

// shared lists what else the agent's server serves; empty: it is this chat's.
func (c *chat) shared() []string {
	s, ok := c.session().(agent.Sharer)
	if !ok {
		return nil
	}
	v, err := safely(func() (any, error) { return s.Shared(), nil })
	if err != nil {
		return []string{err.Error()} // what cannot be told is not ended
	}
	return v.([]string)
}

// kill ends the process group of a turn that did not stop within its bound.
func (c *chat) kill() {
	l := c.live
	if l == nil {
		c.step(hapClosed)
		return
	}
	c.closing(l, func() error { return c.m.closeSession(l) })
}

// restart ends the server that other chats or terminals share, because a person
// said so.
func (c *chat) restart() {
	l := c.live
	c.closing(l, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), c.m.o.CloseBound)
		defer cancel()
		_, err := safely(func() (any, error) { return nil, l.session.(agent.Sharer).RestartServer(ctx) })
		return err
	})
}

// closing ends the agent beside the chat's goroutine and steps by how that went.
func (c *chat) closing(l *link, end func() error) {
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		err := end()
		c.post(msg{kind: msgCall, fn: func() {
			if l != c.live {
				return
			}
			if err != nil {
				c.owedErr = "The agent's process could not be ended: " + err.Error() + ". Press Stop to try again."
				c.step(hapCloseFailed)
				return
			}
			c.step(hapClosed)
		}})
	}()
}

// stopStep is how far the stop has got; nil when nothing is being stopped.
func (c *chat) stopStep() *model.Stopping {
	s := model.Stopping{Error: c.owedErr, EndsAt: c.stopEnds}
	switch c.phase {
	case phAborting, phCancelling, phAwaitEnd, phDraining:
		s.Step = model.StopAsked
	case phOwed, phDrainOwed:
		s.Step = model.StopOwed
	case phKilling:
		s.Step, s.EndsAt = model.StopEnding, 0
	case phStuck:
		s.Step, s.EndsAt = model.StopStuck, 0
	case phShared:
		s.Step, s.EndsAt, s.Ends = model.StopShared, 0, c.shared()
	default:
		return nil
	}
	return &s
}

// noteStop publishes how far the stop has got when that changed.
func (c *chat) noteStop() {
	s, was := c.stopStep(), c.stopping
	switch {
	case s == nil && was == nil:
		return
	case s != nil && was != nil && s.Step == was.Step && s.Error == was.Error && s.EndsAt == was.EndsAt:
		return // the same step
	case s != nil:
		s.At = c.wall()
	}
	c.stopping = s
	c.publishDetail()
}

// RestartServer ends the server of a chat whose turn did not stop, and with it
// everything else the server serves. It is a person's to do.
func (m *Manager) RestartServer(ctx context.Context, who Caller, id string) (s Stopped, err error) {
	if err := m.o.MayAnswer(who); err != nil {
		return Stopped{}, err
	}
	err = m.with(ctx, id, func(c *chat) error {
		if c.phase != phShared {
			return Fail(CodeConflict, "The agent's server does not have to be restarted.")
		}
		c.step(hapRestart)
		s = Stopped{Turn: c.phase.public(), Err: c.owedErr}
		return nil
	})
	return s, err
}
