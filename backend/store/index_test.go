package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func storedFiles(n int) []StoredFile {
	files := make([]StoredFile, n)
	for i := range files {
		files[i] = StoredFile{
			Harness: "h", Path: fmt.Sprintf("/home/dev/.claude/projects/-home-dev-some-project-%02d/%08x-0000-4000-8000-00000000%04x.jsonl", i%40, i, i),
			Size: int64(i), Mtime: 1e18, Inode: 1 << 63, ReadTo: int64(i), Before: []byte(strings.Repeat("b", 32)),
			Session: agent.StoredSession{
				Handle: agent.Handle{Harness: "h", NativeID: fmt.Sprint("n", i), Cwd: fmt.Sprint("/w/", i%10)}, Title: strings.Repeat("title ", 20), UpdatedAt: int64(i / 3),
				First: strings.Repeat("first ", 30), Last: strings.Repeat("last ", 30), Model: "claude-sonnet-4-5",
			},
			Facts: []byte(`{"title":"` + strings.Repeat("x", 300) + `"}`),
		}
	}
	return files
}

// Case T17, the index's part: 5,000 known sessions are paged, never held, and cost
// less than 4 KB each on disk.
func TestCaseT17FiveThousandStoredSessions(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	files := storedFiles(5000)
	hidden := StoredFile{Harness: "h", Path: "/h/empty.jsonl", Size: 1, Hidden: true}
	if err := s.PutStored(ctx, append(files, hidden)...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	last := int64(1 << 60)
	for cursor := ""; ; {
		page, next, err := s.ListStored(ctx, "h", nil, cursor, 400)
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
	if page, next, err := s.ListStored(ctx, "h", []string{"/w/3", "/w/4", "/nowhere"}, "", 1000); err != nil || len(page) != 1000 || next != "" {
		t.Errorf("%d in two folders, %q, %v", len(page), next, err)
	}
	if page, _, err := s.ListStored(ctx, "other", nil, "", 10); err != nil || len(page) != 0 {
		t.Errorf("%d of another harness, %v", len(page), err)
	}
	for _, bad := range []string{"x", "1.", ".1", "1.2.3", "zz!.1"} {
		if _, _, err := s.ListStored(ctx, "h", nil, bad, 10); !errors.Is(err, ErrBadCursor) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if n, err := s.CountStored(ctx, "h"); err != nil || n != 5000 {
		t.Error(n, err)
	}
	f, err := s.StoredByID(ctx, "h", "n7")
	if err != nil || !f.Same(7, 1e18, 1<<63) || f.Same(8, 1e18, 1<<63) {
		t.Error(f, err)
	}
	if d := cmp.Diff(files[7], f); d != "" {
		t.Error(d)
	}
	folders, err := s.StoredFolders(ctx, "h")
	if err != nil || len(folders) != 10 || folders[0] != (agent.StoredFolder{Cwd: "/w/8", Sessions: 500, UpdatedAt: 4998 / 3}) {
		t.Errorf("%+v %v", folders, err)
	}
	// A file that changed keeps its place in no list but its own.
	f.Session.Title, f.Session.UpdatedAt, f.Size = "new", 1<<40, 1000
	if err := s.PutStored(ctx, f); err != nil {
		t.Fatal(err)
	}
	if page, _, err := s.ListStored(ctx, "h", nil, "", 1); err != nil || page[0].Title != "new" {
		t.Error(page, err)
	}
	if err := s.RemoveStored(ctx, "h", f.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StoredByPath(ctx, "h", f.Path); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	visited := 0
	if err := s.EachStamp(ctx, "h", func(path string, size, mtime int64, inode uint64) {
		if visited++; path != hidden.Path && (mtime != 1e18 || inode != 1<<63) {
			t.Errorf("%s stands differently", path)
		}
	}); err != nil || visited != 5000 {
		t.Error(visited, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.Path())
	if err != nil || info.Size()/5000 > 4<<10 {
		t.Errorf("%d bytes a session, %v", info.Size()/5000, err)
	}
	t.Logf("%d bytes a session", info.Size()/5000)
}
