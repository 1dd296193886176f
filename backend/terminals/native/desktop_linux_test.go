package native

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// desktop starts an X server without a screen and a window manager and
// returns the environment of a program on it.
func desktop(t *testing.T) []string {
	t.Helper()
	for _, tool := range []string{"Xvfb", "openbox", "xterm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed: sudo apt-get install xvfb openbox xterm tmux", tool)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1200x800x24", "-nolisten", "tcp", "-noreset")
	server.ExtraFiles = []*os.File{w}
	start(t, server)
	_ = w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	_ = r.Close()
	if err != nil {
		t.Fatal("Xvfb did not start: ", err)
	}
	home := t.TempDir()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SHELL=/bin/sh", "LANG=C.UTF-8",
		"DISPLAY=:" + strings.TrimSpace(line),
	}
	manager := exec.Command("openbox", "--sm-disable")
	manager.Env = env
	start(t, manager)
	waitFor(t, func() bool {
		x, err := dialX(t.Context(), env[4][len("DISPLAY="):], "")
		if err != nil {
			return false
		}
		defer x.close()
		check, err := x.property(x.root, "_NET_SUPPORTING_WM_CHECK", xAtomWindow)
		return err == nil && len(check) == 1
	})
	return env
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

func snapshot(t *testing.T) *processes.Table {
	t.Helper()
	table, err := processes.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func activeWindow(t *testing.T, env []string) uint64 {
	t.Helper()
	for _, e := range env {
		if d, ok := strings.CutPrefix(e, "DISPLAY="); ok {
			x, err := dialX(t.Context(), d, "")
			if err != nil {
				t.Fatal(err)
			}
			defer x.close()
			v, err := x.property(x.root, "_NET_ACTIVE_WINDOW", xAtomWindow)
			if err != nil || len(v) == 0 {
				return 0
			}
			return uint64(v[0])
		}
	}
	return 0
}

// A real xterm: opened, its agent found and placed, its window raised from
// below another one, the agent's end told while the shell stays open.
func TestXtermOpensAndIsFocused(t *testing.T) {
	env := desktop(t)
	exits := processes.NewExitWatcher()
	t.Cleanup(exits.Close)
	n := New(Options{GOOS: "linux", Env: env, Exits: exits})
	choices := n.List()
	if len(choices) == 0 || choices[len(choices)-1].ID != "xterm" {
		t.Fatalf("%+v", choices)
	}
	dir := t.TempDir()
	open := func(title string) (*Launch, Report, Spot) {
		l, err := n.Open(t.Context(), "xterm", LaunchSpec{
			Argv: []string{"sh", "-c", "exec sleep 600"}, Cwd: dir, Title: title, RunDir: t.TempDir(),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
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
		return l, r, n.Locate(t.Context(), snapshot(t), r.Agent.Pid)
	}
	first, r1, s1 := open("one")
	_, r2, s2 := open("two")
	for _, s := range []Spot{s1, s2} {
		if s.Place.Kind != "terminal" || s.Place.App != "xterm" || !s.Place.CanFocus || s.windowID() == 0 {
			t.Fatalf("%+v", s)
		}
	}
	if s1.App != first.terminal || r1.TTY == "" || r1.TTY != s1.TTY || s1.TTY == s2.TTY {
		t.Errorf("%+v %+v", s1, r1)
	}
	argv, err := processes.Argv(r1.Agent.Pid)
	if err != nil || strings.Join(argv, " ") != "sleep 600" {
		t.Errorf("the agent is %q", argv)
	}
	for i, s := range []Spot{s1, s2, s1} {
		if r := n.Focus(t.Context(), s); r.Exactness != Exact {
			t.Fatalf("focus %d: %+v", i, r)
		}
		if got := activeWindow(t, env); got != s.windowID() {
			t.Errorf("focus %d: window %d is active, want %d", i, got, s.windowID())
		}
	}
	// An inherited WINDOWID of the other terminal does not mislead.
	wrong := s2
	wrong.Env = s1.Env
	if r := n.Focus(t.Context(), wrong); r.Exactness == Unavailable || activeWindow(t, env) != s2.windowID() {
		t.Errorf("%+v, window %d", r, activeWindow(t, env))
	}

	ended := make(chan struct{})
	if _, err := exits.Watch(r1.Agent, func() { close(ended) }); err != nil {
		t.Fatal(err)
	}
	_ = r1.Agent.Signal(syscall.SIGTERM)
	<-ended
	waitFor(t, func() bool { code, ok := first.ExitCode(); return ok && code == 143 })
	if p, err := processes.Read(r1.Shell); err != nil || p.Identity.Pid != r1.Shell {
		t.Errorf("no shell stays: %v", err)
	}
	if !r2.Agent.Alive() {
		t.Error("the other agent ended as well")
	}
	if s := n.Locate(t.Context(), snapshot(t), r1.Agent.Pid); s.Place.Kind != "none" {
		t.Errorf("a dead agent is at %+v", s.Place)
	}
}

// Case P01: from an agent in a tmux pane to the client's terminal; detached
// is said and still placed.
func TestCaseP01_TmuxCutsTheParentChain(t *testing.T) {
	env := desktop(t)
	tmp := t.TempDir()
	socket := filepath.Join(tmp, "t1")
	pids := filepath.Join(tmp, "agent")
	agent := filepath.Join(tmp, "agent.sh")
	if err := os.WriteFile(agent, []byte("#!/bin/sh\necho $$ > "+pids+".new\nmv "+pids+".new "+pids+"\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(env, "ITERM_SESSION_ID=w0t0p0:LIES", "WINDOWID=1", "TERM=xterm-256color")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	tmux("new-session", "-d", "-s", "work", "-x", "80", "-y", "24", "sh")
	t.Cleanup(func() { tmux("kill-server") })
	tmux("new-window", "-t", "work", "sh")
	tmux("split-window", "-t", "work:1", "sh "+agent)
	tmux("select-window", "-t", "work:0")
	var pid int
	waitFor(t, func() bool {
		b, err := os.ReadFile(pids)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		return err == nil
	})

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
	if s.Place.Kind != "tmux" || s.Place.Label != "tmux work:1.1 (detached)" || s.Place.CanFocus || !strings.Contains(s.Place.WhyNot, "tmux attach -t work") {
		t.Errorf("detached: %+v", s.Place)
	}
	if r := n.Focus(t.Context(), s); r.Exactness != Unavailable || r.Why == "" {
		t.Errorf("focus of a detached one: %+v", r)
	}

	// Attached in a terminal of ours.
	tab, err := m.Create(t.Context(), terminals.CreateSpec{Argv: []string{"tmux", "-S", socket, "attach", "-t", "work"}})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return tmux("list-clients") != "" })
	if id, ok := m.ByPid(pid); ok {
		t.Errorf("bound to %s by ancestry", id)
	}
	s = n.Locate(t.Context(), snapshot(t), pid)
	if s.Place.Kind != "tmux" || s.Place.TerminalID != tab.ID || s.Place.External || !s.Place.CanFocus {
		t.Errorf("in our tab: %+v", s.Place)
	}
	if r := n.Focus(t.Context(), s); r.Exactness != Exact || r.TerminalID != tab.ID {
		t.Errorf("%+v", r)
	}
	if got := tmux("display-message", "-p", "-t", "work", "#{window_index}.#{pane_index}"); got != "1.1" {
		t.Errorf("the focus selected %s", got)
	}
	if err := m.Close(t.Context(), tab.ID); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return tmux("list-clients") == "" })
	if s := n.Locate(t.Context(), snapshot(t), pid); s.Pane == nil || s.Pane.Client != 0 {
		t.Errorf("after the tab closed: %+v", s.Place)
	}

	// Attached in xterm.
	l, err := n.Open(t.Context(), "xterm", LaunchSpec{Argv: []string{"tmux", "-S", socket, "attach", "-t", "work"}, Cwd: tmp, Title: "x", RunDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.terminal.Signal(syscall.SIGTERM)
		<-l.ended
		l.Close()
	})
	waitFor(t, func() bool { return tmux("list-clients") != "" })
	tmux("select-window", "-t", "work:0")
	s = n.Locate(t.Context(), snapshot(t), pid)
	if s.Place.Kind != "tmux" || s.Place.App != "xterm" || s.Place.Label != "tmux work:1.1 in xterm" || s.Env["ITERM_SESSION_ID"] != "" || s.App != l.terminal {
		t.Errorf("in xterm: %+v", s)
	}
	if r := n.Focus(t.Context(), s); r.Exactness != Exact {
		t.Errorf("%+v", r)
	}
	if got := activeWindow(t, env); got != s.windowID() {
		t.Errorf("window %d is active, want %d", got, s.windowID())
	}
	if got := tmux("display-message", "-p", "-t", "work", "#{window_index}.#{pane_index}"); got != "1.1" {
		t.Errorf("the focus selected %s", got)
	}
}

func TestExternalSaysWhy(t *testing.T) {
	n := New(Options{GOOS: "linux", Env: []string{"PATH=/bin"}})
	table := processes.NewTable([]processes.Proc{
		{Identity: processes.Identity{Pid: 1 << 23, Start: 1}},
		{Identity: processes.Identity{Pid: 1<<23 + 1, Start: 2}, Ppid: 1 << 23, Comm: "sshd"},
		{Identity: processes.Identity{Pid: 1<<23 + 2, Start: 3}, Ppid: 1<<23 + 1, Comm: "bash"},
	})
	if s := n.Locate(t.Context(), table, 1<<23); s.Place.Kind != "external" || !s.Place.External || s.Place.WhyNot == "" {
		t.Errorf("%+v", s.Place)
	}
	if s := n.Locate(t.Context(), table, 1<<23+2); s.Place.Label != "ssh" {
		t.Errorf("%+v", s.Place)
	}
	if s := n.Locate(t.Context(), table, 77); s.Place.Kind != "none" {
		t.Errorf("%+v", s.Place)
	}
}
