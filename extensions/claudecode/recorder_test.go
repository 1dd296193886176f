package claudecode

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// recorder is the host's end of a chat: it keeps what the provider reports,
// merged as a host would merge it.
type recorder struct {
	mu        sync.Mutex
	order     []string
	items     map[string]agent.Item
	log       []string
	ready     agent.Ready
	catalog   agent.Catalog
	usage     []agent.Usage
	settings  agent.Settings
	deliverys []string
	approvals []agent.Approval
	acked     []string
	withdrawn []string
	exit      *agent.Exit
	failures  []string
	title     string
	turns     []agent.TurnEvent
	changed   chan struct{}

	// decide answers approvals; nil leaves them open until withdrawn.
	decide func(agent.Approval) agent.ApprovalAnswer
}

func newRecorder() *recorder {
	return &recorder{items: map[string]agent.Item{}, changed: make(chan struct{})}
}

func (r *recorder) note(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf(format, args...))
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) Ready(v agent.Ready) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = v
	r.note("ready")
}

func (r *recorder) Item(it agent.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.items[it.ID]; !ok {
		r.order = append(r.order, it.ID)
	}
	r.items[it.ID] = it
	r.note("item %s %s %s", it.Type, it.ID, it.State)
}

func (r *recorder) Append(id, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	it := r.items[id]
	it.Text += text
	r.items[id] = it
	r.note("append %s", id)
}

func (r *recorder) Approval(ctx context.Context, a agent.Approval) agent.ApprovalAnswer {
	r.mu.Lock()
	r.approvals = append(r.approvals, a)
	r.note("approval %s", a.Kind)
	decide := r.decide
	r.mu.Unlock()
	if decide != nil {
		return decide(a)
	}
	<-ctx.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withdrawn = append(r.withdrawn, a.ID)
	r.note("withdrawn")
	return agent.ApprovalAnswer{Canceled: true}
}

func (r *recorder) ApprovalAcked(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = append(r.acked, id)
	r.note("acked")
}

func (r *recorder) Usage(u agent.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage = append(r.usage, u)
	r.note("usage")
}

func (r *recorder) Title(v string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.title = v
	r.note("title")
}

func (r *recorder) Handle(agent.Handle) {}

func (r *recorder) Catalog(c agent.Catalog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catalog = c
	r.note("catalog")
}

func (r *recorder) Settings(s agent.Settings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settings = s
	r.note("settings %s", s.Mode)
}

func (r *recorder) Turn(t agent.TurnEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns = append(r.turns, t)
	r.note("turn %v", t.End != nil)
}

func (r *recorder) Delivery(id string, d agent.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliverys = append(r.deliverys, id+" "+string(d))
	r.note("delivery %s", d)
}

func (r *recorder) Failure(reason, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, reason+": "+detail)
	r.note("failure")
}

func (r *recorder) Exit(e agent.Exit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exit = &e
	r.note("exit")
}

// rows are the rows that are shown, in order.
func (r *recorder) rows() []agent.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []agent.Item
	for _, id := range r.order {
		it := r.items[id]
		if it.Hidden() {
			continue
		}
		list = append(list, it)
	}
	return list
}

func (r *recorder) row(t *testing.T, want func(agent.Item) bool) agent.Item {
	t.Helper()
	rows := r.rows()
	if i := slices.IndexFunc(rows, want); i >= 0 {
		return rows[i]
	}
	t.Fatalf("no such row among %s", show(rows))
	return agent.Item{}
}

func show(rows []agent.Item) string {
	var out string
	for _, it := range rows {
		out += fmt.Sprintf("\n  %s %s %s %s %q", it.Type, it.ID, it.Name, it.State, it.Text)
	}
	return out
}

// wait returns once cond holds; it looks at each change.
func (r *recorder) wait(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		ok, changed := cond(), r.changed
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			r.mu.Lock()
			log := slices.Clone(r.log)
			r.mu.Unlock()
			t.Fatalf("waited in vain for %s; seen: %v", what, log)
		}
	}
}

func choose(option string) func(agent.Approval) agent.ApprovalAnswer {
	return func(agent.Approval) agent.ApprovalAnswer { return agent.ApprovalAnswer{OptionID: option} }
}

func ofType(t agent.ItemType) func(agent.Item) bool {
	return func(it agent.Item) bool { return it.Type == t }
}

func named(name string) func(agent.Item) bool {
	return func(it agent.Item) bool { return it.Name == name }
}
