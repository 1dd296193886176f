package host

import (
	"context"
	"testing"
	"time"
)

// A host that was started for `whippletree ls` has looked at processes and
// sources before it answers.
func TestSessionsAreListedAfterTheFirstLook(t *testing.T) {
	h := newTestHost(t)
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.observed.looked(t.Context())
	for name, done := range map[string]chan struct{}{"sources": h.observed.sourced, "processes": h.observed.scanned} {
		select {
		case <-done:
		default:
			t.Errorf("the list did not wait for the %s", name)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Error(err)
	}
}
