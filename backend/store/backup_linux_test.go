package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/store/smalldisk"
)

// Without room for the copy nothing is changed and nothing is left behind.
func TestNoRoomForTheCopy(t *testing.T) {
	disk, done := smalldisk.Mount(t, "12m")
	if done {
		return
	}
	dir := filepath.Join(disk, "data")
	old(t, dir, strings.Repeat("x", 4<<20))
	hog := filepath.Join(disk, "hog")
	if err := os.WriteFile(hog, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenWith(dir, Options{Ballast: -1})
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "free ") {
		t.Fatalf("got %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "backups")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, dir, Options{Ballast: -1})
	if rows, err := s.Tail(ctx, "c", 1); err != nil || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
