package api

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/coder/websocket"
)

// Subscriber receives a topic. Snapshot is called first, and again whenever
// the events in between were lost; Event then follows without gap. Both are
// called from the client's reader in order: they must not call the client, and
// while they work no further event is read.
type Subscriber struct {
	Snapshot func(json.RawMessage)
	Event    func(Event)
	// Failed is called when a later subscription is refused (the chat is gone).
	Failed func(error)
}

// ClientSubscription is a topic that a client follows.
type ClientSubscription struct {
	client *Client
	topic  string
	to     Subscriber

	mu    sync.Mutex // held while a callback runs
	seq   uint64
	epoch string
	live  bool    // the answer to the subscription has been taken
	early []Event // events read before that answer was taken
	ended bool
}

// Subscribe follows a topic until Unsubscribe or Close. One subscription per
// topic and client.
func (c *Client) Subscribe(ctx context.Context, topic string, to Subscriber) (*ClientSubscription, error) {
	s := &ClientSubscription{client: c, topic: topic, to: to}
	l, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.subs[topic] = s
	c.mu.Unlock()
	if err := s.subscribe(ctx, l); err != nil {
		if c.opts.Reconnect && l.ctx.Err() != nil && ctx.Err() == nil {
			return s, nil // it is made on the next connection
		}
		c.mu.Lock()
		delete(c.subs, topic)
		c.mu.Unlock()
		return nil, err
	}
	return s, nil
}

func (s *ClientSubscription) subscribe(ctx context.Context, l *link) error {
	s.mu.Lock()
	s.live, s.early = false, nil
	req := Subscribe{Topic: s.topic, Since: s.seq, Epoch: s.epoch}
	s.mu.Unlock()
	var got Subscribed
	if err := l.call(ctx, "events.subscribe", req, &got); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq, s.epoch, s.live = got.Seq, got.Epoch, true
	if !got.Resumed && s.to.Snapshot != nil && !s.ended {
		s.to.Snapshot(got.Snapshot)
	}
	early := s.early
	s.early = nil
	for _, e := range early {
		s.deliver(l, e)
	}
	return nil
}

// again is every subscription after the first: nobody waits for its error.
func (s *ClientSubscription) again(ctx context.Context, l *link) error {
	err := s.subscribe(ctx, l)
	if err != nil && l.ctx.Err() == nil && s.to.Failed != nil {
		s.to.Failed(err)
	}
	return err
}

func (s *ClientSubscription) take(l *link, e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		s.early = append(s.early, e)
		return
	}
	s.deliver(l, e)
}

// deliver hands one event on; the caller holds the lock.
func (s *ClientSubscription) deliver(l *link, e Event) {
	switch {
	case s.ended:
	case e.Type == EventGap || e.Seq > s.seq+1:
		s.live, s.early, s.seq = false, nil, 0
		s.epoch = ""
		go func() { _ = s.again(l.ctx, l) }() // ends with the link
	case e.Seq <= s.seq:
	default:
		s.seq = e.Seq
		if s.to.Event != nil {
			s.to.Event(e)
		}
	}
}

// Unsubscribe ends it; no callback runs after it has returned.
func (s *ClientSubscription) Unsubscribe(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.client.mu.Lock()
	if s.client.subs[s.topic] == s {
		delete(s.client.subs, s.topic)
	}
	s.client.mu.Unlock()
	_, err := Call[None](ctx, s.client, "events.unsubscribe", Topic{Topic: s.topic})
	return err
}

// ackEvents and ackBytes are when a client acknowledges what it has consumed.
const (
	ackEvents = 64
	ackBytes  = 256 << 10
)

func (c *Client) event(l *link, params json.RawMessage, size int) {
	var e Event
	if err := json.Unmarshal(params, &e); err != nil {
		return
	}
	c.mu.Lock()
	s := c.subs[e.Topic]
	c.mu.Unlock()
	if s != nil {
		s.take(l, e)
	}
	l.events++
	l.bytes += size
	if l.events-l.acked >= ackEvents || l.bytes >= ackBytes {
		l.acked, l.bytes = l.events, 0
		data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "ack", "params": Ack{Seq: l.events}})
		if err == nil {
			_ = l.ws.Write(l.ctx, websocket.MessageText, data)
		}
	}
}
