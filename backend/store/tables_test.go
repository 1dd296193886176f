package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

func item(t *rapid.T) agent.Item {
	big := rapid.Custom(func(t *rapid.T) string {
		unit := rapid.SampledFrom([]string{"x", "я", "連", "👩‍👩‍👧", "a\n", "\x00", `"`}).Draw(t, "unit")
		size := rapid.SampledFrom([]int{0, 1, inline - 1, inline, inline + 1, part*2 - 1, shown - 1, shown, shown + 1, shown + part, chunk + 5}).Draw(t, "size")
		return strings.Repeat(unit, size/len(unit)+1)
	})
	it := agent.Item{ID: "i", Type: agent.ItemTool, CallID: "c", Name: "n", State: agent.StateCompleted, Output: big.Draw(t, "output")}
	raw, _ := json.Marshal(map[string]string{"k": big.Draw(t, "raw")})
	switch rapid.IntRange(0, 4).Draw(t, "detail") {
	case 0:
		it.Detail = &agent.Detail{Edit: &agent.EditDetail{Path: "p", Old: big.Draw(t, "old"), New: big.Draw(t, "new"), Diff: big.Draw(t, "diff")}}
	case 1:
		it.Detail = &agent.Detail{Write: &agent.WriteDetail{Path: "p", Content: big.Draw(t, "content")}}
	case 2:
		it.Detail = &agent.Detail{MCP: &agent.MCPDetail{Server: "s", Tool: "t", Input: raw}}
	case 3:
		it.Detail = &agent.Detail{Unknown: &agent.UnknownDetail{Input: raw, Output: raw}}
	case 4:
		it.Text = big.Draw(t, "text")
		it.Attachments = []agent.Attachment{{Kind: "image", Name: "n", Bytes: []byte(big.Draw(t, "bytes"))}}
	}
	return it
}

// Any item comes back whole, is shown the same stored and live, and its content
// can be fetched in chunks that give the whole.
func TestBigItemsComeBackWhole(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	rapid.Check(t, func(t *rapid.T) {
		want := model.Row{Item: item(t)}
		before, _ := json.Marshal(want)
		if err := s.PutRows(ctx, "c", text("i", "small"), want, text("after", "x"), want); err != nil {
			t.Fatal(err)
		}
		if now, _ := json.Marshal(want); !bytes.Equal(now, before) {
			t.Fatal("storing changed the caller's item")
		}
		got, err := s.Row(ctx, "c", "i")
		if err != nil {
			t.Fatal(err)
		}
		if !agent.SameRow(got.Item, want.Item) || len(got.Cut) != 0 {
			t.Fatalf("another item came back")
		}
		tail, err := s.Tail(ctx, "c", 10)
		if err != nil || len(tail) != 2 {
			t.Fatalf("%d rows, %v", len(tail), err)
		}
		live := Shorten(want)
		live.Seq = tail[0].Seq
		a, _ := json.Marshal(tail[0])
		b, _ := json.Marshal(live)
		if !bytes.Equal(a, b) {
			t.Fatalf("stored and live differ:\n%.300s\n%.300s", a, b)
		}
		whole := detach(want.Item)
		for _, f := range fieldsOf(&whole) {
			var all strings.Builder
			for offset := int64(0); ; {
				text, next, size, err := s.Content(ctx, "c", "i", f.name, offset)
				if err != nil || size != int64(f.size()) || len(text) > chunk {
					t.Fatalf("%s at %d: size %d of %d, %d bytes, %v", f.name, offset, size, f.size(), len(text), err)
				}
				all.WriteString(text)
				if next == 0 {
					break
				}
				offset = next
			}
			if all.String() != f.get() {
				t.Fatalf("%s: the chunks are not the whole", f.name)
			}
		}
	})
	if err := s.DeleteRows(ctx, "c", 2); err != nil {
		t.Fatal(err)
	}
	if n, last, err := s.CountRows(ctx, "c"); err != nil || n != 1 || last != 1 {
		t.Errorf("after the rewind %d rows, last %d, %v", n, last, err)
	}
}

func TestShortenedRowIsNeverStored(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	if _, err := s.PutRow(ctx, "c", Shorten(text("a", strings.Repeat("x", shown+1)))); !errors.Is(err, ErrConflict) {
		t.Errorf("stored a shortened row: %v", err)
	}
	if _, err := s.PutRow(ctx, "nobody", text("a", "x")); !errors.Is(err, ErrNotFound) {
		t.Errorf("a row without a chat: %v", err)
	}
}

func TestPagesMeet(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	for i := range 25 {
		if _, err := s.PutRow(ctx, "c", text(fmt.Sprint(i), "x")); err != nil {
			t.Fatal(err)
		}
	}
	var up []int64
	for before := int64(0); ; {
		page, err := s.Before(ctx, "c", before, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		before = page[0].Seq
		for i := len(page) - 1; i >= 0; i-- {
			up = append(up, page[i].Seq)
		}
	}
	if len(up) != 25 || up[0] != 25 || up[24] != 1 {
		t.Errorf("paging up gave %v", up)
	}
	down, err := s.After(ctx, "c", 20, 100)
	if err != nil || len(down) != 5 || down[0].Seq != 21 {
		t.Errorf("after 20: %d rows, %v", len(down), err)
	}
}

func TestTurnsHaveOneEnd(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	if err := s.OpenTurn(ctx, "c", Turn{Turn: 1, Origin: agent.OriginPrompt, ClientID: "p", StartedAt: 5}); err != nil {
		t.Fatal(err)
	}
	if err := s.OpenTurn(ctx, "c", Turn{Turn: 2, StartedAt: 6}); !errors.Is(err, ErrConflict) {
		t.Errorf("two open turns: %v", err)
	}
	if err := s.EndTurn(ctx, "c", 1, agent.TurnEnd{Outcome: agent.OutcomeCompleted}, 9); err != nil {
		t.Fatal(err)
	}
	if err := s.EndTurn(ctx, "c", 1, agent.TurnEnd{Outcome: agent.OutcomeFailed}, 10); !errors.Is(err, ErrConflict) {
		t.Errorf("a second end: %v", err)
	}
	got, err := s.LastTurn(ctx, "c")
	want := Turn{Turn: 1, Origin: agent.OriginPrompt, ClientID: "p", StartedAt: 5, EndedAt: 9, End: &agent.TurnEnd{Outcome: agent.OutcomeCompleted}}
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
}

func queueIDs(t *testing.T, s *Store) string {
	t.Helper()
	list, err := s.Queue(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range list {
		ids = append(ids, e.ClientID+"="+string(e.State))
	}
	return strings.Join(ids, " ")
}

// Case S07, the store's part: exactly once by client id, in order, editable,
// and what a killed host was sending becomes unknown.
func TestQueueIsDurableAndExactlyOnce(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	newChat(t, s, "c")
	for _, id := range []string{"a", "b", "d"} {
		if _, fresh, err := s.Enqueue(ctx, "c", model.QueueEntry{ClientID: id, Text: "text " + id}); err != nil || !fresh {
			t.Fatalf("%s: %v %v", id, fresh, err)
		}
	}
	if e, fresh, err := s.Enqueue(ctx, "c", model.QueueEntry{ClientID: "a", Text: "again"}); err != nil || fresh || e.Text != "text a" {
		t.Errorf("the same prompt again: %+v %v %v", e, fresh, err)
	}
	if err := s.MoveQueued(ctx, "c", "d", "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.EditQueued(ctx, "c", "b", "edited"); err != nil {
		t.Fatal(err)
	}
	e, err := s.ClaimQueued(ctx, "c", "d")
	if err != nil || e.Text != "text d" {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err := s.ClaimQueued(ctx, "c", "d"); !errors.Is(err, ErrConflict) {
		t.Errorf("claimed twice: %v", err)
	}
	for name, err := range map[string]error{"edit": s.EditQueued(ctx, "c", "d", "late"), "remove": s.RemoveQueued(ctx, "c", "d")} {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("%s while sending: %v", name, err)
		}
	}
	if got := queueIDs(t, s); got != "d=sending a=queued b=queued" {
		t.Error(got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, dir, Options{})
	if _, err := s.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if got := queueIDs(t, s); got != "d=unknown a=queued b=queued" {
		t.Error(got)
	}
	if err := s.SetQueueState(ctx, "c", "d", model.QueueAccepted, ""); err != nil {
		t.Fatal(err)
	}
	if got := queueIDs(t, s); got != "a=queued b=queued" {
		t.Error(got)
	}
	if e, fresh, err := s.Enqueue(ctx, "c", model.QueueEntry{ClientID: "d", Text: "again"}); err != nil || fresh || e.State != model.QueueAccepted {
		t.Errorf("an accepted prompt again: %+v %v %v", e, fresh, err)
	}
	if err := s.MoveQueued(ctx, "c", "a", ""); err != nil {
		t.Fatal(err)
	}
	if got := queueIDs(t, s); got != "b=queued a=queued" {
		t.Error(got)
	}
	if n, err := s.CountQueued(ctx); err != nil || n["c"] != 2 {
		t.Errorf("%v %v", n, err)
	}
}

// Case A02: 200 races, each has one winner and the loser learns which.
func TestFirstAnswerWins(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	for i := range 200 {
		id := fmt.Sprint("a", i)
		if err := s.InsertApproval(ctx, model.ApprovalCard{Approval: agent.Approval{ID: id}, ChatID: "c", Revision: 1, At: int64(i), State: model.CardOpen}); err != nil {
			t.Fatal(err)
		}
		type result struct {
			option string
			won    bool
			card   model.ApprovalCard
		}
		results := make(chan result, 2)
		for _, option := range []string{"allow", "reject"} {
			go func() {
				card, won, err := s.AnswerApproval(ctx, "c", id, 1, model.RecordedAnswer{ApprovalAnswer: agent.ApprovalAnswer{OptionID: option}, By: "window", At: 3})
				if err != nil {
					t.Error(err)
				}
				results <- result{option, won, card}
			}()
		}
		one, two := <-results, <-results
		if one.won == two.won || one.card.Answer.OptionID != two.card.Answer.OptionID {
			t.Fatalf("%+v %+v", one, two)
		}
	}
	if open, err := s.OpenApprovals(ctx, ""); err != nil || len(open) != 0 {
		t.Errorf("%d open, %v", len(open), err)
	}
	list, err := s.AuditApprovals(ctx, 3)
	if err != nil || len(list) != 3 || list[0].ID != "a199" {
		t.Errorf("audit: %v, %v", list, err)
	}
}

func TestApprovalOfAnotherRevisionIsAnotherCard(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	newChat(t, s, "d")
	card := model.ApprovalCard{Approval: agent.Approval{ID: "x"}, ChatID: "c", Revision: 1, State: model.CardOpen}
	for range 2 {
		if err := s.InsertApproval(ctx, card); err != nil {
			t.Fatal(err)
		}
		card.Revision++
	}
	if err := s.InsertApproval(ctx, model.ApprovalCard{Approval: agent.Approval{ID: "x"}, ChatID: "c", Revision: 2}); !errors.Is(err, ErrConflict) {
		t.Errorf("the same card twice: %v", err)
	}
	if got, err := s.Approval(ctx, "", "x"); err != nil || got.Revision != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	card.ChatID = "d"
	if err := s.InsertApproval(ctx, card); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Approval(ctx, "", "x"); !errors.Is(err, ErrConflict) {
		t.Errorf("an id of two chats: %v", err)
	}
	if _, err := s.Approval(ctx, "d", "x"); err != nil {
		t.Error(err)
	}
}

// Case H01: the lineage keeps every id, and a session that goes back to an
// older id makes that one the tip.
func TestLineage(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	for _, step := range [][2]string{{"1", "2"}, {"2", "3"}, {"1", "4"}} { // the last comes from a stale reader
		if err := s.Alias(ctx, "h", step[0], step[1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"1", "2", "3", "4"} {
		if tip, err := s.Tip(ctx, "h", id); err != nil || tip != "4" {
			t.Errorf("tip of %s: %s, %v", id, tip, err)
		}
	}
	if got, err := s.Aliases(ctx, "h", "4"); err != nil || strings.Join(got, "") != "321" {
		t.Errorf("aliases %v, %v", got, err)
	}
	if err := s.Alias(ctx, "h", "4", "1"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2", "3", "4"} {
		if tip, err := s.Tip(ctx, "h", id); err != nil || tip != "1" {
			t.Errorf("after the way back, tip of %s: %s, %v", id, tip, err)
		}
	}
	if tip, err := s.Tip(ctx, "other", "1"); err != nil || tip != "1" {
		t.Errorf("another harness: %s, %v", tip, err)
	}
}

func TestLeases(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	alive := true
	look := func(Lease) bool { return alive }
	l := Lease{Harness: "h", NativeID: "s", Holder: "one", Pid: 1, Start: 1 << 63, Boot: "b"}
	if _, ok, err := s.TakeLease(ctx, l, look); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, ok, err := s.TakeLease(ctx, l, look); !ok || err != nil {
		t.Error("the holder again:", ok, err)
	}
	other := l
	other.Holder = "two"
	if cur, ok, err := s.TakeLease(ctx, other, look); ok || err != nil || cdiff(cur, l) {
		t.Errorf("a second holder: %v %v %+v", ok, err, cur)
	}
	if err := s.MoveLease(ctx, "h", "s", "s2", "one"); err != nil {
		t.Fatal(err)
	}
	if err := s.MoveLease(ctx, "h", "s", "s2", "two"); !errors.Is(err, ErrConflict) {
		t.Errorf("moved by another: %v", err)
	}
	alive = false
	other.NativeID = "s2"
	if cur, ok, err := s.TakeLease(ctx, other, look); !ok || err != nil || cur.Holder != "two" {
		t.Errorf("after the holder's death: %v %v %+v", ok, err, cur)
	}
	if err := s.ReleaseLease(ctx, "h", "s2", "one"); err != nil {
		t.Fatal(err)
	}
	if cur, err := s.Lease(ctx, "h", "s2"); err != nil || cur.Holder != "two" {
		t.Errorf("released by another: %+v %v", cur, err)
	}
}

func cdiff(a, b Lease) bool { return cmp.Diff(a, b) != "" }

// The lock of another process ends with that process.
func TestSessionLock(t *testing.T) {
	dir := t.TempDir()
	cmd, out := start(t, "lock", dir)
	if !out.Scan() {
		t.Fatal("the child did not lock")
	}
	var locked *LockedError
	if _, err := LockSession(dir, "h", "s", "me"); !errors.As(err, &locked) || locked.Pid != cmd.Process.Pid || locked.Holder != "child" {
		t.Fatalf("%v %+v", err, locked)
	}
	if l, err := LockSession(dir, "h", "other", "me"); err != nil {
		t.Error(err)
	} else if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	mine, err := LockSession(dir, "h", "s", "me")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockSession(dir, "h", "s", "me"); !errors.As(err, &locked) {
		t.Errorf("twice in one process: %v", err)
	}
	if err := errors.Join(mine.Close(), mine.Close()); err != nil {
		t.Error(err)
	}
}

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

// Case T17, the index's part: 5,000 known sessions are paged, never held.
func TestFiveThousandStoredSessions(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	files := make([]StoredFile, 5000)
	for i := range files {
		files[i] = StoredFile{Path: fmt.Sprintf("/h/%d.jsonl", i), Size: int64(i), Mtime: 1e18, Inode: 1 << 63, Session: agent.StoredSession{
			Handle: agent.Handle{Harness: "h", NativeID: fmt.Sprint("n", i), Cwd: fmt.Sprint("/w/", i%10)}, Title: "title", UpdatedAt: int64(i / 3)}}
	}
	if err := s.PutStored(ctx, files...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	last := int64(1 << 60)
	for cursor := ""; ; {
		page, next, err := s.ListStored(ctx, "h", "", cursor, 400)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page {
			if seen[p.Handle.NativeID] || p.UpdatedAt > last {
				t.Fatalf("%s twice or out of order", p.Handle.NativeID)
			}
			seen[p.Handle.NativeID], last = true, p.UpdatedAt
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if len(seen) != 5000 {
		t.Errorf("%d sessions", len(seen))
	}
	if page, _, err := s.ListStored(ctx, "", "/w/3", "", 1000); err != nil || len(page) != 500 {
		t.Errorf("%d in one folder, %v", len(page), err)
	}
	if n, err := s.CountStored(ctx, "h"); err != nil || n != 5000 {
		t.Error(n, err)
	}
	f, err := s.StoredByID(ctx, "h", "n7")
	if err != nil || !f.Same(7, 1e18, 1<<63) || f.Same(8, 1e18, 1<<63) {
		t.Error(f, err)
	}
	if err := s.RemoveStored(ctx, "h", "/h/7.jsonl"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StoredByPath(ctx, "h", "/h/7.jsonl"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	visited := 0
	if err := s.EachStored(ctx, "", func(StoredFile) error { visited++; return nil }); err != nil || visited != 4999 {
		t.Error(visited, err)
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
func TestSessionLockRace(t *testing.T) {
	dir := t.TempDir()
	var holders, taken atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 500 {
				l, err := LockSession(dir, "h", "s", "x")
				var locked *LockedError
				if errors.As(err, &locked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the session", n)
				}
				taken.Add(1)
				holders.Add(-1)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if taken.Load() == 0 {
		t.Error("nobody ever got it")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d files left, %v", len(left), err)
	}
}
