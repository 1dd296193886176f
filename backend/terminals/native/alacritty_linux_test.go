package native

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/processes"
)

// A real Alacritty, drawn in software: opened, its agent placed, each of two
// windows raised.
func TestAlacrittyOpensAndIsFocused(t *testing.T) {
	env := append(desktop(t), "LIBGL_ALWAYS_SOFTWARE=1")
	exits := processes.NewExitWatcher()
	t.Cleanup(exits.Close)
	n := New(Options{GOOS: "linux", Env: env, Exits: exits})
	var spots []Spot
	for _, title := range []string{"one", "two"} {
		l, err := n.Open(t.Context(), "alacritty", LaunchSpec{Argv: []string{"sleep", "600"}, Cwd: t.TempDir(), Title: title, RunDir: t.TempDir()})
		if err != nil {
			t.Fatal(err, ": sudo apt-get install alacritty")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r, err := l.Wait(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = l.terminal.Signal(syscall.SIGTERM)
			<-l.ended
			l.Close()
		})
		s := n.Locate(t.Context(), snapshot(t), r.Agent.Pid)
		if s.Place.Kind != "terminal" || s.Place.App != "alacritty" || !s.Place.CanFocus || s.windowID() == 0 || s.App != l.terminal {
			t.Fatalf("%+v", s)
		}
		spots = append(spots, s)
	}
	for i, at := range []int{0, 1, 0} {
		if r := n.Focus(t.Context(), spots[at]); r.Exactness != Exact {
			t.Fatalf("focus %d: %+v", i, r)
		}
		if got := activeWindow(t, env); got != spots[at].windowID() {
			t.Errorf("focus %d: window %d is active, want %d", i, got, spots[at].windowID())
		}
	}
}
