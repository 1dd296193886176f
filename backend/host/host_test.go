package host

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTestHost(t *testing.T) *Host {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(Options{
		Home: t.TempDir(), UserHome: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Version: "test", Executable: exe,
		SkipShell: true, Keep: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Every method of the table has a handler with its shapes: Start checks it.
func TestStartAndStop(t *testing.T) {
	for range 3 {
		h := newTestHost(t)
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.Stop(ctx); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(h.Socket()); err == nil {
			t.Error("the socket is still there")
		}
	}
}

func TestSecondHostIsRefused(t *testing.T) {
	h := newTestHost(t)
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := New(h.o)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(t.Context()); err != ErrRunning {
		t.Errorf("a second host: %v", err)
	}
	if r, ok := FindRunning(h.o.Home); !ok || r.Pid != os.Getpid() || r.Socket != h.Socket() {
		t.Errorf("%+v %v", r, ok)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Error(err)
	}
}
