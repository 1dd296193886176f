package main

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// screen collects what a terminal shows and tells when a text was seen.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	want string
	seen chan struct{}
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	s.look()
	return len(b), nil
}

func (s *screen) look() {
	if s.want != "" && strings.Contains(s.text.String(), s.want) {
		s.want = ""
		close(s.seen)
	}
}

func (s *screen) expect(text string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want, s.seen = text, make(chan struct{})
	ch := s.seen
	s.look()
	return ch
}

// hands follows where a chat's session is.
func hands(t *testing.T, c *api.Client, chatID string) <-chan model.ChatSummary {
	t.Helper()
	ch := make(chan model.ChatSummary, 256)
	put := func(raw json.RawMessage) {
		var s model.ChatSummary
		if json.Unmarshal(raw, &s) == nil && s.ID == chatID {
			ch <- s
		}
	}
	_, err := c.Subscribe(t.Context(), api.TopicChat+chatID, api.Subscriber{
		Snapshot: put,
		Event: func(e api.Event) {
			if e.Type == api.EventChat {
				put(e.Data)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestHandoffToATabAndBack(t *testing.T) {
	w := newWorld(t, "")
	w.serve("--keep")
	if r := w.cli("run", "--provider", "rehearsal", "hello"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	chat := w.chats()[0]
	c := w.client(api.ClientOptions{})
	where := hands(t, c, chat.ID)
	if r := w.cli("handoff", chat.ID, "--terminal", "app"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	list, err := api.Call[api.Terminals](t.Context(), c, "terminals.list", api.None{})
	if err != nil || len(list.Terminals) != 1 || list.Terminals[0].ChatID != chat.ID {
		t.Fatalf("%+v %v", list, err)
	}
	var view screen
	// A person looks into the tab from another terminal.
	tab := w.command(terminalProgram, "-c", `"$@"; exit $?`, "sh", binary, "attach", list.Terminals[0].ID)
	keys, err := tab.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	tab.Stdout, tab.Stderr = &view, &view
	if err := tab.Start(); err != nil {
		t.Fatal(err)
	}
	for s := range where {
		if s.Hand.State == model.HandMirror {
			break
		}
	}
	within(t, view.expect("Rehearsal"))
	if _, err := io.WriteString(keys, "typed in the terminal\r"); err != nil {
		t.Fatal(err)
	}
	within(t, view.expect("typed in the terminal"))
	if r := w.cli("takeback", chat.ID, "--force"); r.code != 0 {
		t.Fatalf("%+v\nscreen: %q", r, view.text.String())
	}
	if err := tab.Wait(); err != nil { // the tab's program ended
		t.Errorf("attach: %v", err)
	}
	if got := w.chats()[0]; got.Hand.State != model.HandApp {
		t.Errorf("%+v", got.Hand)
	}
	rows, err := api.Call[api.RowsResult](t.Context(), c, "chats.rows", api.RowsRequest{ChatID: chat.ID, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	typed := 0
	for _, r := range rows.Rows {
		if r.Type == agent.ItemUser && r.Text == "typed in the terminal" && r.Via == "terminal" {
			typed++
		}
	}
	if typed != 1 {
		t.Errorf("%d rows of what was typed in the terminal: %+v", typed, rows.Rows)
	}
	if r := w.cli("send", chat.ID, "hello"); r.code != 0 {
		t.Errorf("after taking it back: %+v", r)
	}
}
