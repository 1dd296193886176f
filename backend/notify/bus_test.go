//go:build linux

package notify

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/e2e/display"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// privateBus starts a dbus-daemon that ends with the test and returns its address.
func privateBus(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("dbus-daemon", "--session", "--nofork", "--print-address", "--address=unix:path="+filepath.Join(t.TempDir(), "bus"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && err != io.EOF || line == "" {
		t.Fatal("dbus-daemon gave no address", err)
	}
	return strings.TrimSpace(line)
}

func serve(t *testing.T, address string) *display.Notifications {
	t.Helper()
	s, err := display.ServeNotifications(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func say(t *testing.T, s *display.Notifications, signal string, values ...any) {
	t.Helper()
	if err := s.Say(signal, values...); err != nil {
		t.Fatal(err)
	}
}

func next[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("nothing: " + what)
	}
	panic("unreachable")
}

// Shown, replaced, clicked with its token, taken back: over a real bus.
func TestBus(t *testing.T) {
	address := privateBus(t)
	s := serve(t, address)
	type click struct{ open, token string }
	clicks := make(chan click, 2)
	b := NewBus(address, func(open, token string) { clicks <- click{open, token} })
	defer b.End()
	ctx := context.Background()

	if err := b.Show(ctx, "k", Note{Title: "T", Body: "<img src=x> & more", Open: "chat:1", Urgent: true}); err != nil {
		t.Fatal(err)
	}
	first := next(t, s.Shown, "a note")
	if first.Body != "&lt;img src=x&gt; &amp; more" || first.Replaces != 0 || len(first.Actions) != 2 || first.Actions[0] != "default" {
		t.Errorf("%+v", first)
	}
	if quiet, _ := first.Hints["suppress-sound"].Value().(bool); !quiet {
		t.Error("a note without sound is not silent")
	}
	if err := b.Show(ctx, "k", Note{Title: "T2", Open: "chat:2", Sound: true}); err != nil {
		t.Fatal(err)
	}
	second := next(t, s.Shown, "the note again")
	if second.Replaces != first.ID || second.Hints["sound-name"].Value() == nil {
		t.Errorf("%+v", second)
	}

	say(t, s, "ActivationToken", second.ID, "tok")
	say(t, s, "ActionInvoked", second.ID+100, "default") // somebody else's
	say(t, s, "ActionInvoked", second.ID, "default")
	if got := next(t, clicks, "the click"); got != (click{"chat:2", "tok"}) {
		t.Errorf("%+v", got)
	}
	if err := b.Close(ctx, "k"); err != nil || next(t, s.Closed, "the close") != second.ID {
		t.Error(err)
	}
	// What the person closed is closed: nothing to take back.
	if err := b.Show(ctx, "k2", Note{Title: "T3"}); err != nil {
		t.Fatal(err)
	}
	third := next(t, s.Shown, "another note")
	say(t, s, "NotificationClosed", third.ID, uint32(2))
	say(t, s, "ActionInvoked", third.ID, "default") // arrives after it, is nobody's
	if err := b.Show(ctx, "k3", Note{Title: "T4", Open: "chat:4"}); err != nil {
		t.Fatal(err)
	}
	fourth := next(t, s.Shown, "one more note")
	say(t, s, "ActionInvoked", fourth.ID, "default")
	if got := next(t, clicks, "its click"); got.open != "chat:4" {
		t.Errorf("a closed note was clicked: %+v", got)
	}
	if err := b.Close(ctx, "k2"); err != nil {
		t.Error(err)
	}
	if len(s.Closed) != 0 {
		t.Error("a note that the person closed was closed again")
	}
}

// A click may be told before the answer that names the note.
func TestClickedAtOnce(t *testing.T) {
	address := privateBus(t)
	s := serve(t, address)
	s.ClickAtOnce()
	clicks := make(chan string, 8)
	b := NewBus(address, func(open, _ string) { clicks <- open })
	defer b.End()
	for _, open := range []string{"chat:1", "chat:2", "chat:3"} {
		if err := b.Show(t.Context(), open, Note{Title: "T", Open: open}); err != nil {
			t.Fatal(err)
		}
		if got := next(t, clicks, "the click on "+open); got != open {
			t.Errorf("%q, want %q", got, open)
		}
	}
}

// The number of the launcher is a signal that a dock listens to.
func TestBadge(t *testing.T) {
	address := privateBus(t)
	serve(t, address)
	dock, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer dock.Close()
	if err := dock.AddMatchSignal(dbus.WithMatchInterface("com.canonical.Unity.LauncherEntry")); err != nil {
		t.Fatal(err)
	}
	heard := make(chan *dbus.Signal, 4)
	dock.Signal(heard)
	b := NewBus(address, nil)
	defer b.End()
	if err := b.Badge(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	s := next(t, heard, "the badge")
	for s.Name != "com.canonical.Unity.LauncherEntry.Update" { // NameAcquired comes first
		s = next(t, heard, "the badge")
	}
	props, _ := s.Body[1].(map[string]dbus.Variant)
	if s.Body[0] != "application://whippletree-desktop.desktop" || props["count"].Value() != int64(3) || props["count-visible"].Value() != true {
		t.Errorf("%+v", s.Body)
	}
}

func TestBusWithoutServiceOrBus(t *testing.T) {
	if err := NewBus("", nil).Show(context.Background(), "k", Note{}); err != ErrNoBus {
		t.Error(err)
	}
	address := privateBus(t)
	b := NewBus(address, nil)
	defer b.End()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := b.Show(ctx, "k", Note{}); err == nil || !strings.Contains(err.Error(), "no notification service") {
		t.Error(err)
	}
	// It may come later.
	s := serve(t, address)
	if err := b.Show(ctx, "k", Note{Title: "late"}); err != nil || next(t, s.Shown, "the late note").Title != "late" {
		t.Error(err)
	}
}
