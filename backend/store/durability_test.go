package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Twenty writers are killed in the middle; no acknowledged row is lost, and the
// turn that was open ends as interrupted.
func TestKilledWriterLosesNothing(t *testing.T) {
	dir := t.TempDir()
	rows := 0
	for round := range 20 {
		cmd, out := start(t, "write", dir)
		var last int64
		acked := 0
		for out.Scan() {
			n, err := strconv.ParseInt(out.Text(), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			last = max(last, n)
			if acked++; acked == 40+17*round%60 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		s := openTest(t, dir, Options{})
		count, have, err := s.CountRows(ctx, "c")
		if err != nil || have < last || count != have {
			t.Fatalf("round %d: acknowledged up to %d, stored %d of %d (%v)", round, last, count, have, err)
		}
		cut, err := s.Recover(ctx)
		if err != nil || len(cut) != 1 || cut[0].Turn.End.Outcome != agent.OutcomeInterrupted || len(cut[0].Rows) != 1 {
			t.Fatalf("round %d: recovered %+v, %v", round, cut, err)
		}
		if open, err := s.OpenRows(ctx, "c"); err != nil || len(open) != 0 {
			t.Fatalf("round %d: still open: %v, %v", round, open, err)
		}
		if again, err := s.Recover(ctx); err != nil || len(again) != 0 {
			t.Fatalf("recovering twice: %v, %v", again, err)
		}
		var check string
		if err := s.writerCheck(&check); err != nil || check != "ok" {
			t.Fatalf("round %d: integrity %q, %v", round, check, err)
		}
		rows = int(have)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rows after 20 rounds", rows)
}

func (s *Store) writerCheck(out *string) error {
	return one(ctx, s.read(), []any{out}, "PRAGMA integrity_check")
}

func TestNewerDatabaseIsRefusedUntouched(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	path := s.Path()
	if err := s.Do(ctx, func(tx *Tx) error { return tx.exec("PRAGMA user_version = 999") }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	_, err := Open(dir)
	var newer *NewerError
	if !errors.As(err, &newer) || !errors.Is(err, ErrNewer) || newer.Have != 999 || newer.Know != Format() {
		t.Fatalf("opened: %v", err)
	}
	for _, part := range []string{"999", path, "WHIPPLETREE_HOME", "newer Whippletree"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %s", part, err)
		}
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the refused database was changed")
	}
}

func TestDamagedDatabaseIsReportedAndLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir)
	var damaged *DamagedError
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "mv ") {
		t.Fatalf("got %v", err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := openTest(t, dir, Options{Ballast: 1 << 16})
	newChat(t, s, "c")
	check := func(path string, want os.FileMode) {
		info, err := os.Stat(path)
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", filepath.Base(path), info.Mode().Perm())
		}
	}
	check(dir, 0o700)
	for _, f := range []string{FileName, FileName + "-wal", FileName + "-shm", "ballast"} {
		check(filepath.Join(dir, f), 0o600)
	}
}

// Two processes take 200 leases at once; each lease has one holder.
func TestTwoProcessesNeverShareALease(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	_, one := start(t, "lease", dir)
	_, two := start(t, "lease", dir)
	got := make(chan string, 400)
	var both sync.WaitGroup
	for _, out := range []interface {
		Scan() bool
		Text() string
	}{one, two} {
		both.Add(1)
		go func() {
			defer both.Done()
			for out.Scan() {
				if out.Text() != "ready" {
					got <- out.Text()
				}
			}
		}()
	}
	both.Wait()
	close(got)
	seen := map[string]bool{}
	for id := range got {
		if seen[id] {
			t.Errorf("lease %s was given twice", id)
		}
		seen[id] = true
	}
	if len(seen) != 200 {
		t.Errorf("%d of 200 leases taken", len(seen))
	}
	// The database is whole for a third process as well.
	if l, err := s.Lease(ctx, "h", "7"); err != nil || l.Pid == 0 {
		t.Errorf("lease 7: %+v, %v", l, err)
	}
}

// What waits shares commits, at most 50 commands each, in the order it was sent.
func TestWaitingCommandsShareACommit(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	entered, leave := make(chan bool), make(chan bool)
	var first sync.Once
	err := s.Send(func(*Tx) error {
		first.Do(func() { close(entered); <-leave })
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	s.groupTime = time.Hour // read by the writer only after it left
	before := s.Commits()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Add(1)
		err := s.Send(func(tx *Tx) error { _, err := tx.PutRow("c", text(strconv.Itoa(i), "x")); return err }, func(err error) {
			if err != nil {
				t.Error(err)
			}
			wg.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(leave)
	wg.Wait()
	if commits := s.Commits() - before; commits != 5 {
		t.Errorf("201 commands took %d commits", commits)
	}
	rows, err := s.Tail(ctx, "c", 200)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		if r.ID != strconv.Itoa(i) {
			t.Fatalf("row %d is %s", i, r.ID)
		}
	}
}

// One command's failure undoes only itself, whatever shares its transaction.
func TestFailedCommandLeavesItsNeighboursAlone(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	refused := errors.New("refused")
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Add(1)
		err := s.Send(func(tx *Tx) error {
			if _, err := tx.PutRow("c", text(strconv.Itoa(i), "x")); err != nil {
				return err
			}
			if i%3 == 0 {
				return refused
			}
			return nil
		}, func(err error) {
			defer wg.Done()
			if (i%3 == 0) != errors.Is(err, refused) {
				t.Errorf("command %d: %v", i, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	ids, err := s.ItemIDs(ctx, "c")
	if err != nil || len(ids) != 40 {
		t.Fatalf("%d rows, %v", len(ids), err)
	}
}

// Readers go on beside a writer and always see whole transactions.
func TestReadersBesideTheWriter(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if n, _, err := s.CountRows(ctx, "c"); err != nil || n%3 != 0 {
					t.Errorf("saw %d rows, %v", n, err)
					return
				}
				if _, err := s.Tail(ctx, "c", 20); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for i := range 300 {
		if err := s.PutRows(ctx, "c", text(fmt.Sprint(i, "a"), "x"), text(fmt.Sprint(i, "b"), "x"), text(fmt.Sprint(i, "c"), "x")); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}

// Readers cannot write, whatever a query says.
func TestReadersAreReadOnly(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	if err := each(ctx, s.read(), func(*sql.Rows) error { return nil }, "DELETE FROM chats"); err == nil {
		t.Fatal("a reader deleted the chats")
	}
}

func TestClosedStoreAnswers(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	sent := make(chan error, 1)
	if err := s.Send(func(tx *Tx) error { _, err := tx.PutRow("c", text("a", "x")); return err }, func(err error) { sent <- err }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Errorf("what was sent before the close: %v", err)
	}
	if err := s.PutRows(ctx, "c", text("b", "x")); !errors.Is(err, ErrClosed) {
		t.Errorf("after the close: %v", err)
	}
}
