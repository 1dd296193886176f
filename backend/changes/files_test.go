package changes

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

type rows []model.Row

func (r rows) Edits(_ context.Context, _ string, turn, after int64, limit int) ([]model.Row, error) {
	var out []model.Row
	for _, row := range r {
		if row.Seq > after && (turn < 0 || row.Turn == turn) && len(out) < limit {
			out = append(out, row)
		}
	}
	return out, nil
}

func tool(seq, turn int64, state agent.ItemState, d agent.Detail) model.Row {
	return model.Row{Seq: seq, Turn: turn, Item: agent.Item{ID: "t" + string(rune('a'+seq)), Type: agent.ItemTool, State: state, Detail: &d, At: seq}}
}

var sample = rows{
	tool(1, 1, agent.StateCompleted, agent.Detail{Edit: &agent.EditDetail{Path: "src/a.go", Diff: "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n", Added: 1, Removed: 1}}),
	tool(2, 1, agent.StateFailed, agent.Detail{Edit: &agent.EditDetail{Path: "src/a.go", Added: 9}}),
	tool(3, 1, agent.StateDeclined, agent.Detail{Write: &agent.WriteDetail{Path: "/w/no.txt", Content: "no"}}),
	tool(4, 2, agent.StateCompleted, agent.Detail{Edit: &agent.EditDetail{Path: "/w/src/a.go", Old: "one\ntwo\n", New: "one\n2\nthree\n", StartLine: 11}}),
	tool(5, 2, agent.StateCompleted, agent.Detail{Write: &agent.WriteDetail{Path: "/w/new.txt", Content: "a\nb", Created: true}}),
	tool(6, 3, agent.StateCompleted, agent.Detail{Write: &agent.WriteDetail{Path: "/etc/x", Content: "a\n"}}),
}

func TestFilesOfAChatAndOfATurn(t *testing.T) {
	got, err := Files(t.Context(), sample, Of{Cwd: "/w", Turn: -1})
	if err != nil {
		t.Fatal(err)
	}
	want := Summary{Added: 6, Removed: 2, Total: 3, Files: []model.ChangedFile{
		{Path: "/etc/x", Added: 1, Unknown: true, Pieces: 1, Turns: []int64{3}},
		{Path: "/w/new.txt", Rel: "new.txt", Created: true, Added: 2, Pieces: 1, Turns: []int64{2}},
		{Path: "/w/src/a.go", Rel: "src/a.go", Added: 3, Removed: 2, Pieces: 2, Turns: []int64{1, 2}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err = Files(t.Context(), sample, Of{Cwd: "/w", Turn: 1}); err != nil || got.Total != 1 || got.Added != 1 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestPiecesAreDiffsInOrder(t *testing.T) {
	list, next, err := Pieces(t.Context(), sample, Of{Cwd: "/w", Turn: -1}, "/w/src/a.go", "")
	if err != nil || next != "" || len(list) != 2 {
		t.Fatal(list, next, err)
	}
	if list[0].Diff != "@@ -1,2 +1,2 @@\n-x\n+y\n z\n" || !strings.HasPrefix(list[1].Diff, "@@ -11,2 +11,3 @@\n") || !strings.Contains(list[1].Diff, "\n-two\n+2\n+three\n") {
		t.Errorf("%q\n%q", list[0].Diff, list[1].Diff)
	}
	list, _, err = Pieces(t.Context(), sample, Of{Cwd: "/w", Turn: -1}, "new.txt", "")
	if err != nil || len(list) != 1 || list[0].Diff != "@@ -0,0 +1,2 @@\n+a\n+b" {
		t.Errorf("%+v %v", list, err)
	}
	list, _, err = Pieces(t.Context(), sample, Of{Cwd: "/w", Turn: -1}, "/etc/x", "")
	if err != nil || len(list) != 1 || list[0].Why == "" {
		t.Errorf("%+v %v", list, err)
	}
}

// Large edits come in pages, shortened, and each says what its whole size is.
func TestLargePiecesComeInPages(t *testing.T) {
	var many rows
	for i := range int64(20) {
		many = append(many, tool(i+1, 1, agent.StateCompleted, agent.Detail{Write: &agent.WriteDetail{Path: "/w/big", Content: strings.Repeat("\x01\n", 200_000), Created: true}}))
	}
	cursor, seen := "", 0
	for {
		list, next, err := Pieces(t.Context(), many, Of{Cwd: "/w", Turn: -1}, "/w/big", cursor)
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		for _, p := range list {
			if seen++; p.Cut == 0 || p.Field != "content" || len(p.Diff) > maxPiece {
				t.Fatal(p.Cut, p.Field, len(p.Diff))
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	if seen != 20 {
		t.Error(seen, "of 20 pieces")
	}
}
