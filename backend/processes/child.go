package processes

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// drainDelay bounds how long output is waited for after a helper has ended
// while something else still holds its pipes.
const drainDelay = 500 * time.Millisecond

// Spec says how a helper is started.
type Spec struct {
	// Argv is the program and its arguments. A name without a slash is looked
	// up in the PATH of Env. No secret may be in it.
	Argv []string
	Dir  string
	// Env is the whole environment ("K=V"); nothing is inherited. The marker
	// is added to it.
	Env []string
	// Purpose and Owner go to the ledger, see Helper.
	Purpose string
	Owner   string
	// Secrets are values that Stderr hides.
	Secrets []string
	// Ledger may be nil in tests only.
	Ledger Ledger
	// ExtraFiles become descriptors 3 and up. The caller closes its own.
	ExtraFiles []*os.File
}

// Exit is how a process ended. Code is -1 when Signal ended it.
type Exit struct {
	Code   int
	Signal syscall.Signal
	At     time.Time
}

func (e Exit) String() string {
	if e.Signal != 0 {
		return "ended by " + e.Signal.String()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Child is a running helper: the leader of its own process group, its error
// output always drained into a bounded ring.
type Child struct {
	// Stdin and Stdout are the host's ends of the pipes. Stdout reads to the
	// end of what the process and its children wrote; when the process has
	// ended and a grandchild keeps the pipe open, it ends after a short while.
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	helper  Helper
	ledger  Ledger
	secrets []string
	stderr  ring
	cmd     *exec.Cmd
	done    chan struct{}
	exit    Exit

	mu      sync.Mutex // guards reaped against a signal to a reused group id
	reaped  bool
	closing chan struct{} // made by the first Close
	closed  chan struct{}
	err     error
}

// Start starts a helper. When it returns an error nothing is left running.
func Start(spec Spec) (*Child, error) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return nil, errors.New("start: no program given")
	}
	path, err := lookPath(spec.Argv[0], spec.Env)
	if err != nil {
		return nil, err
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	c := &Child{
		ledger:  spec.Ledger,
		secrets: spec.Secrets,
		done:    make(chan struct{}),
		closed:  make(chan struct{}),
		helper: Helper{
			ID: hex.EncodeToString(id[:]), Purpose: spec.Purpose, Owner: spec.Owner,
			Argv0: filepath.Base(spec.Argv[0]),
		},
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close())
	}
	out := &output{f: outR}
	c.Stdin, c.Stdout = inW, out
	c.cmd = &exec.Cmd{
		Path: path, Args: spec.Argv, Dir: spec.Dir,
		Env:         append(withoutMarker(spec.Env), MarkerEnv+"="+c.helper.ID),
		Stdin:       inR,
		Stdout:      outW,
		Stderr:      &c.stderr,
		ExtraFiles:  spec.ExtraFiles,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
		WaitDelay:   drainDelay,
	}
	err = c.cmd.Start()
	_ = inR.Close()
	_ = outW.Close()
	if err != nil {
		_ = inW.Close()
		_ = outR.Close()
		return nil, startError(spec, err)
	}
	c.identify()
	go c.reap(out)
	if c.ledger != nil {
		if err := c.ledger.Started(c.helper); err != nil {
			err = fmt.Errorf("start %s: its process could not be recorded: %w", c.helper.Argv0, err)
			return nil, errors.Join(err, c.Close(context.Background(), Ladder{EOFWait: -1, TermWait: -1}))
		}
	}
	return c, nil
}

// identify reads who the new process is; it cannot be reaped before reap
// runs, so even one that ended at once still has its row.
func (c *Child) identify() {
	pid := c.cmd.Process.Pid
	c.helper.Pid = pid
	c.helper.Boot = bootID()
	if p, err := ReadUnreaped(pid); err == nil {
		c.helper.Start, c.helper.Sid = p.Start, p.Sid
	}
}

func (c *Child) reap(out *output) {
	waitExited(c.helper.Identity)
	c.mu.Lock()
	c.reaped = true
	c.mu.Unlock()
	err := c.cmd.Wait()
	c.exit = exitOf(c.cmd.ProcessState, err)
	out.processEnded()
	close(c.done)
}

func exitOf(st *os.ProcessState, err error) Exit {
	e := Exit{Code: -1, At: time.Now()}
	if st == nil {
		return e
	}
	e.Code = st.ExitCode()
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal()
	}
	return e
}

// Identity names the process.
func (c *Child) Identity() Identity { return c.helper.Identity }

// Helper is what the ledger holds.
func (c *Child) Helper() Helper { return c.helper }

// Done is closed when the process has ended and was reaped. Its group may
// still have members; Close ends them.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit is how it ended; valid after Done.
func (c *Child) Exit() Exit {
	<-c.done
	return c.exit
}

// Stderr is the end of its error output, at most 16 KB, without secrets.
func (c *Child) Stderr() string { return c.stderr.text(c.secrets) }

func withoutMarker(env []string) []string {
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, MarkerEnv+"=") {
			out = append(out, e)
		}
	}
	return out
}

func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	var path string
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" || !filepath.IsAbs(dir) {
			continue // a program found in the working directory is nobody's choice
		}
		full := filepath.Join(dir, name)
		if st, err := os.Stat(full); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s was not found in PATH (%s): %w", name, path, exec.ErrNotFound)
}

// startError names the folder when that is what is missing: the system's
// message blames the program.
func startError(spec Spec, err error) error {
	if spec.Dir != "" {
		if _, statErr := os.Stat(spec.Dir); statErr != nil {
			return fmt.Errorf("start %s: the folder %s cannot be used: %w", filepath.Base(spec.Argv[0]), spec.Dir, statErr)
		}
	}
	return fmt.Errorf("start %s: %w", filepath.Base(spec.Argv[0]), err)
}
