//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/e2e/display"
)

const (
	ldflags   = "-w -s"
	wailsTags = "desktop,production,webkit2_41"
)

// Lab holds the built programs, the corpora and, once asked for, a display.
type Lab struct {
	Runs int
	Full bool
	Seed uint64

	root  string // of the repository
	bin   string // built programs
	cache string // corpora, kept
	tmp   string // homes of this run: a short path, because of sockets
	made  map[string]error

	screen *display.Session
	n      int
}

func newLab(runs int, full bool, seed uint64) (*Lab, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, errors.New("start it at the top of the repository: make bench")
	}
	l := &Lab{Runs: runs, Full: full, Seed: seed, root: root, made: map[string]error{}}
	l.cache = filepath.Join(root, "build", "cache", "bench")
	l.bin = filepath.Join(l.cache, "bin")
	if err := os.MkdirAll(l.bin, 0o755); err != nil {
		return nil, err
	}
	l.tmp, err = os.MkdirTemp("", "wtb")
	return l, err
}

// Close ends the display and removes what this run made.
func (l *Lab) Close() {
	if l.screen != nil {
		l.screen.Stop()
	}
	_ = os.RemoveAll(l.tmp)
}

// Machine says on what the figures were taken.
func (l *Lab) Machine() string {
	b, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%s/%s, %d processors, load %s, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		strings.Join(strings.Fields(string(b))[:3], " "), runtime.Version())
}

// Build builds a package into the lab's bin folder, once, with the flags of the
// release.
func (l *Lab) Build(name, pkg string, args ...string) (string, error) {
	out := filepath.Join(l.bin, name)
	if err, done := l.made[name]; done {
		return out, err
	}
	argv := append([]string{"build", "-ldflags", ldflags, "-trimpath", "-o", out}, args...)
	cmd := exec.Command("go", append(argv, pkg)...)
	cmd.Dir = l.root
	if !strings.Contains(strings.Join(args, " "), "desktop") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	msg, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building %s: %w\n%s", name, err, msg)
	}
	l.made[name] = err
	return out, err
}

// Host builds `whippletree`.
func (l *Lab) Host() (string, error) { return l.Build("whippletree", "./backend/cmd/whippletree") }

// Floor builds a floor program.
func (l *Lab) Floor(name string) (string, error) {
	if name == "window" || name == "xterm" {
		return l.Build("floor-"+name, "./e2e/bench/floors/"+name, "-tags", "floors,"+wailsTags)
	}
	return l.Build("floor-"+name, "./e2e/bench/floors/"+name)
}

// Desktop builds the window beside the host program.
func (l *Lab) Desktop() (string, error) {
	if _, err := l.Host(); err != nil {
		return "", err
	}
	return l.Build("whippletree-desktop", ".", "-tags", wailsTags)
}

// Display starts the display once.
func (l *Lab) Display() (*display.Session, error) {
	if l.screen == nil {
		s, err := display.Start(filepath.Join(l.tmp, "x"))
		if err != nil {
			return nil, err
		}
		l.screen = s
	}
	return l.screen, nil
}

// Home makes an empty home folder of a person.
func (l *Lab) Home() (string, error) {
	l.n++
	h := filepath.Join(l.tmp, fmt.Sprint("h", l.n))
	return h, os.MkdirAll(h, 0o700)
}

// env is what every program under test gets: a private home, nothing else of
// the person who runs the bench.
func env(home string) []string {
	return []string{
		"HOME=" + home, "WHIPPLETREE_HOME=" + filepath.Join(home, "w"), "PATH=" + os.Getenv("PATH"),
		"SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=dumb", "TMPDIR=" + os.TempDir(),
	}
}

// Running is a program that the lab started.
type Running struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	log  *os.File
	done chan struct{}
}

// Start starts a program with its standard output readable.
func (l *Lab) Start(environ []string, argv ...string) (*Running, error) {
	log, err := os.OpenFile(filepath.Join(l.tmp, "stderr.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Running{cmd: exec.Command(argv[0], argv[1:]...), log: log, done: make(chan struct{})}
	r.cmd.Env, r.cmd.Stderr = environ, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	pipe, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.cmd.Stdout, r.out = w, bufio.NewReader(pipe)
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	_ = in
	err = r.cmd.Start()
	_ = w.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		_ = r.cmd.Wait()
		_ = log.Close()
		close(r.done)
	}()
	return r, nil
}

// Pid of the program.
func (r *Running) Pid() int { return r.cmd.Process.Pid }

// Line reads the next line of its output.
func (r *Running) Line() (string, error) {
	s, err := r.out.ReadString('\n')
	return strings.TrimSpace(s), err
}

// Stop ends the program and everything in its group.
func (r *Running) Stop() {
	_ = syscall.Kill(-r.Pid(), syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(10 * time.Second):
	}
	_ = syscall.Kill(-r.Pid(), syscall.SIGKILL)
	<-r.done
}

// Serve starts the host for a home and returns it with a client that holds its
// lease, and how long it took from the fork to the answer of hello.
func (l *Lab) Serve(program, home string, extra ...string) (*Running, *api.Client, time.Duration, error) {
	socket := filepath.Join(home, "w", "run", "host.sock")
	began := time.Now()
	host, err := l.Start(append(env(home), extra...), program, "serve")
	if err != nil {
		return nil, nil, 0, err
	}
	go func() { _, _ = io.Copy(io.Discard, host.out) }()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		client, err := api.NewClient(ctx, api.ClientOptions{
			Dial:  api.DialSocket(socket),
			Hello: api.Hello{Client: "bench", Version: "bench", Lease: true},
		})
		cancel()
		if err == nil {
			return host, client, time.Since(began), nil
		}
		select {
		case <-host.done:
			return nil, nil, 0, fmt.Errorf("the host ended: %s", l.stderr())
		default:
		}
		if time.Since(began) > 20*time.Second {
			host.Stop()
			return nil, nil, 0, fmt.Errorf("no answer of the host: %w", err)
		}
		time.Sleep(500 * time.Microsecond)
	}
}

func (l *Lab) stderr() string {
	b, _ := os.ReadFile(filepath.Join(l.tmp, "stderr.log"))
	if len(b) > 1000 {
		b = b[len(b)-1000:]
	}
	return string(b)
}

// sessions follows the sessions' topic; got is called with every state of a
// session, from the snapshot and from each event.
func sessions[T any](client *api.Client, got func(T)) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	one := func(raw json.RawMessage) {
		var v T
		if json.Unmarshal(raw, &v) == nil {
			got(v)
		}
	}
	_, err := client.Subscribe(ctx, api.TopicSessions, api.Subscriber{
		Snapshot: func(raw json.RawMessage) {
			var all []json.RawMessage
			if json.Unmarshal(raw, &all) == nil {
				for _, r := range all {
					one(r)
				}
			}
		},
		Event: func(e api.Event) {
			if e.Type == api.EventUpsert {
				one(e.Data)
			}
		},
	})
	return err
}
