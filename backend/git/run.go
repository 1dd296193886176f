package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// Bounds of one run.
const (
	maxStderr = 16 << 10
	waitDelay = 2 * time.Second
)

// ErrNone says that no git was found; ErrMore that the output is larger than the
// bound (what was read so far is returned with it).
var (
	ErrNone = errors.New("git is not installed")
	ErrMore = errors.New("git printed more than is read")
)

// ExitError is a run of git that failed.
type ExitError struct {
	Code   int
	Stderr string // bounded
}

func (e *ExitError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.Stderr), "\n")
	if line == "" {
		line = fmt.Sprintf("git ended with %d", e.Code)
	}
	return line
}

// NoRepository tells whether git found no repository in the folder.
func NoRepository(err error) bool {
	var e *ExitError
	return errors.As(err, &e) && strings.Contains(e.Stderr, "not a git repository")
}

// Foreign tells whether git refuses the repository because another user owns it.
func Foreign(err error) bool {
	var e *ExitError
	return errors.As(err, &e) && strings.Contains(e.Stderr, "dubious ownership")
}

// Git finds and runs git. Env and Home are the person's, as the host has them;
// Look replaces the search for the program (tests).
type Git struct {
	Env  func() []string
	Home string
	Look func() string
}

// Path is where git is; "" when there is none.
func (g Git) Path() string {
	if g.Look != nil {
		return g.Look()
	}
	path, _ := agentkit.LookPath(g.Env(), g.Home, "git")
	return path
}

// safe are the settings that keep a repository from naming programs, for each run.
var safe = []string{
	"--no-optional-locks", "--no-pager", "--literal-pathspecs",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
	"-c", "color.ui=false", "-c", "submodule.recurse=false",
}

// Run runs git in a folder and returns what it printed, at most limit bytes.
func (g Git) Run(ctx context.Context, dir string, limit int, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := g.Stream(ctx, dir, func(r io.Reader) error {
		n, err := io.Copy(&out, io.LimitReader(r, int64(limit)+1))
		if err == nil && n > int64(limit) {
			out.Truncate(limit)
			return ErrMore
		}
		return err
	}, args...)
	return out.Bytes(), err
}

// Stream runs git in a folder and gives its output to read. When read ends
// without having read all of it git is ended; an error of read is returned as it
// is.
func (g Git) Stream(ctx context.Context, dir string, read func(io.Reader) error, args ...string) error {
	path := g.Path()
	if path == "" {
		return ErrNone
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(append([]string{}, safe...), args...)...)
	cmd.Dir, cmd.Env = dir, environment(g.Env())
	cmd.WaitDelay = waitDelay
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	stderr := &head{limit: maxStderr}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	rerr := read(out)
	if rerr != nil {
		cancel()
	}
	werr := cmd.Wait()
	switch {
	case rerr != nil:
		return rerr
	case werr == nil:
		return nil
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(werr, &exit) {
		return &ExitError{Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return werr
}

// environment is the person's without what would point git elsewhere or let it
// ask for something.
func environment(env []string) []string {
	out := make([]string, 0, len(env)+5)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GIT_") || name == "LC_ALL" || name == "LANGUAGE" {
			continue
		}
		out = append(out, kv)
	}
	return append(out, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_LITERAL_PATHSPECS=1")
}

// head keeps the first bytes of what is written.
type head struct {
	buf   []byte
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	h.buf = append(h.buf, p[:min(len(p), h.limit-len(h.buf))]...)
	return len(p), nil
}

func (h *head) String() string { return string(h.buf) }
