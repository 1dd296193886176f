package api

import (
	"sync"

	"github.com/coder/websocket"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Flow control of events. A connection has at most windowEvents or windowBytes
// on the way that its client has not acknowledged; what comes meanwhile waits,
// up to backlogEvents or backlogBytes, and beyond that its topics get a gap.
const (
	windowEvents  = 1024
	windowBytes   = 2 << 20
	backlogEvents = 16384
	backlogBytes  = 8 << 20
)

type frame struct {
	typ   websocket.MessageType
	data  []byte
	order uint64
}

// outgoing is what a connection still has to send. Answers, terminal bytes and
// events leave in the order in which they were put, except that events wait
// while the window is full and answers do not.
type outgoing struct {
	mu     sync.Mutex
	wake   chan struct{} // one token: something may be sent
	order  uint64
	direct []frame
	events []frame
	// directBytes and eventBytes are what is queued; sent counts event
	// notifications since the connection began, acked is the client's count.
	directBytes, eventBytes int
	sent, acked             uint64
	flight                  []int // sizes of sent and not acknowledged events
	flightBytes             int
	closed                  bool
	writing                 bool       // the writer holds a frame
	room                    *sync.Cond // direct got shorter, or a frame was written
}

func newOutgoing() *outgoing {
	o := &outgoing{wake: make(chan struct{}, 1)}
	o.room = sync.NewCond(&o.mu)
	return o
}

func (o *outgoing) kick() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// put queues an answer or a binary frame.
func (o *outgoing) put(typ websocket.MessageType, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.order++
	o.direct = append(o.direct, frame{typ, data, o.order})
	o.directBytes += len(data)
	o.kick()
}

// putEvent queues an event; false means that the backlog is full.
func (o *outgoing) putEvent(data []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return true
	}
	if len(o.events) >= backlogEvents || o.eventBytes+len(data) > backlogBytes {
		return false
	}
	o.pushEvent(data)
	return true
}

func (o *outgoing) pushEvent(data []byte) {
	o.order++
	o.events = append(o.events, frame{websocket.MessageText, data, o.order})
	o.eventBytes += len(data)
	o.kick()
}

// gap drops every waiting event and puts the given ones, whatever the window.
func (o *outgoing) gap(instead [][]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.events, o.eventBytes = nil, 0
	o.flight, o.flightBytes, o.acked = nil, 0, o.sent
	for _, data := range instead {
		o.pushEvent(data)
	}
}

// next takes what is to be sent now; ok is false when nothing is.
func (o *outgoing) next() (f frame, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() { o.writing = ok; o.room.Broadcast() }()
	open := len(o.flight) < windowEvents && o.flightBytes < windowBytes
	event := len(o.events) > 0 && open
	switch {
	case event && (len(o.direct) == 0 || o.events[0].order < o.direct[0].order):
		f, o.events = o.events[0], o.events[1:]
		if len(o.events) == 0 {
			o.events = nil
		}
		o.eventBytes -= len(f.data)
		o.sent++
		o.flight = append(o.flight, len(f.data))
		o.flightBytes += len(f.data)
	case len(o.direct) > 0:
		f, o.direct = o.direct[0], o.direct[1:]
		if len(o.direct) == 0 {
			o.direct = nil
		}
		o.directBytes -= len(f.data)
	default:
		return frame{}, false
	}
	return f, true
}

// ack tells that the client has consumed n event notifications.
func (o *outgoing) ack(n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.acked < n && len(o.flight) > 0 {
		o.flightBytes -= o.flight[0]
		o.flight = o.flight[1:]
		o.acked++
	}
	o.kick()
}

// wait blocks while answers pile up, so that a client that asks and does not
// read is not read either.
func (o *outgoing) wait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && o.directBytes > 16*agent.LimitPayloadBytes {
		o.room.Wait()
	}
}

// drain waits until every answer has been written.
func (o *outgoing) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && (len(o.direct) > 0 || o.writing) {
		o.room.Wait()
	}
}

func (o *outgoing) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.direct, o.events, o.flight = nil, nil, nil
	o.room.Broadcast()
	o.kick()
}
