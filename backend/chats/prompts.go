package chats

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// sendWait is a Send whose answer waits for the ownership probe.
type sendWait struct {
	client string
	answer chan sendAnswer
}

type sendAnswer struct {
	sent Sent
	err  error
}

// limitQueued is how many messages may wait in one chat.
const limitQueued = 500

// send makes a prompt durable and sends it when the chat is idle and ours. The
// answer channel gets exactly one value.
func (c *chat) send(r SendRequest, out chan sendAnswer) {
	if err := c.acceptable(r); err != nil {
		out <- sendAnswer{err: err}
		return
	}
	if len(c.queue) >= limitQueued && c.entry(r.ClientID) == nil {
		out <- sendAnswer{err: Fail(CodeBusy, "%d messages wait in this chat already.", len(c.queue))}
		return
	}
	steer := r.How == "steer" && c.turn.open && c.phase == phRunning
	e, fresh, err := c.m.o.Store.Enqueue(c.ctx, c.id, model.QueueEntry{
		ClientID: r.ClientID, Text: r.Text, Attachments: r.Attachments, State: model.QueueQueued, At: c.wall(), Steer: steer,
	})
	if err != nil {
		out <- sendAnswer{err: typed(err)}
		return
	}
	if !fresh {
		out <- sendAnswer{sent: Sent{State: e.State, Turn: c.turnOf(e.ClientID), Note: e.Error}}
		return
	}
	c.queue = append(c.queue, e)
	if c.held || r.How == "now" {
		// What a person says after a stop comes before what the stop kept back.
		c.toFront(e.ClientID)
		c.held = false
	}
	c.publishQueue()
	c.refresh()
	c.afterSleep()
	switch {
	case steer:
		c.steer(e.ClientID, out)
		return
	case r.How == "now" && c.turn.open && c.phase == phRunning:
		c.stop(false)
	}
	if c.phase == phIdle && c.sendable() && c.next() == e.ClientID {
		c.waiting = append(c.waiting, &sendWait{e.ClientID, out})
		c.pump()
		return
	}
	out <- sendAnswer{sent: Sent{State: model.QueueQueued, Note: c.whyQueued()}}
}

func (c *chat) acceptable(r SendRequest) error {
	switch {
	case r.ClientID == "" || agent.UTF16Len(r.ClientID) > agent.LimitID-16:
		return Fail(CodeInvalid, "A prompt needs an id of its own of at most %d characters.", agent.LimitID-16)
	case r.Text == "" && len(r.Attachments) == 0:
		return Fail(CodeInvalid, "The prompt is empty.")
	case r.How != "" && r.How != "queue" && r.How != "steer" && r.How != "now":
		return Fail(CodeInvalid, "A prompt is sent as queue, steer or now, not %q.", r.How)
	}
	return c.attachable(r.Attachments)
}

// whyQueued says why a prompt waits.
func (c *chat) whyQueued() string {
	switch {
	case c.releasing != nil:
		return "It waits until the session is back from the terminal."
	case !handApp(c.rec.Hand):
		return "It waits: the session is in a terminal."
	case c.ownAsks() > 0:
		return "It waits: the agent asks for an answer first."
	case c.phase == phStuck:
		return "It waits: the agent's last process did not end. Press Stop to try again."
	case c.phase == phShared:
		return "It waits: the agent did not stop. Press Stop again, or restart its server."
	case c.phase != phIdle:
		return "It waits for the running turn."
	}
	return ""
}

func (c *chat) turnOf(client string) int64 {
	if client == c.turn.client {
		return c.turn.n
	}
	return 0
}

// sendable says whether anything may be sent by us at all.
func (c *chat) sendable() bool {
	return handApp(c.rec.Hand) && c.releasing == nil && !c.ending && !c.removed
}

// next is the first prompt that may be sent, "" when there is none.
func (c *chat) next() string {
	if c.held {
		return ""
	}
	for _, e := range c.queue {
		if e.State == model.QueueQueued {
			return e.ClientID
		}
	}
	return ""
}

// pump sends the next prompt of an idle chat, or serves who waits for idle.
func (c *chat) pump() {
	if c.phase != phIdle {
		return
	}
	if c.releasing != nil {
		c.releasing.advance(c)
		return
	}
	if !c.sendable() {
		return
	}
	if c.errand != nil {
		c.step(hapSend)
		return
	}
	if id := c.next(); id != "" {
		c.sending = id
		c.step(hapSend)
	}
}

// startProbe asks the guard whether somebody else writes to the session.
func (c *chat) startProbe() {
	c.probe++
	n, claim, g, before := c.probe, c.claim(), c.m.guard(), c.previous
	if g == nil {
		c.probed()
		return
	}
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		ctx, cancel := context.WithTimeoutCause(c.ctx, 15*time.Second, errors.New("the look at who owns the session took too long"))
		defer cancel()
		var err error
		if before != nil { // our own last process, just ending, is nobody else
			select {
			case <-before.gone:
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		if err == nil {
			err = g.MayWrite(ctx, claim)
		}
		c.post(msg{kind: msgCall, fn: func() {
			if n != c.probe || c.phase != phProbing {
				return
			}
			if err != nil || !c.sendable() || !c.somethingToSend() {
				why := c.whyQueued()
				if err != nil {
					why = err.Error()
					c.publish(eventNotice, agent.Notice{Level: agent.LevelWarning, Text: why})
				}
				c.park(why)
				c.step(hapProbeNo)
				if err == nil || c.releasing != nil {
					c.pump()
				}
				return
			}
			c.probed()
		}})
	}()
}

// probed begins the turn that the probe was for. Where it cannot be stored there
// is none.
func (c *chat) probed() {
	if !c.begin() {
		c.step(hapProbeNo)
		return
	}
	c.step(hapProbeOK)
}

// somethingToSend says whether what the probe was for is still to be done.
func (c *chat) somethingToSend() bool {
	if c.errand != nil {
		return true
	}
	e := c.entry(c.sending)
	return e != nil && e.State == model.QueueQueued
}

// park leaves the prompt in the queue and answers who waits for it.
func (c *chat) park(note string) {
	c.dropErrand(Fail(CodeNotOwner, "It cannot be done now. %s", note))
	c.answer(Sent{State: model.QueueQueued, Note: note}, nil)
	c.sending = ""
}

// answer answers the Send that waits for the prompt being sent.
func (c *chat) answer(s Sent, err error) {
	c.waiting = slices.DeleteFunc(c.waiting, func(w *sendWait) bool {
		if w.client != c.sending {
			return false
		}
		w.answer <- sendAnswer{s, err}
		return true
	})
}

func (c *chat) dropWaiters(err error) {
	for _, w := range c.waiting {
		w.answer <- sendAnswer{err: err}
	}
	c.waiting = nil
}

func (c *chat) entry(client string) *model.QueueEntry {
	for i := range c.queue {
		if c.queue[i].ClientID == client {
			return &c.queue[i]
		}
	}
	return nil
}

// setQueue moves an entry on, in the store first.
func (c *chat) setQueue(client string, state model.QueueState, fault string) {
	e := c.entry(client)
	if e == nil {
		return
	}
	id := c.id
	if err := c.m.o.Store.DoUrgent(c.ctx, func(tx *store.Tx) error { return tx.SetQueueState(id, client, state, fault) }); err != nil {
		c.storeFault(err)
	}
	e.State, e.Error = state, fault
	if state == model.QueueAccepted {
		c.queue = slices.DeleteFunc(c.queue, func(e model.QueueEntry) bool { return e.ClientID == client })
	}
	c.publishQueue()
	c.refresh()
}

// toFront puts an entry before everything that waits.
func (c *chat) toFront(client string) {
	i := slices.IndexFunc(c.queue, func(e model.QueueEntry) bool { return e.ClientID == client })
	first := slices.IndexFunc(c.queue, func(e model.QueueEntry) bool { return e.State != model.QueueSending })
	if i <= first || first < 0 {
		return
	}
	if err := c.m.o.Store.MoveQueued(c.ctx, c.id, client, c.queue[first].ClientID); err != nil {
		c.storeFault(err)
		return
	}
	e := c.queue[i]
	c.queue = slices.Insert(slices.Delete(c.queue, i, i+1), first, e)
}

func (c *chat) publishQueue() { c.publish(eventQueue, shownQueue(c.queue)) }

// edit changes a waiting prompt. One that is being sent is not touched.
func (c *chat) edit(q QueueEdit) ([]model.QueueEntry, error) {
	e := c.entry(q.ClientID)
	if e == nil {
		return nil, Fail(CodeNotFound, "This message is not waiting any more.")
	}
	if e.State == model.QueueSending || (c.sending == q.ClientID && c.phase != phIdle && c.phase != phProbing) {
		return nil, Fail(CodeConflict, "This message is being sent and cannot be changed any more.")
	}
	st := c.m.o.Store
	var err error
	switch {
	case q.Remove:
		err = st.RemoveQueued(c.ctx, c.id, q.ClientID)
	case q.Retry:
		if e.State == model.QueueFailed || e.State == model.QueueUnknown {
			err = st.SetQueueState(c.ctx, c.id, q.ClientID, model.QueueQueued, "")
		}
		c.held = false
	case q.Move:
		err = st.MoveQueued(c.ctx, c.id, q.ClientID, q.Before)
	case q.Text != "" && slices.ContainsFunc(shownQueue(c.queue), func(s model.QueueEntry) bool { return s.ClientID == q.ClientID && s.Cut > 0 }):
		return nil, Fail(CodeConflict, "This message is too long to be changed here: only its beginning is shown. Take it out and send it anew.")
	case q.Text != "":
		err = st.EditQueued(c.ctx, c.id, q.ClientID, q.Text)
	default:
		return nil, Fail(CodeInvalid, "Nothing to change was named.")
	}
	if err != nil {
		return nil, typed(err)
	}
	if c.queue, err = st.Queue(c.ctx, c.id); err != nil {
		return nil, typed(err)
	}
	c.publishQueue()
	c.refresh()
	c.pump()
	return shownQueue(c.queue), nil
}
