package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Violations lists the broken rules so far, in words.
func (r *Recorder) Violations() (list []string) {
	for _, v := range r.Broken() {
		list = append(list, v.Text)
	}
	return list
}

// Broken lists them with the names of the rules.
func (r *Recorder) Broken() []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.violations)
}

// Items are the rows in the order in which they first appeared, with what was
// appended to them.
func (r *Recorder) Items() []agent.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]agent.Item, 0, len(r.rows))
	for _, w := range r.rows {
		it := w.item
		if it.Type == agent.ItemTool {
			it.Output = w.text.String()
		} else if w.chunks > 0 {
			it.Text = w.text.String()
		}
		out = append(out, it)
	}
	return out
}

// Text is the text of all answers, one after the other.
func (r *Recorder) Text() string {
	var b strings.Builder
	for _, it := range r.Items() {
		if it.Type == agent.ItemText {
			b.WriteString(it.Text)
		}
	}
	return b.String()
}

// Approvals are those asked so far.
func (r *Recorder) Approvals() []Asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.approvals)
}

// pending are the requests that wait for an answer.
func (r *Recorder) pending() (list []Asked) {
	for _, a := range r.Approvals() {
		if !a.Done {
			list = append(list, a)
		}
	}
	return list
}

// Turns counts those that were begun, whoever began them.
func (r *Recorder) Turns() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turns
}

// Usages are those reported.
func (r *Recorder) Usages() []agent.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.usages)
}

// Titles are those reported.
func (r *Recorder) Titles() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.titles)
}

// ReadyEvents are the Ready calls (a good provider makes one).
func (r *Recorder) ReadyEvents() []agent.Ready {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ready)
}

// Catalogs are those reported.
func (r *Recorder) Catalogs() []agent.Catalog {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.catalogs)
}

// InForce are the settings last reported by Settings.
func (r *Recorder) InForce() agent.Settings {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settings
}

// Deliveries of one client id, in order.
func (r *Recorder) Deliveries(clientID string) []agent.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.deliveries[clientID])
}

// Exited is the process's end, nil while it lives.
func (r *Recorder) Exited() *agent.Exit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.exit
}

// OwnEnds are the ends of the turns the agent started by itself.
func (r *Recorder) OwnEnds() []agent.TurnEnd {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ends)
}

// NativeHandle is the newest handle, from Ready or Handle.
func (r *Recorder) NativeHandle() *agent.Handle {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.handles); n > 0 {
		return &r.handles[n-1]
	}
	if len(r.ready) > 0 {
		return r.ready[0].Handle
	}
	return nil
}

// Chunks counts the appends to all rows.
func (r *Recorder) Chunks() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.rows {
		n += w.chunks
	}
	return n
}

// Wait returns when cond holds; it looks after every event. It fails when
// ctx ends first.
func (r *Recorder) Wait(ctx context.Context, what string, cond func() bool) error {
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s did not happen: %w", what, context.Cause(ctx))
		}
	}
}

// MustWait is Wait with a deadline and a test.
func (r *Recorder) MustWait(t *testing.T, deadline time.Duration, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := r.Wait(ctx, what, cond); err != nil {
		t.Fatalf("%v\nrows: %s", err, rowsText(r.Items()))
	}
}

func rowsText(items []agent.Item) string {
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "\n  %s %s %s %s %q", it.ID, it.Type, it.State, it.Title, short(it.Text))
	}
	return b.String()
}

func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
