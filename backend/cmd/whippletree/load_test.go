package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// assembly rebuilds the texts of a chat from its events alone and proves by
// Appended.At that nothing is missing and nothing came twice.
type assembly struct {
	t    *testing.T
	mu   sync.Mutex
	rows map[string]string
	last string
	end  chan agent.TurnEnd
}

func (a *assembly) snapshot(raw json.RawMessage) {
	var c model.Chat
	if err := json.Unmarshal(raw, &c); err != nil {
		a.t.Error(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range c.Items {
		a.rows[r.ID] = r.Text
	}
}

func (a *assembly) event(e api.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.Type {
	case api.EventRow:
		var r model.Row
		_ = json.Unmarshal(e.Data, &r)
		if r.Type == agent.ItemText {
			a.rows[r.ID], a.last = r.Text, r.ID
		}
	case api.EventAppend:
		var x api.Appended
		_ = json.Unmarshal(e.Data, &x)
		if len(a.rows[x.ID]) != x.At {
			a.t.Errorf("text for %d came at %d", x.At, len(a.rows[x.ID]))
		}
		a.rows[x.ID] += x.Text
	case api.EventTurn:
		var x api.TurnChanged
		_ = json.Unmarshal(e.Data, &x)
		if x.End != nil {
			a.end <- *x.End
		}
	}
}

// 100,000 deltas of the agent's pipe reach the socket in order, none lost.
func TestHundredThousandDeltas(t *testing.T) {
	const deltas = 100_000
	w := newWorld(t, fmt.Sprintf(`{"harnesses": {"rehearsal": {"args": ["--pace", "none", "--deltas", "%d"]}}}`, deltas))
	w.serve("--keep")
	c := w.client(api.ClientOptions{})
	made, err := api.Call[api.ChatResult](t.Context(), c, "chats.create", api.CreateChat{
		ClientID: "load", Harness: "rehearsal", Kind: agent.KindWorkspace, Cwd: w.work,
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &assembly{t: t, rows: map[string]string{}, end: make(chan agent.TurnEnd, 4)}
	if _, err := c.Subscribe(t.Context(), api.TopicChat+made.Chat.ID, api.Subscriber{Snapshot: a.snapshot, Event: a.event}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Call[api.SendResult](t.Context(), c, "chats.send", api.SendPrompt{ChatID: made.Chat.ID, ClientID: "p", Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if end := within(t, a.end); end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("%+v", end)
	}
	a.mu.Lock()
	streamed := a.rows[a.last]
	a.mu.Unlock()
	// The row keeps its head and tail; the whole is read in chunks.
	var whole strings.Builder
	for at := int64(0); ; {
		got, err := api.Call[api.ContentResult](t.Context(), c, "chats.content", api.ContentRequest{ChatID: made.Chat.ID, ItemID: a.last, Field: "text", Offset: at})
		if err != nil {
			t.Fatal(err)
		}
		whole.WriteString(got.Text)
		if at = got.Next; at == 0 {
			break
		}
	}
	words := strings.Fields(whole.String())
	next := 0
	for _, word := range words {
		var n int
		if _, err := fmt.Sscanf(word, "%d", &n); err != nil {
			continue // padding
		}
		if next++; n != next {
			t.Fatalf("%d came as number %d", n, next)
		}
	}
	if next != deltas {
		t.Errorf("%d of %d deltas", next, deltas)
	}
	t.Logf("streamed %d bytes, whole %d bytes", len(streamed), whole.Len())
}
