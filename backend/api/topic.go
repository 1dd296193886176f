package api

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// topic is one ordered stream of events with the newest ones kept for clients
// that come back.
type topic struct {
	hub      *Hub
	name     string
	head     []byte // of every notification
	snapshot Snapshot

	mu   sync.Mutex
	seq  uint64
	subs map[*conn]*subscription
	// ring holds the notifications first..seq. It is recorded from the first
	// subscription on; without a subscriber it ends when it is full.
	ring      [][]byte
	ringBytes int
	recording bool
}

// subscription is one connection's place in a topic. While its snapshot is
// taken, events wait in held.
type subscription struct {
	live    bool
	marked  bool
	from    uint64
	held    [][]byte
	heldLen int
}

// wanted tells whether an event has to be encoded; if not it is only counted.
func (t *topic) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.recording && len(t.subs) == 0 {
		t.seq++
		return false
	}
	return true
}

func (t *topic) publish(typ string, raw []byte) {
	t.mu.Lock()
	t.seq++
	data := t.encode(t.seq, typ, raw)
	t.record(data)
	var late []*conn
	for c, s := range t.subs {
		switch {
		case !s.live:
			s.held = append(s.held, data)
			s.heldLen += len(data)
			if s.heldLen > backlogBytes {
				delete(t.subs, c) // found out when the snapshot is ready
			}
		case !c.out.putEvent(data):
			late = append(late, c)
		}
	}
	t.mu.Unlock()
	for _, c := range late {
		c.gapAll()
	}
}

func (t *topic) record(data []byte) {
	if !t.recording {
		return
	}
	t.ring = append(t.ring, data)
	t.ringBytes += len(data)
	over := t.hub.keep(len(data))
	if len(t.subs) == 0 && t.ringBytes > ringBytes {
		t.dropRing()
		t.recording = false
		return
	}
	for len(t.ring) > 0 && (t.ringBytes > ringBytes || over) {
		n := len(t.ring[0])
		t.ring = t.ring[1:]
		t.ringBytes -= n
		over = t.hub.keep(-n) && over
	}
}

func (t *topic) dropRing() {
	t.hub.keep(-t.ringBytes)
	t.ring, t.ringBytes = nil, 0
}

func (t *topic) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropRing()
	t.recording = false
}

// gap tells every subscriber to subscribe anew.
func (t *topic) gap() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	t.dropRing()
	data := t.encode(t.seq, EventGap, nil)
	for c, s := range t.subs {
		if !s.live {
			s.heldLen = 2 * backlogBytes // the snapshot is read again
			continue
		}
		delete(t.subs, c)
		c.forget(t)
		if !c.out.putEvent(data) {
			c.out.gap([][]byte{data})
		}
	}
}

// leave ends a connection's subscription.
func (t *topic) leave(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subs, c)
	c.forget(t)
}

// gapFor removes the connection and returns the gap event for it.
func (t *topic) gapFor(c *conn) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subs, c)
	return t.encode(t.seq, EventGap, nil)
}

var errTooLarge = errors.New("the snapshot is too large")

// subscribe answers through reply exactly once when it succeeds, before any
// event of the topic is queued for the connection.
func (t *topic) subscribe(ctx context.Context, c *conn, req Subscribe, reply func(any)) error {
	if t.resume(c, req, reply) {
		return nil
	}
	const tries = 5
	for try := range tries {
		s := t.enter(c)
		raw, err := t.read(ctx, s)
		if err != nil {
			t.leave(c)
			return err
		}
		if t.activate(c, s, raw, reply, try == tries-1) {
			return nil
		}
	}
	t.leave(c)
	return &Error{Code: CodeBusy, Message: "The topic changes too fast to be read; try again."}
}

// resume goes on where the client was, if the ring still has what followed.
func (t *topic) resume(c *conn, req Subscribe, reply func(any)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.seq - uint64(len(t.ring)) // the seq before ring[0]
	if req.Epoch != t.hub.epoch || !t.recording || req.Since < first || req.Since > t.seq {
		return false
	}
	reply(Subscribed{Seq: req.Since, Epoch: t.hub.epoch, Resumed: true})
	if c.remember(t) {
		t.subs[c] = &subscription{live: true}
		t.deliver(c, t.ring[req.Since-first:])
	}
	return true
}

// deliver queues what a connection missed; the caller holds the lock.
func (t *topic) deliver(c *conn, missed [][]byte) {
	for _, data := range missed {
		if !c.out.putEvent(data) {
			delete(t.subs, c)
			c.forget(t)
			c.out.gap([][]byte{t.encode(t.seq, EventGap, nil)})
			return
		}
	}
}

// enter begins to hold events for the connection.
func (t *topic) enter(c *conn) *subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &subscription{from: t.seq}
	if c.remember(t) {
		t.subs[c] = s
		t.recording = true
	}
	return s
}

func (t *topic) read(ctx context.Context, s *subscription) (json.RawMessage, error) {
	v, err := t.snapshot(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		s.marked, s.from, s.held, s.heldLen = true, t.seq, nil, 0
	})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v)
	if err == nil && len(raw) > agent.LimitPayloadBytes {
		err = errTooLarge
	}
	return raw, err
}

// activate answers and lets events flow; false: read the snapshot again.
func (t *topic) activate(c *conn, s *subscription, raw json.RawMessage, reply func(any), last bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.heldLen > backlogBytes || t.subs[c] != s {
		return false
	}
	if !s.marked && t.seq != s.from && !last {
		return false // it may hold a part of what was published meanwhile
	}
	reply(Subscribed{Seq: s.from, Epoch: t.hub.epoch, Snapshot: raw})
	held := s.held
	s.live, s.held = true, nil
	t.deliver(c, held)
	return true
}
