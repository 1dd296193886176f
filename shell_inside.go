package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
)

const (
	platform = goruntime.GOOS
	isMac    = platform == "darwin"
)

type insideHost struct{}

func startInside(context.Context, string, *slog.Logger) (*insideHost, error) {
	return nil, errors.New("no host in this build")
}
func (*insideHost) stop()     {}
func (a *App) restartInside() {}

func homeDir() (string, error) {
	if h := os.Getenv("WHIPPLETREE_HOME"); h != "" {
		return h, nil
	}
	h, err := os.UserHomeDir()
	return filepath.Join(h, ".local", "share", "whippletree"), err
}

func socketPath(home string) (string, error) { return filepath.Join(home, "run", "host.sock"), nil }
