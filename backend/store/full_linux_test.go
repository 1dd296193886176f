package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/store/smalldisk"
)

// On a full disk nothing is accepted and nothing is lost, reading goes on, the
// end of a turn is still written, and it recovers when space is freed.
func TestFullDisk(t *testing.T) {
	disk, done := smalldisk.Mount(t, "24m")
	if done {
		return
	}
	dir := filepath.Join(disk, "data")
	var told []bool
	s := openTest(t, dir, Options{Ballast: 4 << 20, OnFull: func(full bool) { told = append(told, full) }})
	newChat(t, s, "c")
	if err := s.OpenTurn(ctx, "c", Turn{Turn: 1, Origin: agent.OriginPrompt, StartedAt: 1}); err != nil {
		t.Fatal(err)
	}
	hog := filepath.Join(disk, "hog")
	if err := os.WriteFile(hog, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	stored := 0
	var err error
	for ; stored < 20000; stored++ {
		if _, err = s.PutRow(ctx, "c", text(fmt.Sprint(stored), strings.Repeat("x", 4000))); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrFull) || !s.Full() {
		t.Fatalf("after %d rows: %v, full=%v", stored, err, s.Full())
	}
	if n, _, err := s.CountRows(ctx, "c"); err != nil || n != int64(stored) {
		t.Fatalf("%d rows of %d are readable: %v", n, stored, err)
	}
	if _, err := s.Tail(ctx, "c", 50); err != nil {
		t.Fatal(err)
	}
	if err := s.PutRows(ctx, "c", text("never", "x")); err != nil && !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	// The end of the turn costs the ballast.
	if err := s.EndTurn(ctx, "c", 1, agent.TurnEnd{Outcome: agent.OutcomeFailed}, 2); err != nil {
		t.Fatalf("the end of the turn: %v", err)
	}
	if turn, err := s.LastTurn(ctx, "c"); err != nil || turn.End == nil {
		t.Fatalf("the turn: %+v, %v", turn, err)
	}
	// What the ballast gave is not for ordinary things.
	if s.ballast.gone() {
		if err := s.PutRows(ctx, "c", text("ordinary", "x")); !errors.Is(err, ErrFull) {
			t.Fatalf("an ordinary row used the ballast: %v", err)
		}
	}
	// It can be closed and opened while full.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, dir, Options{Ballast: 4 << 20, OnFull: func(full bool) { told = append(told, full) }})
	if turn, err := s.LastTurn(ctx, "c"); err != nil || turn.End == nil {
		t.Fatalf("after reopening: %+v, %v", turn, err)
	}
	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	if err := s.PutRows(ctx, "c", text("after", "x")); err != nil || s.Full() {
		t.Fatalf("after 8 MB were freed: %v, full=%v", err, s.Full())
	}
	var check string
	if err := s.writerCheck(&check); err != nil || check != "ok" {
		t.Fatalf("integrity %q, %v", check, err)
	}
	if len(told) == 0 || !told[0] {
		t.Errorf("told %v", told)
	}
}
