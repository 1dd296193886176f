package native

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// LaunchSpec is a command to open in a terminal.
type LaunchSpec struct {
	Argv []string
	// Env is set for the command only; the terminal's own environment stays.
	Env   map[string]string
	Cwd   string
	Title string
	// RunDir is a private directory (0700) of the host.
	RunDir string
}

// Launch is a command on its way into a terminal.
type Launch struct {
	ID  string
	Dir string // of its records

	app      App
	watcher  *fsnotify.Watcher
	terminal processes.Identity
	ended    chan struct{} // the terminal's client ended
	exit     *exec.Cmd
	once     sync.Once
}

// Report is what the launch script said.
type Report struct {
	// Agent is the command's own process, not the shell around it.
	Agent processes.Identity
	// Shell is the process of the script, which becomes the shell that stays.
	Shell int
	TTY   string
	// Env are the variables of the terminal it runs in.
	Env map[string]string
}

// ErrAlreadyEnded is in the error of Wait when the command ended before it
// could be looked at.
var ErrAlreadyEnded = errors.New("the command has ended already")

// Open opens a window of the chosen app with the command in it.
func (n *Terminals) Open(ctx context.Context, choice string, spec LaunchSpec) (*Launch, error) {
	app, ok := byID(choice)
	if !ok || app.OS != n.opt.GOOS {
		return nil, fmt.Errorf("%q is not a known terminal app", choice)
	}
	path := n.find(app)
	if path == "" {
		return nil, fmt.Errorf("%s is not installed", app.Label)
	}
	if st, err := os.Stat(spec.Cwd); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("the folder %s is gone", spec.Cwd)
	}
	l, err := newLaunch(app, spec)
	if err != nil {
		return nil, err
	}
	argv := app.Open(Opening{Path: path, Script: filepath.Join(l.Dir, "run"), Cwd: spec.Cwd, Title: terminals.Plain(spec.Title, 120)})
	if len(argv) == 0 {
		l.Close()
		return nil, fmt.Errorf("%s cannot be given this command", app.Label)
	}
	if err := n.spawn(ctx, l, argv, spec.Cwd); err != nil {
		l.Close()
		return nil, fmt.Errorf("open %s: %w", app.Label, err)
	}
	return l, nil
}

func newLaunch(app App, spec LaunchSpec) (*Launch, error) {
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	l := &Launch{ID: hex.EncodeToString(id[:]), app: app, ended: make(chan struct{})}
	l.Dir = filepath.Join(spec.RunDir, "launch-"+l.ID)
	text, err := script(l.ID, l.Dir, spec)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(l.Dir, "run"), []byte(text), 0o700); err != nil {
		l.Close()
		return nil, err
	}
	// Watched before the script runs, so that nothing is missed.
	if l.watcher, err = fsnotify.NewWatcher(); err == nil {
		err = l.watcher.Add(l.Dir)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// spawn starts the terminal detached: it outlives the host.
func (n *Terminals) spawn(ctx context.Context, l *Launch, argv []string, cwd string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path := argv[0]
	if !strings.ContainsRune(path, '/') {
		if path = n.lookPath(argv[0]); path == "" {
			return fmt.Errorf("%s was not found in PATH", argv[0])
		}
	}
	cmd := &exec.Cmd{
		Path: path, Args: argv, Dir: cwd, Env: n.cleanEnv(),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	l.exit = cmd
	reap := func() {
		_ = cmd.Wait()
		close(l.ended)
	}
	id, err := processes.Identify(cmd.Process.Pid)
	if err == nil && n.opt.Exits != nil {
		l.terminal = id
		if _, err = n.opt.Exits.Watch(id, reap); err == nil {
			return nil
		}
	}
	go reap() // ends with the terminal, which may outlive the launch
	return nil
}

// cleanEnv is the user's environment without what belongs to the packaging of
// this app or to the terminal the host was started from.
func (n *Terminals) cleanEnv() []string {
	return slices.DeleteFunc(slices.Clone(n.opt.Env), func(e string) bool {
		k, _, _ := strings.Cut(e, "=")
		switch k {
		case "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SWAYSOCK", "HYPRLAND_INSTANCE_SIGNATURE":
			return false
		case "LD_LIBRARY_PATH", "LD_PRELOAD", "APPDIR", "APPIMAGE", "ARGV0", processes.MarkerEnv, LaunchEnv:
			return true
		}
		return strings.HasPrefix(k, "GTK_") || slices.Contains(terminalVariables, k)
	})
}

// Wait waits until the command's own process is known. It fails when the
// terminal ends without having started it, and when ctx ends.
func (l *Launch) Wait(ctx context.Context) (Report, error) {
	ended := l.ended
	for {
		r, ok, err := l.report()
		if ok || err != nil {
			return r, err
		}
		select {
		case <-ctx.Done():
			return Report{}, fmt.Errorf("%s did not start the command: %w", l.app.Label, context.Cause(ctx))
		case _, open := <-l.watcher.Events:
			if !open {
				return Report{}, errors.New("the launch is closed")
			}
		case err := <-l.watcher.Errors:
			if err != nil && !errors.Is(err, fsnotify.ErrEventOverflow) {
				return Report{}, err
			}
		case <-ended:
			if code := l.exit.ProcessState.ExitCode(); code != 0 {
				if r, ok, err := l.report(); ok || err != nil {
					return r, err
				}
				return Report{}, fmt.Errorf("%s ended with exit code %d before it started the command", l.app.Label, code)
			}
			ended = nil // a client that handed over to a server
		}
	}
}

func (l *Launch) report() (Report, bool, error) {
	b, err := os.ReadFile(filepath.Join(l.Dir, "agent"))
	if err != nil {
		if _, ended := l.ExitCode(); ended {
			return Report{}, false, fmt.Errorf("the folder could not be entered: %w", ErrAlreadyEnded)
		}
		return Report{}, false, nil
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return Report{}, false, fmt.Errorf("the launch record is broken: %w", err)
	}
	r := l.place()
	if r.Agent, err = processes.Identify(pid); err != nil {
		return r, false, fmt.Errorf("process %d: %w", pid, ErrAlreadyEnded)
	}
	// The number may be another's by now: it is ours by the launch's id in its
	// environment, or as the child of the script.
	if env, err := processes.Environ(pid); err == nil && slices.Contains(env, LaunchEnv+"="+l.ID) {
		return r, true, nil
	}
	if p, err := processes.Read(pid); err == nil && p.Identity == r.Agent && p.Ppid == r.Shell {
		return r, true, nil
	}
	return r, false, fmt.Errorf("process %d: %w", pid, ErrAlreadyEnded)
}

func (l *Launch) place() Report {
	r := Report{Env: map[string]string{}}
	f, err := os.Open(filepath.Join(l.Dir, "place"))
	if err != nil {
		return r
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		k, v, _ := strings.Cut(sc.Text(), "=")
		switch {
		case k == "pid":
			r.Shell, _ = strconv.Atoi(v)
		case k == "tty":
			if strings.HasPrefix(v, "/dev/") {
				r.TTY = v
			}
		case slices.Contains(terminalVariables, k):
			r.Env[k] = v
		}
	}
	return r
}

// ExitCode is the command's exit, once it has ended.
func (l *Launch) ExitCode() (code int, ended bool) {
	b, err := os.ReadFile(filepath.Join(l.Dir, "exit"))
	if err != nil {
		return 0, false
	}
	code, err = strconv.Atoi(strings.TrimSpace(string(b)))
	return code, err == nil
}

// Close forgets the launch and removes its records; the terminal stays.
func (l *Launch) Close() {
	l.once.Do(func() {
		if l.watcher != nil {
			_ = l.watcher.Close()
		}
		_ = os.RemoveAll(l.Dir)
	})
}
