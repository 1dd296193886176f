package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/shell"
)

// version is set by the release build.
var version = "0.1.0"

// App is one window: its host connection, the page's proxy and what the page
// may ask of the window. Methods with a capital letter are the bindings.
type App struct {
	args    shell.Args
	log     *slog.Logger
	home    string   // where all data is
	windows string   // window states and locks
	environ []string // as this process was started, before WebKit's part
	reach   func(context.Context) (net.Conn, error)
	host    *shell.Launcher // nil with --in-process
	inside  *insideHost     // only with --in-process
	state   shell.WindowState

	page  *shell.PageWatch
	proxy *api.Proxy

	client  atomic.Pointer[api.Client]
	ctx     context.Context // of Wails, once the window exists
	started chan struct{}   // closed when ctx is set
	again   atomic.Bool     // the page died: start anew
	leaving atomic.Bool     // the quit was decided
	asking  atomic.Bool     // the quit is being decided
	asked   atomic.Bool     // the page was asked to show its quit dialog
	end     sync.Once
}

func newApp(args shell.Args, log *slog.Logger) (*App, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	a := &App{
		args: args, log: log, home: home, windows: filepath.Join(home, "windows"),
		environ: os.Environ(), started: make(chan struct{}),
	}
	a.state = shell.LoadWindowState(a.windows, args.Window)
	a.page = shell.NewPageWatch(a.pageDied, shell.WebProcessLives)
	return a, nil
}

// startHost forks the host when none runs, without waiting for it, and opens
// the listener of the page. The connection follows beside the window's start.
func (a *App) startHost(ctx context.Context) error {
	if a.args.InProcess {
		inside, err := startInside(ctx, a.home, a.log)
		if err != nil {
			return err
		}
		a.inside, a.reach = inside, a.connect
	} else {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		program, err := hostProgram(self)
		if err != nil {
			return err
		}
		a.host = shell.NewLauncher(shell.LauncherOptions{
			Connect: a.connect,
			Argv:    []string{program, "serve"},
			Env:     a.environ,
			Stderr:  filepath.Join(a.home, "logs", "host.err"),
			Failed:  a.hostFailed,
		})
		if err := a.host.Prepare(ctx); err != nil {
			return err
		}
		a.reach = a.host.Dial
	}
	proxy, err := api.StartProxy(api.ProxyOptions{Dial: a.page.Dialer(a.reach), Log: a.log})
	if err != nil {
		return fmt.Errorf("opening the page's listener: %w", err)
	}
	a.proxy = proxy
	go a.attach(ctx)
	return nil
}

// attach connects this window to the host: its lease, how it is started again,
// and the events that are for windows.
func (a *App) attach(ctx context.Context) {
	self, _ := os.Executable()
	client, err := api.NewClient(ctx, api.ClientOptions{
		Dial: a.reach,
		Hello: api.Hello{
			Client: "window", Version: version, Window: a.args.Window, Lease: true,
			Argv: append([]string{self}, os.Args[1:]...), Env: environment(a.environ),
		},
		Reconnect: true,
		Down:      func(err error) { a.log.Info("the host's connection ended", "err", err) },
	})
	if err != nil {
		a.hostFailed(err)
		return
	}
	a.client.Store(client)
	a.followHost(ctx, client)
}

// connect dials the host's socket once.
func (a *App) connect(ctx context.Context) (net.Conn, error) {
	return api.DialSocket(socketPath(a.home))(ctx)
}

// startup is called by Wails when the window exists, before the page is loaded.
func (a *App) startup(ctx context.Context) {
	a.ctx = ctx
	close(a.started)
	a.answerNotifications(ctx)
	if a.state.Placed && !a.state.Maximised {
		runtime.WindowSetPosition(ctx, a.state.X, a.state.Y)
	}
}

// pageDied: Wails cannot bring a dead web process back, only a new shell does.
// The lease stays open, so that the host starts this window again; with the
// host inside, the process replaces itself.
func (a *App) pageDied() {
	a.log.Error("the page died; the window starts anew")
	a.again.Store(true)
	if a.inside != nil {
		a.restartInside()
	}
	// GTK may hang with the dead page: no orderly end is needed, everything
	// that matters is in the host.
	os.Exit(exitAgain)
}

// hostFailed shows why no host could be started.
func (a *App) hostFailed(err error) {
	a.log.Error("no host", "err", err)
	select {
	case <-a.started:
	case <-time.After(10 * time.Second):
		return
	}
	_, _ = runtime.MessageDialog(a.ctx, runtime.MessageDialogOptions{
		Type: runtime.ErrorDialog, Title: "Whippletree cannot start its host",
		Message: fmt.Sprintf("%v\n\nwhippletree doctor tells more.", err),
	})
}

func (a *App) exitCode() int {
	if a.again.Load() {
		return exitAgain
	}
	return 0
}

// close ends what this process holds, once.
func (a *App) close() {
	a.end.Do(func() {
		a.page.Stop()
		if a.host != nil {
			a.host.Stop()
		}
		a.goodbye()
		if a.proxy != nil {
			_ = a.proxy.Close()
		}
		if a.inside != nil {
			a.inside.stop()
		}
	})
}
