package chats

import (
	"context"
	"errors"
	"reflect"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// When says how a release goes about a running turn.
type When string

const (
	WhenNow       When = "now"       // idle only
	WhenAfterTurn When = "afterTurn" // when the running turn ended
	WhenStop      When = "stop"      // stop the turn first
)

// Released is what a chat knew when it let go of its session.
type Released struct {
	ChatID, Harness       string
	Kind                  agent.Kind
	Handle                agent.Handle
	Cwd                   string
	Model, Mode, Thinking string
	Pid                   int // of the agent that lives or was let go of, 0: none
	// Own are the processes of ours that may still be seen to have the session:
	// the living agent and one that is just ending. Starting says that one is
	// being started whose process is not known yet.
	Own      []int
	Starting bool
	Applied  agent.Position
	Hand     model.Hand
}

// Letting is how a chat lets go of its session. Its functions are called on the
// chat's goroutine and may be nil.
type Letting struct {
	When When
	// Hand is the chat's from when the agent is let go of. Waiting is its hand
	// until then while a turn still runs; without a state it is Hand at once.
	Hand, Waiting model.Hand
	// Begun tells that it was begun and whether a turn is waited for.
	Begun func(waits bool)
	// About is called with the agent's pid (0: none lives) right before it is let
	// go of.
	About func(pid int)
}

// ErrWithdrawn ends a release that a person took back while it waited.
var ErrWithdrawn = errors.New("the hand-over was withdrawn")

// release is a session on its way out of the app.
type release struct {
	Letting
	pid    int
	closed bool
	out    chan releaseAnswer // buffered
	ended  bool
}

type releaseAnswer struct {
	r   Released
	err error
}

// advance goes on with a release: wait for idle, let go, wait until the agent
// is gone.
func (r *release) advance(c *chat) {
	if r.ended || c.phase != phIdle || c.turn.open {
		return
	}
	if !r.closed {
		if c.ending && c.rec.Hand.Pending != nil {
			return // the next host tells that it did not come to it
		}
		r.closed = true
		c.handed(r.Hand)
		c.saveRecord()
		c.refresh()
		if c.live != nil {
			r.pid = c.live.ready.Pid
		}
		if r.About != nil {
			r.About(r.pid)
		}
		c.forget()
	}
	l := c.previous
	if l == nil {
		r.finish(c, nil)
		return
	}
	select {
	case <-l.gone:
		if l.fault != nil {
			r.finish(c, Fail(CodeBusy, "The agent's process could not be ended: %v", l.fault))
			return
		}
		r.finish(c, nil)
	default: // letGo comes back
	}
}

func (r *release) finish(c *chat, err error) {
	if r.ended {
		return
	}
	r.ended = true
	rel := c.inspect()
	rel.Pid = r.pid
	r.out <- releaseAnswer{rel, err}
}

func (c *chat) inspect() Released {
	rel := Released{ChatID: c.id, Harness: c.rec.Harness, Kind: c.rec.Kind, Cwd: c.rec.Cwd, Model: c.rec.Model,
		Mode: c.rec.Mode, Thinking: c.rec.Thinking, Applied: c.rec.Applied, Hand: c.rec.Hand}
	if c.rec.Handle != nil {
		rel.Handle = *c.rec.Handle
	}
	if l := c.live; l != nil {
		rel.Pid = l.ready.Pid
		rel.Starting = l.ready.Pid == 0
	}
	for _, l := range []*link{c.live, c.previous} {
		if l != nil && l.ready.Pid > 0 {
			rel.Own = append(rel.Own, l.ready.Pid)
		}
	}
	return rel
}

// startRelease begins a release, or says why not.
func (c *chat) startRelease(l Letting, out chan releaseAnswer) {
	fail := func(err error) { out <- releaseAnswer{err: err} }
	switch {
	case c.releasing != nil:
		fail(Fail(CodeBusy, "This chat is on its way to a terminal already."))
		return
	case c.rec.Kind == agent.KindConfined || c.rec.Handle == nil:
		fail(Fail(CodeUnsupported, "A confined chat keeps no session of the agent and cannot be continued in a terminal."))
		return
	case !handApp(c.rec.Hand):
		fail(Fail(CodeNotOwner, "The session is not the app's now."))
		return
	case l.When == WhenNow && (c.busy() || c.ownAsks() > 0):
		fail(Fail(CodeBusy, "The agent is working. Continue after this turn, or stop it first."))
		return
	case c.phase == phStuck || c.phase == phShared:
		fail(Fail(CodeBusy, "%s", c.owedErr))
		return
	}
	c.releasing = &release{Letting: l, out: out}
	waits := c.busy() && l.Waiting.State != ""
	if waits {
		c.handed(l.Waiting)
	} else {
		c.handed(l.Hand)
	}
	c.saveRecord()
	c.refresh()
	if l.Begun != nil {
		l.Begun(waits)
	}
	if l.When == WhenStop && c.busy() {
		c.stop(false)
	}
	c.releasing.advance(c)
}

// Release lets go of a chat's session: it waits as l.When says, keeps the queue
// back, closes the agent and returns once its process group is gone. The chat
// stays in the hand's state until SetHand, also when ctx ends the waiting.
// ErrWithdrawn when a person took it back while it waited.
func (m *Manager) Release(ctx context.Context, chatID string, l Letting) (Released, error) {
	c, err := m.chat(ctx, chatID)
	if err != nil {
		return Released{}, err
	}
	out := make(chan releaseAnswer, 1)
	if err := c.do(ctx, func() { c.startRelease(l, out) }); err != nil {
		return Released{}, err
	}
	select {
	case a := <-out:
		return a.r, a.err
	case <-c.done:
		return Released{}, Fail(CodeNotFound, "The chat was closed.")
	case <-ctx.Done():
		return Released{}, context.Cause(ctx)
	}
}

// Withdraw takes back a release that waits for the running turn; the chat is the
// app's as if nothing had been asked. ErrConflict when none waits any more.
func (m *Manager) Withdraw(ctx context.Context, chatID string) error {
	return m.with(ctx, chatID, func(c *chat) error {
		if c.rec.Hand.Pending == nil {
			return Fail(CodeConflict, "No hand-over waits for the end of a turn any more.")
		}
		if c.releasing != nil {
			c.releasing.finish(c, ErrWithdrawn)
		}
		return c.setHand(model.Hand{State: model.HandApp, Since: c.wall()}, nil)
	})
}

// SetHand says where the session is now. HandApp gives it back to the chat,
// whose queue is then sent.
func (m *Manager) SetHand(ctx context.Context, chatID string, hand model.Hand) error {
	return m.with(ctx, chatID, func(c *chat) error {
		return c.setHand(hand, nil)
	})
}

// Reattach gives a session back to its chat under its newest id.
func (m *Manager) Reattach(ctx context.Context, chatID string, tip agent.Handle, hand model.Hand) error {
	return m.with(ctx, chatID, func(c *chat) error {
		return c.setHand(hand, &tip)
	})
}

func (c *chat) setHand(hand model.Hand, tip *agent.Handle) error {
	if handApp(hand) {
		c.releasing = nil
		c.mirrored = ""
		c.askedElsewhere(false)
	} else if c.releasing != nil && c.releasing.ended {
		c.releasing = nil
	}
	if tip != nil {
		c.named(*tip)
	}
	was := c.rec.Hand
	c.handed(hand)
	if !reflect.DeepEqual(c.rec.Hand, was) {
		rec := c.record()
		if err := c.m.o.Store.DoUrgent(c.ctx, func(tx *store.Tx) error { return tx.PutChat(rec) }); err != nil {
			return typed(err)
		}
	}
	c.refresh()
	c.pump()
	return nil
}

// handed takes a new hand. Branches are the transcript's, whoever holds it: what
// the mirror told of them stays.
func (c *chat) handed(hand model.Hand) {
	hand.Branches = c.rec.Hand.Branches
	c.rec.Hand = hand
}

// Inspect tells what handing a chat over needs to know.
func (m *Manager) Inspect(ctx context.Context, chatID string) (Released, bool, error) {
	var rel Released
	var busy bool
	err := m.with(ctx, chatID, func(c *chat) error {
		rel, busy = c.inspect(), c.busy() || c.ownAsks() > 0
		return nil
	})
	return rel, busy, err
}
