package agenttest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// MirrorSink is an [agent.Sink] that keeps rows and states and notes broken
// rules.
type MirrorSink struct {
	mu         sync.Mutex
	changed    chan struct{}
	order      []string
	rows       map[string]agent.Item
	published  int
	states     []agent.MirrorState
	at         agent.Position
	caught     int
	violations []string
}

// NewMirrorSink makes an empty one.
func NewMirrorSink() *MirrorSink {
	return &MirrorSink{changed: make(chan struct{}), rows: map[string]agent.Item{}}
}

func (s *MirrorSink) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Item implements [agent.Sink].
func (s *MirrorSink) Item(it agent.Item) {
	s.update(func() {
		for _, is := range agent.ValidateItem(it) {
			s.violations = append(s.violations, is.Code+": item "+it.ID+": "+is.Path+" "+is.Message)
		}
		if _, known := s.rows[it.ID]; !known {
			s.order = append(s.order, it.ID)
		}
		s.rows[it.ID] = it
		s.published++
	})
}

// State implements [agent.Sink].
func (s *MirrorSink) State(st agent.MirrorState) {
	s.update(func() { s.states = append(s.states, st) })
}

// CaughtUp implements [agent.Sink].
func (s *MirrorSink) CaughtUp(p agent.Position) {
	s.update(func() { s.at = p; s.caught++ })
}

// Items are the rows in the order in which they first appeared.
func (s *MirrorSink) Items() []agent.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []agent.Item
	for _, id := range s.order {
		out = append(out, s.rows[id])
	}
	return out
}

// State now, zero before the first.
func (s *MirrorSink) Now() (st agent.MirrorState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.states); n > 0 {
		st = s.states[n-1]
	}
	return st
}

// Position of the last CaughtUp, and how many there were.
func (s *MirrorSink) Position() (agent.Position, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at, s.caught
}

// Published counts the calls of Item.
func (s *MirrorSink) Published() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published
}

// Violations lists the broken rules.
func (s *MirrorSink) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// MustWait returns when cond holds; it looks after every event.
func (s *MirrorSink) MustWait(t *testing.T, deadline time.Duration, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if s.wait(ctx, cond) != nil {
		t.Fatalf("%s did not happen\nrows: %s", what, rowsText(s.Items()))
	}
}

func (s *MirrorSink) wait(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// MirrorRows reads a session that nobody writes to.
func MirrorRows(t *testing.T, h agent.Handover, handle agent.Handle, deadline time.Duration) []agent.Item {
	t.Helper()
	sink := NewMirrorSink()
	stop := StartMirror(t, h, handle, agent.Position{}, sink)
	sink.MustWait(t, deadline, "CaughtUp", func() bool { _, n := sink.Position(); return n > 0 })
	stop()
	for _, v := range sink.Violations() {
		t.Errorf("violation of the mirror: %s", v)
	}
	return sink.Items()
}

// StartMirror runs a mirror until stop is called or the test ends; it fails the
// test when the mirror ends with an error or not at all.
func StartMirror(t *testing.T, h agent.Handover, handle agent.Handle, from agent.Position, sink agent.Sink) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Mirror(ctx, handle, from, sink) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Mirror: %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("Mirror did not return after its context had ended")
			}
		})
	}
	t.Cleanup(stop)
	return stop
}
