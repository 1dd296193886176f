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
	cancels   uint64 // cancels issued so far
	stopEnds  int64  // when the bound of stopping passes, 0: its processes are not ended
	stopping  *model.Stopping
	lookAgain bool     // the transcript may tell the fate of a message
	whenOpen  []func() // settings that wait for the agent to be started
	steps     int      // moves that are under way
	steering  map[string]*steering
	read      map[string]bool // messages given in a turn that the agent began with
	releasing *release
	errand    *errand
	mirrored  model.SessionState
	catalog   *agent.Catalog
	silent    int64
	heard     time.Time // last event of the agent
	spoke     bool      // since it was last expected to
	suspect   bool      // the machine slept in this turn
	idleSince time.Time
	awake     time.Duration // how long the machine had slept when the agent was last seen to work
	pulsed    time.Time
	due       [deadlines]time.Time
	timer     *time.Timer
	listed    model.ChatSummary
	removed   bool
	ending    bool       // the host stops
	stay      chan error // a removal that waits; gets why it cannot be
}

// extra is what this package keeps in the record beside the store's own fields.
type extra struct {
	Titled bool `json:"titled,omitempty"` // the title is a person's
	// ToldTitle is the one that the agent's own session was given.
	ToldTitle string `json:"toldTitle,omitempty"`
	// The model and mode of the chat that the agent has offered at some time.
	OfferedModel    string `json:"offeredModel,omitempty"`
	OfferedMode     string `json:"offeredMode,omitempty"`
	OfferedThinking string `json:"offeredThinking,omitempty"`
	// OfferedFeatures are those of the chat's features that it has offered as they
	// are set.
	OfferedFeatures map[string]bool `json:"offeredFeatures,omitempty"`
}

// turn is the newest turn.
type turn struct {
	n          int64
	open       bool
	origin     agent.TurnOrigin
	client     string // of the prompt
	startedAt  int64
	began      time.Time // the same, to measure from
	accepted   bool      // the agent showed that it has the prompt
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
		if c.ending && c.phase == phStuck { // the ledger has it: the next host tries again
			c.live = nil
		}
		if c.removed && c.phase == phStuck {
			c.removed = false
			c.stay <- Fail(CodeBusy, "%s", c.owedErr)
		}
		if (c.ending || c.removed) && (c.phase == phIdle || c.phase == phStuck) && c.live == nil {
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
	c.heard, c.spoke = now, true
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
