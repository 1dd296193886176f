package chats

import (
	"context"
	"errors"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/store"
)

// feed is what a provider reports to. It only posts into the chat's mailbox;
// the order of the calls is the order of the conversation.
type feed struct {
	c *chat
	l *link
}

var _ agent.Events = (*feed)(nil)

type (
	failure  struct{ reason, detail string }
	acked    struct{ id string }
	delivery struct {
		clientID string
		state    agent.Delivery
	}
	titled string
)

func (f *feed) event(v any) { f.c.post(msg{kind: msgEvent, link: f.l, v: v}) }

func (f *feed) Ready(r agent.Ready)                        { f.event(r) }
func (f *feed) Item(it agent.Item)                         { f.c.post(msg{kind: msgItem, link: f.l, v: it}) }
func (f *feed) Append(id, t string)                        { f.c.post(msg{kind: msgAppend, link: f.l, id: id, text: t}) }
func (f *feed) ApprovalAcked(id string)                    { f.event(acked{id}) }
func (f *feed) Usage(u agent.Usage)                        { f.event(u) }
func (f *feed) Title(t string)                             { f.event(titled(t)) }
func (f *feed) Catalog(k agent.Catalog)                    { f.event(k) }
func (f *feed) Handle(h agent.Handle)                      { f.event(h) }
func (f *feed) Settings(s agent.Settings)                  { f.event(s) }
func (f *feed) Turn(t agent.TurnEvent)                     { f.event(t) }
func (f *feed) Failure(reason, detail string)              { f.event(failure{reason, detail}) }
func (f *feed) Exit(e agent.Exit)                          { f.event(e) }
func (f *feed) Delivery(clientID string, s agent.Delivery) { f.event(delivery{clientID, s}) }

// Approval blocks until a person answers, the turn ends or ctx does.
func (f *feed) Approval(ctx context.Context, a agent.Approval) agent.ApprovalAnswer {
	w := &asker{request: a, answer: make(chan agent.ApprovalAnswer, 1)}
	if !f.c.post(msg{kind: msgEvent, link: f.l, v: w}) {
		return agent.ApprovalAnswer{Canceled: true}
	}
	select {
	case ans := <-w.answer:
		return ans
	case <-f.c.done:
		return agent.ApprovalAnswer{Canceled: true}
	case <-ctx.Done():
	}
	// The answer may have won in this very moment: then the card already says
	// "sent" and the agent must get it.
	settled := make(chan agent.ApprovalAnswer, 1)
	var elsewhere *agent.AnsweredElsewhere
	errors.As(context.Cause(ctx), &elsewhere)
	f.c.post(msg{kind: msgCall, fn: func() { settled <- f.c.unask(w, elsewhere) }})
	select {
	case ans := <-settled:
		return ans
	case <-f.c.done:
		return agent.ApprovalAnswer{Canceled: true}
	}
}

// stale handles what a link reports that is not the chat's any more: dropped,
// but an asker waits for an answer.
func (c *chat) stale(m msg) {
	if w, ok := m.v.(*asker); ok {
		w.reply(agent.ApprovalAnswer{Canceled: true})
	}
}

// event handles everything of the agent that is no row.
func (c *chat) event(v any) {
	switch e := v.(type) {
	case agent.Ready:
		c.ready(e)
	case *asker:
		c.ask(e)
	case acked:
		c.acked(e.id)
	case agent.Usage:
		c.rec.Usage = &e
		c.publish(eventUsage, e)
		c.saveRecord()
		c.spent(e)
	case titled:
		if t := trimTitle(string(e)); t != "" && !c.extra.Titled && t != c.rec.Title {
			c.rec.Title = t
			c.saveRecord()
			c.refresh()
		}
	case agent.Catalog:
		c.catalog = &e
		c.offered(e)
		c.publish(eventCatalog, e)
	case agent.Handle:
		c.named(e)
	case agent.Settings:
		c.inForce(e)
	case agent.TurnEvent:
		c.agentTurn(e)
	case delivery:
		c.delivered(e)
	case failure:
		c.publish(eventNotice, agent.Notice{Level: agent.LevelWarning, Text: failureText(e)})
	case agent.Exit:
		if c.live.exit == nil {
			c.live.exit = &e
			c.step(hapExit)
		}
	}
}

func failureText(f failure) string {
	if f.detail == "" {
		return "The agent reported a fault: " + f.reason + "."
	}
	return "The agent reported a fault: " + f.detail
}

func (c *chat) ready(r agent.Ready) {
	c.live.ready = r
	c.rec.Agent = r.Agent
	c.rec.Abilities = r.Abilities
	if r.Handle != nil {
		c.named(*r.Handle)
	}
	c.inForce(agent.Settings{Model: r.Model, Mode: r.Mode, Thinking: r.Thinking})
	c.saveRecord()
	c.refresh()
	c.publishDetail()
}

// named takes the native id; an older one stays as an alias of the lineage.
func (c *chat) named(h agent.Handle) {
	old := c.rec.Handle
	if h.Cwd == "" {
		h.Cwd = c.rec.Cwd
	}
	if h.Harness == "" {
		h.Harness = c.rec.Harness
	}
	c.rec.Handle = &h
	if old != nil && old.NativeID != h.NativeID && old.NativeID != "" {
		c.alias(old.NativeID, h.NativeID)
	}
	c.saveRecord()
	c.refresh()
	if old == nil || old.NativeID != h.NativeID {
		c.claimNamed()
	}
}

// claimNamed tells the guard of a session that was not known when the prompt was
// allowed: from now on it is leased, and a second writer is seen. When somebody
// has it already the guard sets the chat's hand.
func (c *chat) claimNamed() {
	g, claim := c.m.guard(), c.claim()
	if g == nil || claim.Handle.NativeID == "" {
		return
	}
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		ctx, cancel := context.WithTimeout(c.ctx, 15*time.Second)
		defer cancel()
		if err := g.MayWrite(ctx, claim); err != nil && ctx.Err() == nil {
			c.m.o.Log.Warn("a session that has just begun is somebody else's", "chat", c.id, "err", err)
		}
		c.post(msg{kind: msgCall, fn: func() {
			if c.live == nil && c.previous == nil && c.phase == phIdle { // the agent has ended meanwhile
				g.LetGo(claim)
			}
		}})
	}()
}

func (c *chat) alias(old, tip string) {
	for _, a := range c.rec.Aliases {
		if a == old {
			return
		}
	}
	aliases := make([]string, 0, len(c.rec.Aliases)+1)
	c.rec.Aliases = append(append(aliases, c.rec.Aliases...), old)
	harness := c.rec.Harness
	if c.rec.Handle != nil && c.rec.Handle.Harness != "" {
		harness = c.rec.Handle.Harness // whose session it is
	}
	_ = c.m.o.Store.Send(func(tx *store.Tx) error { return tx.Alias(harness, old, tip) }, nil)
}

// inForce takes what the agent now uses.
func (c *chat) inForce(s agent.Settings) {
	changed := false
	for dst, v := range map[*string]string{&c.rec.Model: s.Model, &c.rec.Mode: s.Mode, &c.rec.Thinking: s.Thinking} {
		if v != "" && *dst != v {
			*dst, changed = v, true
		}
	}
	if changed {
		c.saveRecord()
		c.refresh()
	}
}

// agentTurn opens and ends a turn that the agent started by itself. While a
// prompted turn runs its activity belongs to that one.
func (c *chat) agentTurn(e agent.TurnEvent) {
	if e.Origin != agent.OriginAgent {
		return // prompted turns are the host's to open and end
	}
	if e.End == nil {
		if c.turn.open {
			c.turn.implicit = false
			return
		}
		c.turn.implicit = false
		c.step(hapAgentTurn)
		return
	}
	if c.turn.open && c.turn.origin == agent.OriginAgent {
		c.turn.end = sane(*e.End)
		c.step(hapEnded)
	}
}
