package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

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
	list, next, err := s.AuditApprovals(ctx, "", 3)
	if err != nil || len(list) != 3 || list[0].ID != "a199" {
		t.Errorf("audit: %v, %v", list, err)
	}
	seen := map[string]bool{}
	for _, c := range list {
		seen[c.ID] = true
	}
	for pages := 0; next != "" && pages < 100; pages++ {
		if list, next, err = s.AuditApprovals(ctx, next, 7); err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if seen[c.ID] {
				t.Fatalf("%s is on two pages", c.ID)
			}
			seen[c.ID] = true
		}
	}
	if len(seen) != 200 {
		t.Errorf("the pages hold %d cards", len(seen))
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

// The pages of the audit go by what never changes of a card: one that is removed
// or added meanwhile moves no other.
func TestAuditPagesStandStill(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	newChat(t, s, "d")
	add := func(chat, id string, at int64) {
		t.Helper()
		if err := s.InsertApproval(ctx, model.ApprovalCard{Approval: agent.Approval{ID: id}, ChatID: chat, Revision: 1, At: at, State: model.CardWithdrawn}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 { // several in one millisecond
		add("c", fmt.Sprintf("c%02d", i), int64(100+i/3))
	}
	for i := range 5 {
		add("d", fmt.Sprintf("d%d", i), 200)
	}
	var got []string
	list, next, err := s.AuditApprovals(ctx, "", 8)
	for n := 0; ; n++ {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			got = append(got, c.ID)
		}
		if next == "" {
			break
		}
		if n == 0 { // the newest go, and others take their row numbers
			if err := s.DeleteChat(ctx, "d"); err != nil {
				t.Fatal(err)
			}
			newChat(t, s, "e")
			for i := range 8 {
				add("e", fmt.Sprintf("e%d", i), 300)
			}
		}
		list, next, err = s.AuditApprovals(ctx, next, 4)
	}
	want := []string{"d4", "d3", "d2", "d1", "d0"}
	for i := 19; i >= 0; i-- {
		want = append(want, fmt.Sprintf("c%02d", i))
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages\n%v\nwant\n%v", got, want)
	}
	for _, bad := range []string{"7", "!", "W10", "bm90IGpzb24"} {
		if _, _, err := s.AuditApprovals(ctx, bad, 4); bad != "W10" && !errors.Is(err, ErrNotFound) {
			t.Errorf("the cursor %q: %v", bad, err)
		}
	}
}
