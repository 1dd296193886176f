package main

import (
	"context"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/host"
	"github.com/whippletree-app/whippletree/backend/shell"
)

// insideHost is the host in the window's own process (--in-process): for
// debugging, not for daily use, because agents are then forked beside the page.
type insideHost struct {
	host *host.Host
	log  *slog.Logger
}

// startInside starts it; host.ErrRunning when another host has the home.
func startInside(ctx context.Context, home string, log *slog.Logger) (*insideHost, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := hostProgram(self)
	if err != nil {
		return nil, err
	}
	userHome, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	h, err := host.New(host.Options{
		Home: home, UserHome: userHome, Env: os.Environ(), User: name, Version: version,
		Executable: program, Windows: []string{self}, Log: log,
	})
	if err != nil {
		return nil, err
	}
	if err := h.Start(ctx); err != nil {
		return nil, err
	}
	return &insideHost{h, log}, nil
}

const insideStops = 20 * time.Second

func (i *insideHost) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), insideStops)
	defer cancel()
	if err := i.host.Stop(ctx); err != nil {
		i.log.Error("the host did not stop in order", "err", err)
	}
}

// restartInside replaces this process by a new one; it returns only when that
// failed.
func (a *App) restartInside() {
	a.inside.stop()
	self, err := os.Executable()
	if err == nil {
		err = shell.SealDescriptors()
	}
	if err == nil {
		err = syscall.Exec(self, os.Args, a.environ)
	}
	a.log.Error("the window could not be started anew", "err", err)
}

// homeDir is where all data is.
func homeDir() (string, error) {
	userHome, _ := os.UserHomeDir() // not needed when WHIPPLETREE_HOME is set
	return host.Home(os.Getenv, userHome)
}

// socketPath is where the host of a home listens or will listen.
func socketPath(home string) string {
	if r, ok := host.FindRunning(home); ok && filepath.IsAbs(r.Socket) {
		return r.Socket
	}
	return host.SocketPath(home)
}
