package chats

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// mailSize bounds what waits for a chat's goroutine; an agent that is faster
// is slowed down.
const mailSize = 256

// chat is one chat with the goroutine that owns it. Every field but the first
// group is touched by that goroutine only.
type chat struct {
	m     *Manager
	id    string
	topic string
	ctx   context.Context // of the manager's life
	mail  chan msg
	done  chan struct{} // the goroutine ended
	work  sync.WaitGroup

	rec       store.ChatRecord
	extra     extra
	phase     phase
	turn      turn
	tl        timeline
	queue     []model.QueueEntry
	held      bool // after a stop or a fault the queue waits for a person
	sending   string
	probe     uint64 // the running ownership probe
	waiting   []*sendWait
	asks      []*ask
	live      *link
	previous  *link // let go of, maybe not gone yet
	links     uint64
	owedErr   string
	releasing *release
	errand    *errand
	mirrored  model.SessionState
	catalog   *agent.Catalog
	silent    int64
	heard     time.Time // last event of the agent
	pulsed    time.Time
	due       [deadlines]time.Time
	timer     *time.Timer
	listed    model.ChatSummary
	removed   bool
	ending    bool // the host stops
}

// extra is what this package keeps in the record beside the store's own fields.
type extra struct {
	Titled bool `json:"titled,omitempty"` // the title is a person's
	// The model and mode of the chat that the agent has offered at some time.
	OfferedModel string `json:"offeredModel,omitempty"`
	OfferedMode  string `json:"offeredMode,omitempty"`
}

// turn is the newest turn.
type turn struct {
	n          int64
	open       bool
	origin     agent.TurnOrigin
	client     string // of the prompt
	startedAt  int64
	accepted   bool // the agent showed that it has the prompt
	errorShown bool
	implicit   bool // opened by activity, ended by silence
	end        agent.TurnEnd
}

// msg is one thing for a chat's goroutine. It is a struct and not a closure so
// that 100,000 appends cost no allocation each.
type msg struct {
	kind msgKind
	link *link
	id   string
	text string
	v    any
	fn   func()
}

type msgKind uint8

const (
	msgCall msgKind = iota // fn
	msgAppend
	msgItem
	msgEvent // v is one of the other events
)

// Deadlines of a chat; one timer serves them all and is armed only while one
// of them is set.
const (
	dlFrame = iota
	dlSave
	dlBound
	dlSilence
	dlIdle
	dlAck
	deadlines
)

func (c *chat) now() time.Time { return c.m.o.Now() }

// run is the chat's goroutine.
func (c *chat) run() {
	defer close(c.done)
	for {
		select {
		case m := <-c.mail:
			c.handle(m)
		case <-c.timer.C:
			c.fire()
		}
		if (c.ending || c.removed) && c.phase == phIdle && c.live == nil {
			c.timer.Stop()
			c.dropWaiters(Fail(CodeUnavailable, "The chat was closed."))
			c.dropErrand(Fail(CodeUnavailable, "The chat was closed."))
			c.leave()
			return
		}
	}
}

// leave tells the guard, once the last agent is gone, that the session may be
// somebody else's.
func (c *chat) leave() {
	g, before, claim := c.m.guard(), c.previous, c.claim()
	claim.Removed = c.removed
	if g == nil {
		return
	}
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		if before != nil {
			<-before.gone
			if before.fault != nil {
				return
			}
		}
		g.LetGo(claim)
	}()
}

// post hands m to the chat; false when its goroutine ended.
func (c *chat) post(m msg) bool {
	select {
	case c.mail <- m:
		return true
	case <-c.done:
		return false
	}
}

// do runs fn on the chat's goroutine and waits for it.
func (c *chat) do(ctx context.Context, fn func()) error {
	ran := make(chan struct{})
	select {
	case c.mail <- msg{kind: msgCall, fn: func() { fn(); close(ran) }}:
	case <-c.done:
		return Fail(CodeNotFound, "The chat was closed.")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-ran:
		return nil
	case <-c.done:
		select {
		case <-ran:
			return nil
		default:
			return Fail(CodeNotFound, "The chat was closed.")
		}
	}
}

func (c *chat) handle(m msg) {
	if m.kind == msgCall {
		m.fn()
		return
	}
	if m.link != c.live || c.live == nil {
		c.tl.late++
		c.stale(m)
		return
	}
	now := c.now()
	c.heard = now
	if c.silent != 0 {
		c.silent = 0
		c.publishDetail()
	}
	if now.Sub(c.pulsed) >= 250*time.Millisecond {
		c.pulsed = now
		c.publish(eventPulse, nil)
	}
	switch m.kind {
	case msgAppend:
		c.append(m.id, m.text)
	case msgItem:
		c.item(m.v.(agent.Item))
	case msgEvent:
		c.event(m.v)
	}
}

// deadline sets one deadline; the zero time clears it.
func (c *chat) deadline(which int, at time.Time) {
	c.due[which] = at
	c.arm()
}

func (c *chat) arm() {
	var next time.Time
	for _, at := range c.due {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		c.timer.Stop()
		return
	}
	c.timer.Reset(max(0, next.Sub(c.now())))
}

func (c *chat) fire() {
	now := c.now()
	var ripe [deadlines]bool
	for i, at := range c.due {
		if !at.IsZero() && !at.After(now) {
			ripe[i] = true
			c.due[i] = time.Time{}
		}
	}
	if ripe[dlFrame] {
		c.frame(now)
	}
	if ripe[dlSave] {
		c.save()
	}
	if ripe[dlAck] {
		c.unconfirm(now)
	}
	if ripe[dlBound] {
		c.step(hapBound)
	}
	if ripe[dlSilence] {
		c.quiet(now)
	}
	if ripe[dlIdle] {
		c.idleOut(now)
	}
	c.arm()
}

// step moves the turn. It is the only place that changes the phase.
func (c *chat) step(h happening) {
	mv := table[c.phase][h]
	c.phase = mv.to
	for _, a := range mv.acts {
		if !c.act(a) {
			break
		}
	}
	c.refresh()
}

// act does one thing of a move; false gives up the rest of it.
func (c *chat) act(a action) bool {
	switch a {
	case actProbe:
		c.startProbe()
	case actPark:
		c.park("")
	case actBegin:
		if !c.begin() { // nothing was stored: there is no turn
			c.phase = phIdle
			return false
		}
	case actOpen:
		c.open()
	case actPrompt:
		c.prompt()
	case actBeginAgent:
		c.beginAgent()
	case actAbort:
		c.live.cancel(context.Canceled)
	case actAbandon:
		c.forget()
	case actCancel:
		c.cancel()
	case actBound:
		c.deadline(dlBound, c.now().Add(c.m.o.StopBound))
	case actDyingBound:
		c.deadline(dlBound, c.now().Add(min(300*time.Millisecond, c.m.o.StopBound)))
	case actClearBound:
		c.owedErr = ""
		c.deadline(dlBound, time.Time{})
	case actKill:
		c.deadline(dlBound, time.Time{})
		c.kill()
	case actEnd:
		c.end(c.turn.end)
	case actEndCanceled:
		c.end(c.canceledEnd())
	case actEndKilled:
		if c.turn.end.Outcome == agent.OutcomeCompleted {
			c.end(c.turn.end)
			break
		}
		c.end(c.canceledEnd())
	case actEndCrashed:
		c.end(c.crashedEnd())
	case actEndRefused, actEndOpen:
		c.refuse(c.turn.end)
	case actForget:
		c.forget()
	case actWithdraw:
		c.withdrawAll()
	case actLate:
		c.tl.late++
	case actPump:
		c.pump()
	}
	return true
}

// public is the turn's state as a window shows it.
func (p phase) public() model.TurnState {
	switch p {
	case phIdle, phProbing:
		return model.TurnIdle
	case phOpening:
		return model.TurnOpening
	case phRunning, phDying:
		return model.TurnRunning
	}
	return model.TurnStopping
}

// busy says that the session may still be written to by our agent.
func (c *chat) busy() bool { return c.phase != phIdle || c.turn.open }

// saveRecord stores the record, without waiting for it.
func (c *chat) saveRecord() {
	rec := c.record()
	_ = c.m.o.Store.Send(func(tx *store.Tx) error { return tx.PutChat(rec) }, func(err error) {
		if err != nil {
			c.m.o.Log.Error("a chat's record could not be stored", "chat", rec.ID, "err", err)
		}
	})
}

func (c *chat) record() store.ChatRecord {
	rec := c.rec
	rec.Extra, _ = json.Marshal(c.extra)
	return rec
}
