package agentkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// until takes changes until cond holds.
func until(t *testing.T, w *Watch, what string, cond func(paths []string, rescan bool) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		select {
		case <-w.Wake():
			if paths, rescan := w.Take(); cond(paths, rescan) {
				return
			}
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func rescanned(_ []string, rescan bool) bool { return rescan }

func changed(path string) func([]string, bool) bool {
	return func(paths []string, rescan bool) bool { return rescan || slices.Contains(paths, path) }
}

func TestWatchDirectory(t *testing.T) {
	w := NewWatcher(WatcherOptions{})
	defer w.Close()
	dir := t.TempDir()
	x := w.Watch(dir)
	until(t, x, "the first look", rescanned)
	file := filepath.Join(dir, "a")
	put(t, file, "1", 0)
	until(t, x, "a new file", changed(file))
	put(t, file, "2", os.O_APPEND)
	until(t, x, "a write", changed(file))
	if err := os.Rename(file, file+"b"); err != nil {
		t.Fatal(err)
	}
	until(t, x, "a rename", changed(file+"b"))
	x.Close()
	x.Close()
}

func TestWatchWhatDoesNotExistYetAndComesBack(t *testing.T) {
	w := NewWatcher(WatcherOptions{})
	defer w.Close()
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b", "c")
	x := w.Watch(dir)
	defer x.Close()
	until(t, x, "the first look", rescanned)
	for range 3 {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "f")
		until(t, x, "the folder to appear", rescanned)
		put(t, file, "1", 0)
		until(t, x, "a file in it", changed(file))
		if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
			t.Fatal(err)
		}
		until(t, x, "the folder to go", rescanned)
	}
}

func TestWatchersOfOneDirectoryShareIt(t *testing.T) {
	w := NewWatcher(WatcherOptions{})
	defer w.Close()
	dir := t.TempDir()
	a, b := w.Watch(dir), w.Watch(dir)
	until(t, a, "a", rescanned)
	until(t, b, "b", rescanned)
	a.Close()
	file := filepath.Join(dir, "f")
	put(t, file, "1", 0)
	until(t, b, "the file", changed(file))
	b.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.dirs) != 0 || len(w.watches) != 0 {
		t.Errorf("left behind: %v", w.dirs)
	}
}

func TestR02WatchLimitFallsBackAndRecovers(t *testing.T) {
	var mu sync.Mutex
	limited := true
	var told []string
	w := NewWatcher(WatcherOptions{
		Poll: 10 * time.Millisecond,
		AddError: func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if limited {
				return syscall.ENOSPC
			}
			return nil
		},
		Diagnostic: func(code, text string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, code+" "+text)
		},
	})
	defer w.Close()
	dir := t.TempDir()
	x := w.Watch(dir)
	until(t, x, "the first look", rescanned)
	put(t, filepath.Join(dir, "f"), "1", 0)
	until(t, x, "the change, noticed by looking", rescanned)
	mu.Lock()
	limited = false
	n := len(told)
	mu.Unlock()
	if n != 1 {
		t.Errorf("told %d times: %v", n, told)
	}
	until(t, x, "the watch to work again", rescanned)
	file := filepath.Join(dir, "g")
	put(t, file, "1", 0)
	until(t, x, "a watched change", changed(file))
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.limited) != 0 {
		t.Error("it still looks by itself")
	}
}

func TestR02BurstIsBounded(t *testing.T) {
	w := NewWatcher(WatcherOptions{})
	defer w.Close()
	dir := t.TempDir()
	x := w.Watch(dir)
	defer x.Close()
	until(t, x, "the first look", rescanned)
	for i := range 3 * maxChanged {
		put(t, filepath.Join(dir, fmt.Sprint(i)), "", 0)
	}
	seen := map[string]bool{}
	until(t, x, "all of them", func(paths []string, rescan bool) bool {
		if len(paths) > maxChanged {
			t.Fatalf("%d paths at once", len(paths))
		}
		for _, p := range paths {
			seen[p] = true
		}
		return rescan || len(seen) == 3*maxChanged
	})
}
