package chats

import (
	"context"
	"errors"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// steering is a message on its way into a running turn.
type steering struct {
	link *link
	out  chan sendAnswer
}

// steer gives the prompt to the running turn. Only "unavailable" falls back to
// stop and replace; any other failure is shown and never tried again.
func (c *chat) steer(client string, out chan sendAnswer) {
	s, ok := c.live.session.(agent.Steerer)
	if !ok {
		out <- sendAnswer{sent: Sent{State: model.QueueQueued, Note: "This agent takes no message in the middle of a turn; it is sent after it."}}
		return
	}
	c.setQueue(client, model.QueueSending, "")
	e := *c.entry(client)
	l, n := c.live, c.turn.n
	prompt := c.promptOf(e)
	way := &steering{l, out}
	c.steering[client] = way
	c.call(l, func(ctx context.Context) (any, error) {
		p, err := prompt()
		if err != nil {
			return nil, err
		}
		return nil, s.Steer(ctx, p)
	}, func(_ any, err error) {
		if c.steering[client] != way {
			return // given up
		}
		delete(c.steering, client)
		e := c.entry(client)
		switch {
		case e == nil:
			out <- sendAnswer{sent: Sent{State: model.QueueAccepted, Turn: n}} // the agent said so before
		case err == nil:
			c.steered(e, n)
			out <- sendAnswer{sent: Sent{State: model.QueueAccepted, Turn: n}}
		case errors.Is(err, agent.ErrSteerUnavailable):
			c.setQueue(client, model.QueueQueued, "")
			c.toFront(client)
			out <- sendAnswer{sent: Sent{State: model.QueueQueued, Note: "The turn is stopped and the message sent in its place."}}
			if c.turn.open && c.turn.n == n && c.phase == phRunning {
				c.stop(false)
			}
			c.pump()
		default:
			text := "The agent did not take the message: " + err.Error()
			c.setQueue(client, model.QueueFailed, text)
			out <- sendAnswer{sent: Sent{State: model.QueueFailed, Note: text}}
		}
	})
}

// unsteered ends the wait for messages that went to an agent which is gone and
// never said whether it took them.
func (c *chat) unsteered(l *link) {
	for client, way := range c.steering {
		if way.link != l {
			continue
		}
		delete(c.steering, client)
		const text = "The agent ended before it said whether it took the message."
		c.setQueue(client, model.QueueUnknown, text)
		way.out <- sendAnswer{sent: Sent{State: model.QueueUnknown, Note: text}}
		c.lookAgain = true
	}
	c.lookUp()
}

// steered shows an accepted message in the turn it went to.
func (c *chat) steered(e *model.QueueEntry, n int64) {
	if c.userRow(agent.Item{ClientID: e.ClientID}) == "" {
		row := c.userItem(e)
		if !c.turn.open || c.turn.n != n {
			delete(c.tl.lines, row.ID)
			row.Turn = n
		}
		c.putRows([]model.Row{row})
	}
	c.setQueue(e.ClientID, model.QueueAccepted, "")
}

// delivered takes the fate of a message handed to the agent in a turn.
func (c *chat) delivered(d delivery) {
	e := c.entry(d.clientID)
	switch d.state {
	case agent.DeliveryAccepted, agent.DeliveryStarted, agent.DeliveryCompleted:
		if d.clientID == c.turn.client {
			c.evidence()
			return
		}
		if d.state != agent.DeliveryAccepted {
			c.read[d.clientID] = true
		}
		if e != nil && e.State == model.QueueSending {
			c.steered(e, c.turn.n)
		}
	case agent.DeliveryDiscarded:
		switch {
		case d.clientID == c.turn.client:
		case e != nil && e.State == model.QueueSending:
			c.setQueue(d.clientID, model.QueueFailed, "The agent discarded the message.")
		case e == nil && !c.read[d.clientID]:
			c.unread(d.clientID)
		}
	}
}

// unread puts a message back that the agent had taken and then gave up without
// having read it, because it was stopped: its words are not lost, and sending
// them again is a person's decision.
func (c *chat) unread(client string) {
	row, err := c.m.o.Store.Row(c.ctx, c.id, c.tl.byUser[client])
	if err != nil || row.Type != agent.ItemUser {
		return
	}
	id := c.id
	e := model.QueueEntry{ClientID: client, Text: row.Text, Attachments: row.Attachments, State: model.QueueFailed, At: row.At,
		Error: "The agent was stopped before it read this message."}
	if err := c.m.o.Store.Requeue(c.ctx, id, e); err != nil {
		if !errors.Is(err, store.ErrNotFound) {
			c.storeFault(err)
		}
		return
	}
	c.queue = append(c.queue, e)
	c.publishQueue()
	c.refresh()
}
