package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// shelf is an agent that only has stored sessions, and counts who asks for their
// list.
type shelf struct {
	sessions int
	rows     int
	listed   atomic.Int64
	mirrored atomic.Int64
}

const shelfID = "shelf"

func (s *shelf) TerminalCommand(context.Context, agent.TerminalRequest) (agent.Command, []string, error) {
	return agent.Command{Argv: []string{"true"}}, nil, nil
}

func (s *shelf) Owner(context.Context, agent.Handle, []int) (agent.Ownership, error) {
	return agent.Ownership{Owner: agent.OwnerNobody, Evidence: "no process has it"}, nil
}

func (s *shelf) Tip(_ context.Context, h agent.Handle) (agent.Handle, error) { return h, nil }

func (s *shelf) ChangeDirs(agent.Handle) []string { return nil }

func (s *shelf) Mirror(ctx context.Context, h agent.Handle, _ agent.Position, sink agent.Sink) error {
	s.mirrored.Add(1)
	for i := range s.rows {
		it := agent.Item{ID: fmt.Sprint("i", i), Type: agent.ItemUser, At: int64(i + 1), Text: fmt.Sprintf("row %d of %s %s", i, h.NativeID, strings.Repeat("x", 5000))}
		if i%2 == 1 {
			it.Type, it.EndedAt = agent.ItemText, 1
		}
		sink.Item(it)
	}
	sink.CaughtUp(agent.Position{RecordID: "end"})
	<-ctx.Done()
	return nil
}

func (s *shelf) Stored(_ context.Context, _, cursor string, limit int) ([]agent.StoredSession, string, error) {
	s.listed.Add(1)
	from := 0
	if cursor != "" {
		_, _ = fmt.Sscan(cursor, &from)
	}
	var list []agent.StoredSession
	for i := from; i < s.sessions; i++ {
		if len(list) == limit {
			return list, fmt.Sprint(i), nil
		}
		list = append(list, agent.StoredSession{Handle: s.handle(i), Title: fmt.Sprint("Session ", i), UpdatedAt: int64(1000 - i), First: "first", Last: "last"})
	}
	return list, "", nil
}

func (s *shelf) handle(i int) agent.Handle {
	return agent.Handle{Harness: shelfID, NativeID: fmt.Sprint("s", i), Cwd: "/work"}
}

// startShelf starts a host with that agent; its clock is moved by the returned
// value.
func startShelf(t *testing.T, s *shelf) (*Host, *atomic.Int64) {
	t.Helper()
	h := newTestHost(t)
	var later atomic.Int64
	h.o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	h.builtin = func(*agentkit.Host) []agent.Harness {
		return []agent.Harness{{Identity: agent.Identity{Harness: shelfID, DisplayName: "Shelf", Mark: "SH"}, Handover: s, Traits: agent.Traits{Kinds: []agent.Kind{agent.KindWorkspace}}}}
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return h, &later
}

func adopt(t *testing.T, h *Host, client string, handle agent.Handle) model.ChatSummary {
	t.Helper()
	sum, err := h.chats.Create(t.Context(), chats.CreateRequest{ClientID: client, Harness: shelfID, Adopt: &handle})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// The list is read in pages; the import of one session asks for no list, and the
// same session twice is one chat, also under another client id.
func TestImportListsNothingAndIsIdempotent(t *testing.T) {
	s := &shelf{sessions: 5, rows: 4}
	h, _ := startShelf(t, s)
	got, err := h.stored(t.Context(), nil, api.StoredRequest{Harness: shelfID, Limit: 2})
	if err != nil || len(got.Sessions) != 2 || got.Next == "" || got.Sessions[0].First == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	listed := s.listed.Load()
	one := adopt(t, h, "a", s.handle(3))
	if two := adopt(t, h, "a", s.handle(3)); two.ID != one.ID {
		t.Error("the same request made two chats")
	}
	if three := adopt(t, h, "b", s.handle(3)); three.ID != one.ID {
		t.Error("the same session made two chats")
	}
	if n := s.listed.Load(); n != listed {
		t.Errorf("the import listed %d times", n-listed)
	}
	if n := len(h.chats.List()); n != 1 {
		t.Errorf("%d chats", n)
	}
}

// A preview shows both ends of a session, short, and imports nothing.
func TestPreviewIsBounded(t *testing.T) {
	s := &shelf{rows: 3000}
	h, _ := startShelf(t, s)
	got, err := h.preview(t.Context(), nil, api.PreviewRequest{Handle: s.handle(1)})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Head) != previewHead || len(got.Tail) != previewTail || got.Left != 3000-previewHead-previewTail {
		t.Errorf("%d, %d, %d", len(got.Head), len(got.Tail), got.Left)
	}
	if got.Head[0].ID != "i0" || got.Tail[previewTail-1].ID != "i2999" || len(got.Head[0].Text) > previewText+4 {
		t.Errorf("%s ... %s, %d bytes", got.Head[0].ID, got.Tail[previewTail-1].ID, len(got.Head[0].Text))
	}
	if raw, err := json.Marshal(got); err != nil || len(raw) > agent.LimitPayloadBytes {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if got.ChatID != "" || len(h.chats.List()) != 0 {
		t.Error("the preview made a chat")
	}
	sum := adopt(t, h, "a", s.handle(1))
	if got, err = h.preview(t.Context(), nil, api.PreviewRequest{Handle: s.handle(1)}); err != nil || got.ChatID != sum.ID {
		t.Errorf("the preview knows the chat %q of %q: %v", got.ChatID, sum.ID, err)
	}
	if _, err := h.preview(t.Context(), nil, api.PreviewRequest{Handle: agent.Handle{Harness: "none", NativeID: "x"}}); err == nil {
		t.Error("an unknown agent was read")
	}
}

// Retention removes archived chats that are due, tells what it removed, and
// leaves what is not archived, what is young and what somebody looks at.
func TestRetentionRemovesOnlyOldArchivedChatsThatNobodyHasOpen(t *testing.T) {
	s := &shelf{sessions: 5, rows: 4}
	h, later := startShelf(t, s)
	ids := map[string]string{}
	for i, name := range []string{"kept", "archived", "open"} {
		sum := adopt(t, h, name, s.handle(i))
		ids[name] = sum.ID
		if name != "kept" {
			if _, _, err := h.chats.Set(t.Context(), chats.Caller{}, sum.ID, "archived", json.RawMessage("true")); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := api.NewClient(t.Context(), api.ClientOptions{Dial: api.DialSocket(h.Socket()), Hello: api.Hello{Client: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	gone := make(chan string, 8)
	if _, err := c.Subscribe(t.Context(), api.TopicChats, api.Subscriber{Event: func(e api.Event) {
		var r api.Removed
		if e.Type == api.EventRemove && json.Unmarshal(e.Data, &r) == nil {
			gone <- r.IDs[0]
		}
	}}); err != nil {
		t.Fatal(err)
	}
	open, err := c.Subscribe(t.Context(), api.TopicChat+ids["open"], api.Subscriber{})
	if err != nil {
		t.Fatal(err)
	}
	look := func() time.Duration {
		t.Helper()
		next, err := h.retention.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	later.Store(int64(40 * 24 * time.Hour))
	if next := look(); next != 0 || len(h.chats.List()) != 3 {
		t.Fatalf("it is off by default: %v, %d chats", next, len(h.chats.List()))
	}
	if _, err := h.settings.Set("chats.keepArchivedDays", json.RawMessage("50")); err != nil {
		t.Fatal(err)
	}
	if next := look(); next < 9*24*time.Hour || next > 11*24*time.Hour || len(h.chats.List()) != 3 {
		t.Fatalf("the next one is due in %v, %d chats", next, len(h.chats.List()))
	}
	// The change of the setting is enough: nobody has to ask for a look.
	if _, err := h.settings.Set("chats.keepArchivedDays", json.RawMessage("30")); err != nil {
		t.Fatal(err)
	}
	select {
	case id := <-gone:
		if id != ids["archived"] {
			t.Fatalf("%s was removed", id)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was removed")
	}
	look()
	if n := len(h.chats.List()); n != 2 {
		t.Errorf("%d chats are left", n)
	}
	list, err := h.store.RemovedChats(t.Context(), 10)
	if err != nil || len(list) != 1 || list[0].ChatID != ids["archived"] || list[0].NativeID != "s1" || list[0].Rows != 4 {
		t.Errorf("removed: %+v, %v", list, err)
	}
	if err := open.Unsubscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A tab that is kept but not shown is open too.
	if err := h.store.SetUIState(t.Context(), windowState, json.RawMessage(`{"panes":[{"tabs":[{"kind":"chat","id":"`+ids["open"]+`"}]}]}`)); err != nil {
		t.Fatal(err)
	}
	look()
	if n := len(h.chats.List()); n != 2 {
		t.Errorf("a chat in a tab was removed: %d are left", n)
	}
	if err := h.store.SetUIState(t.Context(), windowState, nil); err != nil {
		t.Fatal(err)
	}
	look()
	if n := len(h.chats.List()); n != 1 {
		t.Errorf("%d chats are left", n)
	}
}

// What removing means is known before it is done.
func TestRemovalSaysWhatGoesAndWhatStays(t *testing.T) {
	s := &shelf{sessions: 1, rows: 4}
	h, _ := startShelf(t, s)
	sum := adopt(t, h, "a", s.handle(0))
	got, err := h.removal(t.Context(), nil, api.ChatRef{ChatID: sum.ID})
	if err != nil || got.Rows != 4 || got.AgentSession != "s0" || got.Running || got.AgentFile != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := h.removal(t.Context(), nil, api.ChatRef{ChatID: "none"}); err == nil {
		t.Error("a chat that is not there has a removal")
	}
	if err := h.chats.Remove(t.Context(), sum.ID); err != nil {
		t.Fatal(err)
	}
	if again := adopt(t, h, "again", s.handle(0)); again.ID == sum.ID {
		t.Error("the removed chat is back")
	}
}

func TestSearchThroughTheHost(t *testing.T) {
	s := &shelf{sessions: 2, rows: 4}
	h, _ := startShelf(t, s)
	adopt(t, h, "a", s.handle(0))
	got, err := h.search(t.Context(), nil, api.SearchRequest{Text: "ROW 2"})
	if err != nil || len(got.Hits) != 1 || got.Hits[0].ItemID != "i2" || got.Hits[0].Agent != shelfID {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = h.search(t.Context(), nil, api.SearchRequest{Text: "/work"}); err != nil || len(got.Titles) != 1 {
		t.Errorf("titles: %+v, %v", got.Titles, err)
	}
	if got, err = h.search(t.Context(), nil, api.SearchRequest{Text: "row", In: "sessions"}); err != nil || !got.Off {
		t.Errorf("sessions are read though nobody allowed it: %+v, %v", got, err)
	}
	for _, r := range []api.SearchRequest{{}, {Text: "x", In: "elsewhere"}, {Text: "xyz", Cursor: "bad"}} {
		if _, err := h.search(t.Context(), nil, r); err == nil {
			t.Errorf("%+v was taken", r)
		}
	}
}

// Sessions that are no chats are read only when a person allowed it, each once, and
// what was read goes when it is not allowed any more.
func TestSessionsAreReadForTheSearchOnlyWhenAllowed(t *testing.T) {
	s := &shelf{sessions: 3, rows: 500}
	h, _ := startShelf(t, s)
	find := func(text string) api.SearchResult {
		t.Helper()
		got, err := h.search(t.Context(), nil, api.SearchRequest{Text: text, In: "sessions", Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if err := h.texts.look(t.Context()); err != nil || s.mirrored.Load() != 0 || !find("row").Off {
		t.Fatalf("%d sessions were read without a word: %v", s.mirrored.Load(), err)
	}
	if _, err := h.settings.Set("search.sessions", json.RawMessage("true")); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		got := find(`"row 499 of"`)
		if len(got.Hits) == 3 {
			if k := got.Hits[0].Key; k == nil || k.Harness != shelfID || got.Hits[0].Title == "" || got.Hits[0].ChatID != "" {
				t.Errorf("%+v", got.Hits[0])
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of 3 sessions are found", len(got.Hits))
		}
		time.Sleep(50 * time.Millisecond)
	}
	if n := len(find(`"row 3 of s1"`).Hits); n != 1 {
		t.Errorf("a row is found %d times", n)
	}
	read := s.mirrored.Load()
	if err := h.texts.look(t.Context()); err != nil || s.mirrored.Load() != read {
		t.Errorf("what did not change was read again: %v", err)
	}
	// One that became a chat is found there, not twice.
	adopt(t, h, "a", s.handle(1))
	if n := len(find(`"row 3 of s1"`).Hits); n != 0 {
		t.Errorf("a chat is found as a session too")
	}
	if _, err := h.settings.Set("search.sessions", json.RawMessage("false")); err != nil {
		t.Fatal(err)
	}
	if err := h.texts.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := 0
	if err := h.store.Transcripts(t.Context(), func(store.Transcript) { left++ }); err != nil || left != 0 {
		t.Errorf("%d texts are left: %v", left, err)
	}
}
