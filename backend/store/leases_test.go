package store

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
