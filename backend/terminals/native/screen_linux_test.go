package native

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// The same as case P01 with GNU screen: the server cuts the chain, its client's
// terminal is the place, and a session that nobody shows says so.
func TestScreenCutsTheParentChain(t *testing.T) {
	env := desktop(t)
	tmp := t.TempDir()
	dir := filepath.Join(tmp, "s")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	env = append(env, "SCREENDIR="+dir, "TERM=xterm-256color")
	pids := filepath.Join(tmp, "agent")
	agent := filepath.Join(tmp, "agent.sh")
	if err := os.WriteFile(agent, []byte("#!/bin/sh\necho $$ > "+pids+".new\nmv "+pids+".new "+pids+"\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	screen := func(args ...string) string {
		cmd := exec.Command("screen", args...)
		cmd.Env = env
		out, _ := cmd.CombinedOutput() // `screen -ls` ends with 1 for a list
		return string(out)
	}
	screen("-d", "-m", "-S", "work", "-c", "/dev/null", "sh")
	t.Cleanup(func() { screen("-S", "work", "-X", "quit") })
	waitFor(t, func() bool { return strings.Contains(screen("-ls"), ".work") })
	screen("-S", "work", "-X", "screen", "sh", agent)
	var pid int
	waitFor(t, func() bool {
		b, err := os.ReadFile(pids)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		return err == nil
	})
	screen("-S", "work", "-X", "select", "0")

	exits := processes.NewExitWatcher()
	t.Cleanup(exits.Close)
	m := terminals.New(terminals.Options{Shell: "/bin/sh", Home: tmp, Env: env, Exits: exits})
	t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	n := New(Options{GOOS: "linux", Env: env, Exits: exits, Ours: m.Of})

	s := n.Locate(t.Context(), snapshot(t), pid)
	if s.Place.Kind != "screen" || s.Place.Label != "screen work:1 (detached)" || s.Place.CanFocus || !strings.Contains(s.Place.WhyNot, "screen -x ") {
		t.Errorf("detached: %+v", s.Place)
	}

	// Attached in a terminal of ours.
	tab, err := m.Create(t.Context(), terminals.CreateSpec{Argv: []string{"screen", "-x", "work"}})
	if err != nil {
		t.Fatal(err)
	}
	attached := func() bool {
		return strings.Contains(screen("-ls"), "(Attached)") || strings.Contains(screen("-ls"), "(Multi")
	}
	waitFor(t, attached)
	s = n.Locate(t.Context(), snapshot(t), pid)
	if s.Place.Kind != "screen" || s.Place.TerminalID != tab.ID || s.Place.External || !s.Place.CanFocus {
		t.Errorf("in our tab: %+v", s.Place)
	}
	if r := n.Focus(t.Context(), s); r.Exactness != Exact || r.TerminalID != tab.ID {
		t.Errorf("%+v", r)
	}
	if got := screen("-S", "work", "-Q", "number"); !strings.HasPrefix(got, "1 ") {
		t.Errorf("the focus selected %q", got)
	}
	if err := m.Close(t.Context(), tab.ID); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return strings.Contains(screen("-ls"), "(Detached)") })

	// Attached in xterm.
	l, err := n.Open(t.Context(), "xterm", LaunchSpec{Argv: []string{"screen", "-x", "work"}, Cwd: tmp, Title: "x", RunDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.terminal.Signal(syscall.SIGTERM)
		<-l.ended
		l.Close()
	})
	waitFor(t, attached)
	s = n.Locate(t.Context(), snapshot(t), pid)
	if s.Place.Kind != "screen" || s.Place.App != "xterm" || s.Place.Label != "screen work:1 in xterm" || s.App != l.terminal {
		t.Errorf("in xterm: %+v", s)
	}
	if r := n.Focus(t.Context(), s); r.Exactness != Exact || activeWindow(t, env) != s.windowID() {
		t.Errorf("%+v, window %d", r, activeWindow(t, env))
	}
}
