//go:build agents && linux

package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// signal wakes those who wait for a change of what a test looks at.
type signal struct {
	mu      sync.Mutex
	changed chan struct{}
}

// change runs f and tells the waiters.
func (s *signal) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

// until waits until cond, which is called with the lock held, is true.
func (s *signal) until(within time.Duration, cond func() bool) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-deadline.C:
			return false
		}
	}
}

// board is the Agents panel of a connected window.
type board struct {
	signal
	w       *world
	rows    map[model.SessionKey]model.Session
	history []model.Session
}

func (w *world) board() *board {
	w.t.Helper()
	b := &board{w: w, rows: map[model.SessionKey]model.Session{}}
	put := func(list ...model.Session) {
		for _, s := range list {
			b.rows[s.Key] = s
			b.history = append(b.history, s)
		}
	}
	_, err := w.client.Subscribe(w.ctx(), api.TopicSessions, api.Subscriber{
		Snapshot: func(raw json.RawMessage) {
			b.change(func() { clear(b.rows); put(decode[[]model.Session](raw)...) })
		},
		Event: func(e api.Event) {
			b.change(func() {
				switch e.Type {
				case api.EventUpsert:
					put(decode[model.Session](e.Data))
				case api.EventReset:
					clear(b.rows)
					put(decode[[]model.Session](e.Data)...)
				case api.EventRemove:
					for _, id := range decode[api.Removed](e.Data).IDs {
						h, s, _ := strings.Cut(id, "/")
						delete(b.rows, model.SessionKey{Harness: h, ID: s})
					}
				}
			})
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func decode[T any](raw json.RawMessage) (v T) {
	if err := json.Unmarshal(raw, &v); err != nil {
		panic(fmt.Sprintf("%v: %s", err, raw))
	}
	return v
}

// row waits for a row that fulfils cond.
func (b *board) row(what string, within time.Duration, cond func(model.Session) bool) (found model.Session) {
	b.w.t.Helper()
	if !b.has(within, cond, &found) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.w.t.Fatalf("waited %v in vain for %s; rows: %s", within, what, describe(b.rows))
	}
	return found
}

func (b *board) has(within time.Duration, cond func(model.Session) bool, found *model.Session) bool {
	return b.until(within, func() bool {
		for _, s := range b.rows {
			if cond(s) {
				if found != nil {
					*found = s
				}
				return true
			}
		}
		return false
	})
}

// gone waits until no living process is shown for a session.
func (b *board) gone(within time.Duration, k model.SessionKey) {
	b.w.t.Helper()
	if !b.until(within, func() bool { s, ok := b.rows[k]; return !ok || s.Pid == 0 && s.EndedAt != 0 }) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.w.t.Fatalf("%v after its end a session is still shown: %+v", within, b.rows[k])
	}
}

// states lists the states that a session was shown in, repeats left out.
func (b *board) states(k model.SessionKey) (list []model.SessionState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.history {
		if s.Key == k {
			list = append(list, s.State)
		}
	}
	return slices.Compact(list)
}

func describe(rows map[model.SessionKey]model.Session) string {
	raw, _ := json.Marshal(slices.Collect(maps.Values(rows)))
	return string(raw)
}

// view is a window that shows one chat.
type view struct {
	signal
	w         *world
	id        string
	sum       model.ChatSummary
	rows      []model.Row
	queue     []model.QueueEntry
	approvals map[string]model.ApprovalCard
	ends      []api.TurnChanged
}

func (w *world) view(id string) *view {
	w.t.Helper()
	v := &view{w: w, id: id, approvals: map[string]model.ApprovalCard{}}
	_, err := w.client.Subscribe(w.ctx(), api.TopicChat+id, api.Subscriber{
		Snapshot: func(raw json.RawMessage) {
			c := decode[model.Chat](raw)
			v.change(func() {
				v.sum, v.rows, v.queue = c.ChatSummary, c.Items, c.Queue
				clear(v.approvals)
				for _, a := range c.Approvals {
					v.approvals[a.ID] = a
				}
			})
		},
		Event: func(e api.Event) { v.change(func() { v.event(e) }) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (v *view) event(e api.Event) {
	switch e.Type {
	case api.EventChat:
		v.sum = decode[model.ChatSummary](e.Data)
	case api.EventRow:
		row := decode[model.Row](e.Data)
		if i := v.at(row.ID); i >= 0 {
			v.rows[i] = row
		} else {
			v.rows = append(v.rows, row)
		}
	case api.EventAppend:
		a := decode[api.Appended](e.Data)
		if i := v.at(a.ID); i >= 0 && v.rows[i].Type == agent.ItemTool {
			v.rows[i].Output += a.Text
		} else if i >= 0 {
			v.rows[i].Text += a.Text
		}
	case api.EventQueue:
		v.queue = decode[[]model.QueueEntry](e.Data)
	case api.EventApproval:
		card := decode[model.ApprovalCard](e.Data)
		v.approvals[card.ID] = card
	case api.EventTurn:
		if t := decode[api.TurnChanged](e.Data); t.End != nil {
			v.ends = append(v.ends, t)
		}
	}
}

func (v *view) at(id string) int {
	return slices.IndexFunc(v.rows, func(r model.Row) bool { return r.ID == id })
}

// now is the chat as it was told last.
func (v *view) now() model.ChatSummary {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sum
}

// wait waits until cond, called with the lock held, is true.
func (v *view) wait(what string, cond func() bool) {
	v.w.t.Helper()
	if !v.until(patience, cond) {
		v.mu.Lock()
		defer v.mu.Unlock()
		raw, _ := json.MarshalIndent(map[string]any{"chat": v.sum, "rows": v.rows, "queue": v.queue, "ends": v.ends}, "", " ")
		v.w.t.Fatalf("waited in vain for %s: %s", what, raw)
	}
}

// text waits for a row of a kind with exactly this text.
func (v *view) text(kind agent.ItemType, text string) (row model.Row) {
	v.w.t.Helper()
	v.wait(fmt.Sprintf("%s %q", kind, text), func() bool {
		for _, r := range v.rows {
			if r.Type == kind && r.Text == text {
				row = r
				return true
			}
		}
		return false
	})
	return row
}

// end waits until n turns have ended since the view was opened, and returns the
// last of these ends.
func (v *view) end(n int) (end agent.TurnEnd) {
	v.w.t.Helper()
	v.wait(fmt.Sprintf("the end of %d turns", n), func() bool { return len(v.ends) >= n && v.sum.Turn == model.TurnIdle })
	v.mu.Lock()
	defer v.mu.Unlock()
	return *v.ends[n-1].End
}

// card waits for an open approval.
func (v *view) card() (card model.ApprovalCard) {
	v.w.t.Helper()
	v.wait("an approval", func() bool {
		for _, c := range v.approvals {
			if c.State == model.CardOpen {
				card = c
				return true
			}
		}
		return false
	})
	return card
}

// answer gives the first option of a kind.
func (v *view) answer(card model.ApprovalCard, kind agent.OptionKind) {
	v.w.t.Helper()
	for _, o := range card.Options {
		if o.Kind == kind {
			got := call[api.AnswerResult](v.w, "approvals.answer", api.AnswerApproval{
				ChatID: v.id, ApprovalID: card.ID, Revision: card.Revision, Answer: agent.ApprovalAnswer{OptionID: o.ID},
			})
			if !got.Won {
				v.w.t.Errorf("another answer won: %+v", got.Card)
			}
			return
		}
	}
	v.w.t.Fatalf("no option %s: %+v", kind, card.Options)
}

// send sends a prompt; its client id is made from the text.
func (v *view) send(text string) api.SendResult {
	v.w.t.Helper()
	return call[api.SendResult](v.w, "chats.send", api.SendPrompt{ChatID: v.id, ClientID: "say " + text, Text: text})
}

// ask sends a prompt and waits until its turn is completed.
func (v *view) ask(text string) {
	v.w.t.Helper()
	v.mu.Lock()
	n := len(v.ends)
	v.mu.Unlock()
	v.send(text)
	if end := v.end(n + 1); end.Outcome != agent.OutcomeCompleted {
		v.w.t.Fatalf("%q ended %+v", text, end)
	}
}

// hand waits until the session stands so.
func (v *view) hand(state model.HandState) (hand model.Hand) {
	v.w.t.Helper()
	v.wait("the hand "+string(state), func() bool { hand = v.sum.Hand; return hand.State == state })
	return hand
}

// all reads every row of the chat as a new window would.
func (v *view) all() (rows []model.Row) {
	v.w.t.Helper()
	for before := int64(0); ; {
		got := call[api.RowsResult](v.w, "chats.rows", api.RowsRequest{ChatID: v.id, Before: before, Limit: 100})
		rows = append(slices.Clone(got.Rows), rows...)
		if len(got.Rows) == 0 || got.Rows[0].Seq <= 1 {
			return rows
		}
		before = got.Rows[0].Seq
	}
}
