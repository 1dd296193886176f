package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Snapshot returns the whole value of a topic. A domain that publishes under a
// lock (or from one goroutine) calls mark while it holds that lock: the events
// that follow begin exactly there. Without mark the hub reads again when
// something was published meanwhile.
type Snapshot func(ctx context.Context, mark func()) (any, error)

// SnapshotOf is Snapshot for a family of topics (chat:<id>).
type SnapshotOf func(ctx context.Context, id string, mark func()) (any, error)

// ringBytes bounds what a topic keeps for clients that come back, hubBytes
// what all of them keep together.
const (
	ringBytes = 512 << 10
	hubBytes  = 16 << 20
)

// Hub carries events from the domains to the connections. Publishing never
// blocks on a client.
type Hub struct {
	epoch string
	log   *slog.Logger

	// mu is taken before a topic's, never after.
	mu       sync.Mutex
	topics   map[string]*topic
	fixed    map[string]Snapshot
	families map[string]SnapshotOf
	kept     atomic.Int64 // bytes in all rings
}

// NewHub makes a hub; epoch must differ for every start of the host.
func NewHub(epoch string, log *slog.Logger) *Hub {
	return &Hub{
		epoch: epoch, log: log,
		topics: map[string]*topic{}, fixed: map[string]Snapshot{}, families: map[string]SnapshotOf{},
	}
}

// Epoch names this life of the hub.
func (h *Hub) Epoch() string { return h.epoch }

// Topic declares a topic. To be called before connections come.
func (h *Hub) Topic(name string, s Snapshot) { h.fixed[name] = s }

// Family declares all topics that begin with prefix.
func (h *Hub) Family(prefix string, s SnapshotOf) { h.families[prefix] = s }

// Publish sends one event to everyone who subscribed to the topic. The order
// of calls is the order of events. Data over the payload limit is replaced by
// a gap: the clients read the snapshot anew.
func (h *Hub) Publish(topic, typ string, data any) {
	t := h.topic(topic)
	if t == nil {
		h.log.Warn("event for an undeclared topic", "topic", topic)
		return
	}
	if !t.wanted() {
		return
	}
	raw, err := json.Marshal(data)
	if err != nil {
		h.log.Error("event cannot be written as JSON", "topic", topic, "type", typ, "err", err)
		t.gap()
		return
	}
	if len(raw) > agent.LimitPayloadBytes {
		h.log.Warn("event is too large", "topic", topic, "type", typ, "bytes", len(raw))
		t.gap()
		return
	}
	t.publish(typ, raw)
}

// Watched reports whether somebody is subscribed to a topic now.
func (h *Hub) Watched(topic string) bool {
	h.mu.Lock()
	t := h.topics[topic]
	h.mu.Unlock()
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.subs) > 0
}

// End forgets a topic; its subscribers get a gap and will learn that it is gone.
func (h *Hub) End(topic string) {
	h.mu.Lock()
	t := h.topics[topic]
	delete(h.topics, topic)
	h.mu.Unlock()
	if t != nil {
		t.gap()
		t.forget()
	}
}

// release forgets a topic that nobody could read (an id that does not exist).
func (h *Hub) release(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.topics[t.name] == t && t.seq == 0 && len(t.subs) == 0 && h.fixed[t.name] == nil {
		delete(h.topics, t.name)
	}
}

// topic finds or makes a topic; nil when it is not declared.
func (h *Hub) topic(name string) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[name]; t != nil {
		return t
	}
	s := h.snapshotFor(name)
	if s == nil {
		return nil
	}
	t := &topic{hub: h, name: name, snapshot: s, subs: map[*conn]*subscription{}}
	t.head = []byte(`{"jsonrpc":"2.0","method":"event","params":{"topic":` + quote(name) + `,"seq":`)
	h.topics[name] = t
	return t
}

func (h *Hub) snapshotFor(name string) Snapshot {
	if s := h.fixed[name]; s != nil {
		return s
	}
	for prefix, s := range h.families {
		if id, ok := strings.CutPrefix(name, prefix); ok && id != "" {
			return func(ctx context.Context, mark func()) (any, error) { return s(ctx, id, mark) }
		}
	}
	return nil
}

// keep accounts for ring bytes; over the bound the caller drops its ring.
func (h *Hub) keep(n int) (over bool) { return h.kept.Add(int64(n)) > hubBytes }

func quote(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}

// encode writes the notification of one event.
func (t *topic) encode(seq uint64, typ string, raw []byte) []byte {
	b := make([]byte, 0, len(t.head)+len(typ)+len(raw)+48)
	b = append(b, t.head...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"type":"`...)
	b = append(b, typ...)
	b = append(b, '"')
	if raw != nil {
		b = append(b, `,"data":`...)
		b = append(b, raw...)
	}
	return append(b, "}}"...)
}
