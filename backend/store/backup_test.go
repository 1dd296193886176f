package store

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// old makes a database as the first published format had it, with a chat in it.
func old(t *testing.T, dir string, texts ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, FileName), nil, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"PRAGMA journal_mode=WAL", migrations[0],
		`INSERT INTO chats(k, id, harness, native_id, archived, updated_at, body) VALUES(7, 'c', 'h', '', 0, 1, '{"id":"c","title":"Old chat","harness":"h","cwd":"/w"}')`} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range texts {
		if _, err := db.Exec(`INSERT INTO rows(chat, seq, item_id, turn, settled, open, via, big, item) VALUES(7, ?1, 'i' || ?1, 1, 1, 0, '', '', json_object('id', 'i' || ?1, 'type', 'user', 'at', 1, 'text', ?2))`, i+1, s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec("PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// An older database is copied before its format is changed, and what it holds is
// found afterwards.
func TestOldFormatIsCopiedThenBroughtUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	old(t, dir, "a needle from before", "another one")
	s := openTest(t, dir, Options{})
	if rec, err := s.Chat(ctx, "c"); err != nil || rec.Title != "Old chat" {
		t.Fatalf("%+v, %v", rec, err)
	}
	if err := s.Indexed(ctx); err != nil {
		t.Fatal(err)
	}
	if got := found(t, s, Search{Text: "needle"}); len(got) != 1 || got[0].Title != "Old chat" {
		t.Errorf("found %+v", got)
	}
	list := Backups(s.Path())
	if len(list) != 1 || list[0].Format != 1 || list[0].Size == 0 {
		t.Fatalf("copies: %+v", list)
	}
	for path, mode := range map[string]os.FileMode{list[0].Path: 0o600, filepath.Dir(list[0].Path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The copy is a whole database of the old format: put in place, it is brought up again.
	again := filepath.Join(t.TempDir(), "again")
	b, err := os.ReadFile(list[0].Path)
	if err == nil {
		err = os.MkdirAll(again, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(again, FileName), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s = openTest(t, again, Options{})
	if rows, err := s.Tail(ctx, "c", 10); err != nil || len(rows) != 2 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	// A database of this format is not copied.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, again, Options{})
	if list := Backups(s.Path()); len(list) != 1 {
		t.Errorf("copies: %+v", list)
	}
}

func TestOnlyTheLastCopiesAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	kept := filepath.Join(dir, "backups")
	old(t, dir, "x")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"format-1-1000.db", "format-1-2000.db", "format-1-3000.db.part", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(kept, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openTest(t, dir, Options{})
	var names []string
	for _, b := range Backups(s.Path()) {
		names = append(names, filepath.Base(b.Path))
	}
	if len(names) != 2 || names[1] != "format-1-2000.db" {
		t.Errorf("kept %v", names)
	}
	if _, err := os.Stat(filepath.Join(kept, "notes.txt")); err != nil {
		t.Error("a file that is no copy was removed")
	}
	if left, _ := filepath.Glob(filepath.Join(kept, "*.part")); len(left) != 0 {
		t.Errorf("left of a killed copy: %v", left)
	}
	// An older program says where the copy is that it can read.
	if err := s.Do(ctx, func(tx *Tx) error { return tx.exec("PRAGMA user_version = 999") }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), kept) {
		t.Errorf("got %v", err)
	}
}
