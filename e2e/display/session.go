//go:build linux

// Package display gives tests and measurements a desktop of their own: an X
// server without a screen, a window manager, a session bus, real mouse and keys,
// pictures, and the DOM of a WebKit window through its inspector.
package display

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Session is one display with what belongs to it. Stop ends all of it.
type Session struct {
	name    string // ":7"
	bus     string
	runtime string
	procs   []*exec.Cmd
}

// Size of the screen in pixels.
const (
	Width  = 1400
	Height = 900
)

// Start brings a display up; dir is for its logs and its runtime directory and
// should be a short path (sockets).
func Start(dir string) (*Session, error) {
	s := &Session{runtime: filepath.Join(dir, "run")}
	if err := os.MkdirAll(s.runtime, 0o700); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", fmt.Sprintf("%dx%dx24", Width, Height), "-nolisten", "tcp", "-noreset")
	x.ExtraFiles = []*os.File{w}
	if err := s.run(x, filepath.Join(dir, "xvfb.log")); err != nil {
		w.Close()
		return nil, err
	}
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("no display from Xvfb: %w", err)
	}
	s.name = ":" + strings.TrimSpace(line)
	if err := s.startBus(dir); err != nil {
		s.Stop()
		return nil, err
	}
	wm := exec.Command("openbox")
	wm.Env = s.Env(os.Environ())
	if err := s.run(wm, filepath.Join(dir, "openbox.log")); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Session) startBus(dir string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	bus := exec.Command("dbus-daemon", "--session", "--nofork", "--print-address=3")
	bus.ExtraFiles = []*os.File{w}
	bus.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+s.runtime, "DISPLAY="+s.name)
	err = s.run(bus, filepath.Join(dir, "dbus.log"))
	w.Close()
	if err != nil {
		return err
	}
	_ = r.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return fmt.Errorf("no session bus: %w", err)
	}
	s.bus = strings.TrimSpace(line)
	return nil
}

func (s *Session) run(cmd *exec.Cmd, log string) error {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	// It must not outlive whoever started it, not even by a crash.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w (make setup-test installs it)", cmd.Args[0], err)
	}
	s.procs = append(s.procs, cmd)
	return nil
}

// Env is base with the display, the bus and the runtime directory of this
// session in place of any other's.
func (s *Session) Env(base []string) []string {
	var env []string
	for _, kv := range base {
		switch k, _, _ := strings.Cut(kv, "="); k {
		case "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_TYPE", "GDK_BACKEND":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "DISPLAY="+s.name, "XDG_RUNTIME_DIR="+s.runtime, "DBUS_SESSION_BUS_ADDRESS="+s.bus, "XDG_SESSION_TYPE=x11", "NO_AT_BRIDGE=1")
}

// Stop ends the display and everything started for it.
func (s *Session) Stop() {
	for i := len(s.procs) - 1; i >= 0; i-- {
		p := s.procs[i]
		_ = syscall.Kill(-p.Process.Pid, syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = p.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
			<-done
		}
	}
	s.procs = nil
}

// tool runs a program of the display and returns what it printed.
func (s *Session) tool(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = s.Env(os.Environ())
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// Screenshot writes a PNG of the whole screen.
func (s *Session) Screenshot(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_, err := s.tool("import", "-window", "root", path)
	return err
}

// Log is a writer to a new file, for what a program under test prints.
func Log(path string) (io.WriteCloser, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}
