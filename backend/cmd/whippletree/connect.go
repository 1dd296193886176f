package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/host"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/extensions"
)

// hostStart bounds how long a command waits for the host it started.
const hostStart = 15 * time.Second

// session is a command's connection to the host.
type session struct {
	*api.Client
	started bool // the host runs for this command only
}

// connect reaches the host and starts one for the command's own time when none
// runs. The connection has a lease: the host stays as long as the command. A
// host that is just ending is waited for.
func (p *program) connect(ctx context.Context) (*session, error) {
	bound, cancel := context.WithTimeout(ctx, hostStart)
	defer cancel()
	s := &session{}
	var child *hostChild
	var last error
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		c, err := api.NewClient(bound, api.ClientOptions{
			Dial: p.dialer(), Hello: api.Hello{Client: "cli", Version: version, Lease: true},
		})
		if err == nil {
			s.Client = c
			return s, nil
		}
		var refused *api.Error
		if errors.As(err, &refused) {
			return nil, err
		}
		last = err
		if _, runs := host.FindRunning(p.home); !runs && child == nil {
			if err := p.mayStart(); err != nil {
				return nil, err
			}
			if child, err = p.startHost(); err != nil {
				return nil, err
			}
			s.started = true
		}
		select {
		case err := <-child.end():
			if err != nil {
				return nil, fail(exitNoHost, "whippletree doctor", "the host ended at once: %s", child.said(err))
			}
			child = nil // another one was faster, or is still ending
		case <-time.After(pause):
		case <-bound.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fail(exitNoHost, "whippletree doctor", "the host did not answer within %s: %w", hostStart, last)
		}
	}
}

// attachRunning connects without a lease and never starts a host.
func (p *program) attachRunning(ctx context.Context) (*session, error) {
	if _, ok := host.FindRunning(p.home); !ok {
		return nil, fail(exitNoHost, "", "no host runs")
	}
	c, err := api.NewClient(ctx, api.ClientOptions{Dial: p.dialer(), Hello: api.Hello{Client: "cli", Version: version}})
	if err != nil {
		return nil, err
	}
	return &session{Client: c}, nil
}

// dialer finds the socket anew for every attempt: the lock file names it.
func (p *program) dialer() func(ctx context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		path := host.SocketPath(p.home)
		if r, ok := host.FindRunning(p.home); ok {
			path = r.Socket
		}
		return api.DialSocket(path)(ctx)
	}
}

// done ends the lease at once, so that a host of our own ends with us.
func (s *session) done() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, _ = api.Call[api.GoodbyeResult](ctx, s.Client, "host.goodbye", api.Goodbye{})
	s.Close()
}

// mayStart refuses to start a host below an agent, which would end with it and
// answer to it; unless the home was named, as tests do.
func (p *program) mayStart() error {
	if p.getenv(host.HomeVariable) != "" {
		return nil
	}
	table, err := processes.Snapshot()
	if err != nil {
		return nil // nothing proves an agent
	}
	list := extensions.Builtin(&agentkit.Host{Home: p.userHome, Env: func() []string { return p.environ }})
	for _, proc := range table.Ancestors(os.Getpid()) {
		argv, err := processes.Argv(proc.Pid)
		if err != nil {
			continue
		}
		exe, _ := processes.Exe(proc.Pid)
		for _, h := range list {
			if h.Recognizer != nil && h.Recognizer.Recognize(exe, argv).Agent {
				return fail(exitNoHost, "", "no host runs, and a command of an agent (%s) does not start one: open Whippletree first", h.Identity.DisplayName)
			}
		}
	}
	return nil
}

// hostChild is a host that this command started.
type hostChild struct {
	ended  chan error
	stderr string
}

// end tells when it ended; no child never does.
func (c *hostChild) end() <-chan error {
	if c == nil {
		return nil
	}
	return c.ended
}

func (c *hostChild) said(err error) string {
	text, _ := os.ReadFile(c.stderr)
	said, _, _ := strings.Cut(strings.TrimPrefix(string(text), "whippletree: "), "\n") // the reason, without its fix
	return strings.TrimSpace(said + " (" + err.Error() + ")")
}

// startHost starts `serve` in a session of its own.
func (p *program) startHost() (*hostChild, error) {
	logs := filepath.Join(p.home, "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return nil, fail(exitNoHost, "", "the host's folder: %w", err)
	}
	c := &hostChild{ended: make(chan error, 1), stderr: filepath.Join(logs, "host.err")}
	errs, err := os.OpenFile(c.stderr, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fail(exitNoHost, "", "the host's log: %w", err)
	}
	defer errs.Close()
	cmd := exec.Command(p.exe, "serve")
	cmd.Env, cmd.Dir, cmd.Stderr = p.environ, "/", errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fail(exitNoHost, "", "the host cannot be started: %w", err)
	}
	go func() { c.ended <- cmd.Wait() }()
	return c, nil
}

// with runs f with a connection and ends it properly.
func (p *program) with(ctx context.Context, f func(*session) error) error {
	s, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer s.done()
	return f(s)
}

func (p *program) line(format string, a ...any) { fmt.Fprintf(p.out, format+"\n", a...) }
