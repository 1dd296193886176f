package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// LauncherOptions say how the host is reached and started.
type LauncherOptions struct {
	// Connect dials the host's socket once.
	Connect func(context.Context) (net.Conn, error)
	// Argv and Env start the host; Argv[0] is an absolute path. Env nil is the
	// environment of this process.
	Argv, Env []string
	// Stderr is a file for what the host writes before its own log is open. It
	// is a file, not a pipe, because the host may outlive this process.
	Stderr string
	// Failed is called when the host ended soon after its start several times
	// in a row, with what it said. It is called again after each further such row.
	Failed func(error)
}

// Limits of starting the host.
const (
	hostStarts   = 10 * time.Second // one attempt to reach a host
	quickEnd     = 3 * time.Second  // a host that ended before this failed
	failuresTold = 3
	longestPause = 10 * time.Second
	stderrTail   = 2048
)

// ErrStopped is what Dial gives after Stop.
var ErrStopped = errors.New("the window is closing")

// Launcher reaches the host and starts it when nobody runs it. It never ends a
// host: hosts end when the last lease does. Safe for concurrent use.
type Launcher struct {
	opts LauncherOptions

	mu       sync.Mutex
	child    *hostChild
	failures int
	stopped  bool
}

type hostChild struct {
	pid     int
	started time.Time
	done    chan struct{} // closed when it ended and was reaped
	err     error         // set before done is closed
}

// NewLauncher starts nothing yet.
func NewLauncher(opts LauncherOptions) *Launcher { return &Launcher{opts: opts} }

// Prepare makes sure that a host runs or was forked, without waiting until it
// answers: the fork comes before the window opens any descriptor.
func (l *Launcher) Prepare(ctx context.Context) error {
	if c, err := l.opts.Connect(ctx); err == nil {
		return c.Close()
	}
	_, err := l.ensure()
	return err
}

// Dial connects to the host and starts it first if need be. It gives up after
// ten seconds, when ctx ends, or at Stop.
func (l *Launcher) Dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, hostStarts)
	defer cancel()
	pause := 2 * time.Millisecond
	var last error
	for {
		conn, err := l.opts.Connect(ctx)
		if err == nil {
			return conn, nil
		}
		last = err
		child, err := l.ensure()
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the host did not answer: %w", last)
		case <-child.done:
			if err := l.ended(ctx, child); err != nil {
				return nil, err
			}
		case <-time.After(pause):
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// Stop lets Dial start no further host.
func (l *Launcher) Stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
}

// Pid is the process id of the host that this launcher started and that still
// runs, or 0.
func (l *Launcher) Pid() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.child == nil || l.child.over() {
		return 0
	}
	return l.child.pid
}

func (c *hostChild) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// ensure returns the running child of ours, started now if there is none.
func (l *Launcher) ensure() (*hostChild, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return nil, ErrStopped
	case l.child != nil && !l.child.over():
		return l.child, nil
	}
	var errs *os.File
	if l.opts.Stderr != "" {
		if err := os.MkdirAll(filepath.Dir(l.opts.Stderr), 0o700); err != nil {
			return nil, fmt.Errorf("making the host's log folder: %w", err)
		}
		f, err := os.OpenFile(l.opts.Stderr, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening the host's log: %w", err)
		}
		defer f.Close()
		errs = f
	}
	cmd := exec.Command(l.opts.Argv[0], l.opts.Argv[1:]...)
	cmd.Env = l.opts.Env
	if errs != nil {
		cmd.Stderr = errs
	}
	// A session of its own: Ctrl-C for the window is not one for the host.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := SealDescriptors(); err != nil {
		return nil, fmt.Errorf("before starting the host: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the host: %w", err)
	}
	c := &hostChild{pid: cmd.Process.Pid, started: time.Now(), done: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	l.child = c
	return c, nil
}

// ended handles a host that ended while somebody waits for it: a host that
// found another one running ends without error and the next attempt connects.
// One that keeps failing is told and started again after growing pauses.
func (l *Launcher) ended(ctx context.Context, c *hostChild) error {
	if c.err == nil || time.Since(c.started) > quickEnd {
		l.mu.Lock()
		l.failures = 0
		l.mu.Unlock()
		return nil
	}
	l.mu.Lock()
	l.failures++
	n := l.failures
	l.mu.Unlock()
	err := fmt.Errorf("the host ended at once (%w): %s", c.err, l.said())
	if n%failuresTold == 0 && l.opts.Failed != nil {
		l.opts.Failed(err)
	}
	pause := min(50*time.Millisecond<<min(n, 10), longestPause)
	select {
	case <-ctx.Done():
		return err
	case <-time.After(pause):
		return nil
	}
}

// said is the end of what the host wrote on stderr.
func (l *Launcher) said() string {
	f, err := os.Open(l.opts.Stderr)
	if err != nil {
		return "it wrote nothing"
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > stderrTail {
		if _, err := f.Seek(-stderrTail, io.SeekEnd); err != nil {
			return "it wrote nothing"
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, stderrTail))
	if s := strings.TrimSpace(string(b)); err == nil && s != "" {
		return s
	}
	return "it wrote nothing"
}
