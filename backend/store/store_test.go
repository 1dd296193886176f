package store

import (
	"context"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

var ctx = context.Background()

func openTest(t *testing.T, dir string, opts Options) *Store {
	t.Helper()
	if opts.Ballast == 0 {
		opts.Ballast = -1
	}
	s, err := OpenWith(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newChat(t *testing.T, s *Store, id string) {
	t.Helper()
	if _, _, err := s.CreateChat(ctx, ChatRecord{ID: id, Harness: "rehearsal", Kind: agent.KindWorkspace, Cwd: "/w"}); err != nil {
		t.Fatal(err)
	}
}

func text(id, s string) model.Row {
	return model.Row{Item: agent.Item{ID: id, Type: agent.ItemText, Text: s, EndedAt: 1}}
}

func TestRowsKeepTheirPlace(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	for i, id := range []string{"a", "b", "c"} {
		seq, err := s.PutRow(ctx, "c", text(id, id))
		if err != nil || seq != int64(i+1) {
			t.Fatalf("row %s: seq %d, %v", id, seq, err)
		}
	}
	if seq, err := s.PutRow(ctx, "c", text("b", "changed")); err != nil || seq != 2 {
		t.Fatalf("replaced row moved to %d (%v)", seq, err)
	}
	rows, err := s.Tail(ctx, "c", 2)
	if err != nil || len(rows) != 2 || rows[0].Text != "changed" || rows[0].Seq != 2 || rows[1].ID != "c" {
		t.Fatalf("tail: %+v, %v", rows, err)
	}
}
