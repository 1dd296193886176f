// Package shellenv imports the environment that the user's login shell sets up
// (keys, proxies, PATH of version managers), once, whatever its start files do:
// print banners, ask questions, sleep, fail (case R04).
package shellenv

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Options of an import. Base is the environment the shell starts with ("K=V");
// Shell the user's shell, "" to take it from Base or the user database.
type Options struct {
	Shell string
	Home  string
	User  string // login name or id, for the user database
	Base  []string
	// Limit bounds the whole import; default 5 s.
	Limit time.Duration
}

// Result is what was read. Env is always usable: the base without what would
// confuse a nested agent when the shell could not be asked (Err says why).
type Result struct {
	Env   []string
	Shell string
	Took  time.Duration
	Err   error
}

// maxOutput bounds what is read of the shell.
const maxOutput = 4 << 20

// Import asks the login shell. It never takes longer than the limit and leaves
// no process behind.
func Import(ctx context.Context, o Options) Result {
	began := time.Now()
	if o.Limit == 0 {
		o.Limit = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	shell := o.Shell
	if shell == "" {
		shell = Shell(ctx, o.Base, o.User)
	}
	env, err := ask(ctx, shell, o)
	if err != nil {
		env = o.Base
		err = fmt.Errorf("the environment of %s could not be read: %w", shell, err)
	}
	return Result{Env: Clean(env), Shell: shell, Took: time.Since(began), Err: err}
}

// ask runs the shell as a login and interactive one, for some set PATH in the
// one file and some in the other. What it runs is /bin/sh, which every shell
// can call with one quoted word: fish, csh and nushell have other words for the rest.
func ask(ctx context.Context, shell string, o Options) ([]string, error) {
	mark := random()
	script := "/bin/sh -c 'printf %s " + mark + "; /usr/bin/env -0 2>/dev/null || env; printf %s " + mark + "'"
	cmd := exec.CommandContext(ctx, shell, "-l", "-i", "-c", script)
	if filepath.Base(shell) == "csh" || filepath.Base(shell) == "tcsh" {
		cmd = exec.CommandContext(ctx, shell, "-i", "-c", script) // -l must stand alone there
	}
	cmd.Env = set(Clean(o.Base), "WHIPPLETREE_RESOLVING_ENVIRONMENT", "1")
	if o.Home != "" {
		cmd.Env = set(cmd.Env, "HOME", o.Home)
		cmd.Dir = o.Home
	}
	out := &bounded{left: maxOutput}
	cmd.Stdout = out // stdin and stderr are the null device
	// A session of its own: no terminal to ask questions on, and one group that
	// takes everything with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 200 * time.Millisecond
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	waitErr := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the start files left running
	env, ok := parse(out.Bytes(), mark)
	switch {
	case ok:
		return env, nil // even if something after it hung or failed
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it did not answer within %s", o.Limit)
	case waitErr != nil:
		return nil, waitErr
	}
	return nil, errors.New("it printed no environment")
}

// parse takes what stands between the first and the last mark.
func parse(out []byte, mark string) ([]string, bool) {
	_, rest, ok := bytes.Cut(out, []byte(mark))
	if !ok {
		return nil, false
	}
	body, _, ok := bytes.Cut(rest, []byte(mark))
	if !ok {
		return nil, false
	}
	sep := byte(0)
	if bytes.IndexByte(body, 0) < 0 {
		sep = '\n' // an env without -0
	}
	var env []string
	for kv := range bytes.SplitSeq(body, []byte{sep}) {
		if name, _, ok := strings.Cut(string(kv), "="); ok && name != "" {
			env = append(env, string(kv))
		}
	}
	return env, len(env) > 0
}

func random() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return "wt" + hex.EncodeToString(b[:])
}

// Shell is the user's login shell: $SHELL of the environment, else what the
// user database says of the login name or id, else /bin/sh.
func Shell(ctx context.Context, env []string, user string) string {
	if s := value(env, "SHELL"); s != "" {
		return s
	}
	if user == "" {
		return "/bin/sh"
	}
	out, err := exec.CommandContext(ctx, "getent", "passwd", user).Output()
	if err != nil { // macOS has no getent; id prints a line of the same kind
		if out, err = exec.CommandContext(ctx, "/usr/bin/id", "-P", user).Output(); err != nil {
			out = passwdLine(user)
		}
	}
	fields := strings.Split(strings.TrimSpace(string(out)), ":")
	if last := fields[len(fields)-1]; len(fields) >= 7 && filepath.IsAbs(last) {
		return last
	}
	return "/bin/sh"
}

// bounded keeps the first bytes and swallows the rest.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.Buffer.Write(p[:n])
	return len(p), nil
}
