package shell

import (
	"errors"
	"os"
	"testing"
)

func TestWindowLock(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(windowFile(dir, "main")+".lock", []byte("4242 left by a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := LockWindow(dir, "main")
	if err != nil {
		t.Fatal("a stale file stopped it:", err)
	}
	if _, err := LockWindow(dir, "main"); !errors.Is(err, ErrOpen) {
		t.Fatal("locked twice:", err)
	}
	other, err := LockWindow(dir, "chat/c1")
	if err != nil {
		t.Fatal("another window is another lock:", err)
	}
	other.Unlock()
	l.Unlock()
	l, err = LockWindow(dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}
