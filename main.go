// Command whippletree-desktop is the window of Whippletree: a thin shell around
// the host (`whippletree serve`), which it starts, supervises and leaves. It
// holds no domain logic.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/wailsapp/wails/v2"

	"github.com/whippletree-app/whippletree/backend/shell"
)

// Exit codes of the desktop binary. A window that ended with exitAgain left its
// lease open on purpose: the host starts it again.
const (
	exitFailed = 1
	exitUsage  = 2
	exitAgain  = 75
)

func main() { os.Exit(run()) }

func run() int {
	args, err := shell.ParseArgs(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "whippletree-desktop:", err)
		return exitUsage
	case args.Version:
		fmt.Println(version)
		return 0
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	app, err := newApp(args, log)
	if err != nil {
		fmt.Fprintln(os.Stderr, "whippletree-desktop:", err)
		return exitFailed
	}
	defer app.close()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	// A second start raises the first window and is done.
	lock, err := shell.LockWindow(app.windows, args.Window)
	if errors.Is(err, shell.ErrOpen) {
		return app.raiseOther(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "whippletree-desktop:", err)
		return exitFailed
	}
	defer lock.Unlock()

	// The host is forked before GTK and WebKit open anything.
	if err := app.startHost(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "whippletree-desktop:", err)
		return exitFailed
	}
	app.prepareDisplay()
	go func() {
		<-ctx.Done()
		app.quit()
	}()
	if err := wails.Run(app.options()); err != nil {
		fmt.Fprintln(os.Stderr, "whippletree-desktop:", err)
		return exitFailed
	}
	return app.exitCode()
}

// raiseOther asks the host to bring the window that is open to the front. The
// other start may be so young that its host does not answer yet.
func (a *App) raiseOther(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := a.raise(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "whippletree-desktop: the window is open already, but could not be raised:", err)
		return exitFailed
	}
	return 0
}
