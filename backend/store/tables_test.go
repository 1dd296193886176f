package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Two identical creations give one chat (case S08's store part).
func TestCreationIsIdempotent(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	ids := make(chan string, 20)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rec, _, err := s.CreateChat(ctx, ChatRecord{ID: fmt.Sprint("chat", i), ClientID: "one", Harness: "h"})
			if err != nil {
				t.Error(err)
			}
			ids <- rec.ID
		}()
	}
	wg.Wait()
	close(ids)
	first := <-ids
	for id := range ids {
		if id != first {
			t.Errorf("got both %s and %s", first, id)
		}
	}
	if list, err := s.Chats(ctx); err != nil || len(list) != 1 {
		t.Errorf("%d chats, %v", len(list), err)
	}
	if _, _, err := s.CreateChat(ctx, ChatRecord{ID: first, ClientID: "two"}); !errors.Is(err, ErrConflict) {
		t.Errorf("a used id: %v", err)
	}
}

func TestChatRecordSurvives(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	rec := ChatRecord{ID: "c", ClientID: "k", Title: "T", Harness: "h", Provider: "p", Kind: agent.KindWorkspace, Cwd: "/w",
		Handle: &agent.Handle{Harness: "h", NativeID: "n1", Cwd: "/w", Env: map[string]string{"A": "b"}, Meta: json.RawMessage(`{"x":1}`)},
		Model:  "m", Mode: "ask", Thinking: "high", Features: map[string]json.RawMessage{"f": json.RawMessage("true")}, Options: json.RawMessage(`{"o":[1]}`),
		Agent: agent.AgentInfo{Name: "N", Version: "1"}, Abilities: []agent.Ability{agent.AbilityImages},
		Hand: model.Hand{State: model.HandMirror, Since: 5}, Applied: agent.Position{RecordID: "r", Offset: 7},
		LastEnd: &agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "crashed"}, Unread: true, CreatedAt: 1, UpdatedAt: 2, Extra: json.RawMessage(`[]`)}
	if err := s.PutChat(ctx, rec); err != nil {
		t.Fatal(err)
	}
	got, err := s.Chat(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rec, got); d != "" {
		t.Error(d)
	}
	if err := s.UpdateChat(ctx, "c", func(r *ChatRecord) { r.Handle.NativeID = "n2"; r.Title = "new" }); err != nil {
		t.Fatal(err)
	}
	if err := s.Alias(ctx, "h", "n1", "n2"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"n1", "n2"} {
		if got, err := s.ChatBySession(ctx, "h", id); err != nil || got.Title != "new" {
			t.Errorf("by session %s: %q, %v", id, got.Title, err)
		}
	}
	if err := s.PutRows(ctx, "c", text("a", strings.Repeat("x", 100000))); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteChat(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := one(ctx, s.read(), []any{&left}, "SELECT (SELECT COUNT(*) FROM rows) + (SELECT COUNT(*) FROM content)"); err != nil || left != 0 {
		t.Errorf("%d rows and parts left, %v", left, err)
	}
	if _, err := s.Chat(ctx, "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a deleted chat: %v", err)
	}
}

// Any item comes back whole, is shown the same stored and live, and its content
// can be fetched in chunks that give the whole.
// Case S07, the store's part: exactly once by client id, in order, editable,
// and what a killed host was sending becomes unknown.
// Case A02: 200 races, each has one winner and the loser learns which.
// Case H01: the lineage keeps every id, and a session that goes back to an
// older id makes that one the tip.
// The lock of another process ends with that process.
func TestRulesTrustHelpersAndWindowState(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	if err := s.PutRule(ctx, model.ApprovalRule{ID: "r", Project: "/w", Harness: "h", Tool: "execute", Pattern: "go test", At: 1}); err != nil {
		t.Fatal(err)
	}
	if rules, err := s.Rules(ctx); err != nil || len(rules) != 1 || rules[0].Pattern != "go test" {
		t.Errorf("%v %v", rules, err)
	}
	if err := s.RemoveRule(ctx, "r"); err != nil {
		t.Error(err)
	}
	if err := s.RemoveRule(ctx, "r"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if state, err := s.Trust(ctx, "/w"); err != nil || state != "" {
		t.Error(state, err)
	}
	if err := s.SetTrust(ctx, "/w", "trusted"); err != nil {
		t.Fatal(err)
	}
	if state, err := s.Trust(ctx, "/w"); err != nil || state != "trusted" {
		t.Error(state, err)
	}
	h := Helper{Pid: 9, Start: 1<<63 + 5, Boot: "b", ID: "i", Sid: 4, Purpose: "chat", Owner: "c", Argv0: "claude", At: 1}
	if err := s.HelperStarted(ctx, h); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Helpers(ctx); err != nil || len(list) != 1 || list[0] != h {
		t.Errorf("%+v %v", list, err)
	}
	if err := s.HelperEnded(ctx, 9, h.Start, "b"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Helpers(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if v, err := s.UIState(ctx, "k"); err != nil || v != nil {
		t.Error(v, err)
	}
	if err := s.SetUIState(ctx, "k", json.RawMessage(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if v, err := s.UIState(ctx, "k"); err != nil || string(v) != `{"a":1}` {
		t.Error(v, err)
	}
	for _, bad := range []string{"{", strings.Repeat(" ", LimitUIState+1)} {
		if err := s.SetUIState(ctx, "k", json.RawMessage(bad)); err == nil {
			t.Error("stored a bad value")
		}
	}
}

func TestAcknowledgementsNeverGoBack(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	k := model.SessionKey{Harness: "h", ID: "s"}
	for _, at := range []int64{5, 9, 7} {
		if err := s.Acknowledge(ctx, k, at); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := s.Acknowledged(ctx, 0); err != nil || m[k] != 9 {
		t.Error(m, err)
	}
	row := model.Session{Key: k, State: model.SessionDone, EndedAt: 3, Title: "T"}
	if err := s.PutEnded(ctx, row); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Ended(ctx); err != nil || len(list) != 1 || cmp.Diff(row, list[0]) != "" {
		t.Error(list, err)
	}
	if err := s.RemoveEnded(ctx, k); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Ended(ctx); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

func TestFoldersAreRemembered(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	if _, err := s.Folder(ctx, "/w"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	want := model.Project{Root: "/r", Name: "r", Worktree: "w"}
	for _, p := range []model.Project{{Root: "/x", Name: "x"}, want} {
		if err := s.RememberFolder("/w", p); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Do(ctx, func(*Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Folder(ctx, "/w"); err != nil || got != want {
		t.Error(got, err)
	}
}

// Case H02, the lock's part: whoever takes and gives up in whatever order, two
// never hold one session, also while the file is being removed and made anew.
