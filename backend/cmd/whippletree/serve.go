package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/host"
	rehearsal "github.com/whippletree-app/whippletree/extensions/rehearsal/program"
	"github.com/whippletree-app/whippletree/frontend"
)

// stopBound is how long an ending host may take in all.
const stopBound = 30 * time.Second

func (p *program) serveCommand() *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the host of this user (windows and commands start it by themselves)",
		Args:  args(0, "no arguments"),
		RunE:  func(c *cobra.Command, _ []string) error { return p.serve(c.Context(), keep) },
	}
	c.Flags().BoolVar(&keep, "keep", false, "stay when no window and no command is connected")
	return c
}

func (p *program) serve(ctx context.Context, keep bool) error {
	if r, ok := host.FindRunning(p.home); ok {
		fmt.Fprintf(p.err, "whippletree: a host runs already (process %d)\n", r.Pid)
		return nil
	}
	log, closeLog, err := openLog(p.home)
	if err != nil {
		return fail(exitNoHost, "", "the log: %w", err)
	}
	defer closeLog()
	h, err := host.New(host.Options{
		Home: p.home, UserHome: p.userHome, Env: p.environ, User: strconv.Itoa(os.Getuid()), Version: version,
		Executable: p.exe, Keep: keep, Log: log,
		SkipShell: p.getenv("WHIPPLETREE_SKIP_SHELL") != "", Grace: grace(p.getenv("WHIPPLETREE_GRACE")),
	})
	if err != nil {
		return fail(exitNoHost, "", "%w", err)
	}
	err = h.Start(ctx)
	if errors.Is(err, host.ErrRunning) {
		fmt.Fprintln(p.err, "whippletree: a host runs already")
		return nil
	}
	if err != nil {
		log.Error("no start", "err", err)
		return fail(exitNoHost, "whippletree doctor", "%w", err)
	}
	log.Info("ready", "pid", os.Getpid(), "socket", h.Socket(), "version", version)
	select {
	case <-h.Done():
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	err = h.Stop(stop)
	log.Info("ended", "err", err)
	return err
}

// grace shortens how long a lost window may take to come back (tests).
func grace(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// maxLog is when a log is put aside at the next start.
const maxLog = 4 << 20

func openLog(home string) (*slog.Logger, func(), error) {
	dir := filepath.Join(home, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "host.log")
	if st, err := os.Stat(path); err == nil && st.Size() > maxLog {
		_ = os.Rename(path, path+".1")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewTextHandler(f, nil)), func() { _ = f.Close() }, nil
}

func (p *program) webCommand() *cobra.Command {
	var noOpen bool
	c := &cobra.Command{
		Use:   "web",
		Short: "Show the window in a browser on this machine",
		Long:  "Serves the window on 127.0.0.1 until Ctrl-C. The printed address works once: the browser that opens it first keeps it.",
		Args:  args(0, "no arguments"),
		RunE:  func(c *cobra.Command, _ []string) error { return p.web(c.Context(), noOpen) },
	}
	c.Flags().BoolVar(&noOpen, "no-open", false, "only print the address")
	return c
}

func (p *program) web(ctx context.Context, noOpen bool) error {
	if !frontend.Built() {
		return fail(exitUnavailable, "make build", "this binary was built without the window")
	}
	return p.with(ctx, func(s *session) error {
		proxy, err := api.StartProxy(api.ProxyOptions{Dial: p.dialer(), Files: frontend.Assets(), Browser: true})
		if err != nil {
			return err
		}
		defer proxy.Close()
		p.line("%s", proxy.PageURL())
		if !noOpen {
			page := filepath.Join(p.home, "run", "web.html")
			defer os.Remove(page)
			if err := openBrowser(page, proxy.PageURL()); err != nil {
				fmt.Fprintln(p.err, "whippletree: no browser could be opened:", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-s.Done():
			return fail(exitInterrupted, "whippletree web", "the host ended")
		}
		return nil
	})
}

// openBrowser leads there through a file that only this user can read: the
// address has the token, and everybody sees the arguments of a program.
func openBrowser(page, url string) error {
	text := `<!doctype html><meta http-equiv="refresh" content="0;url=` + url + `">`
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		return err
	}
	for _, name := range []string{"xdg-open", "open"} {
		if path, err := exec.LookPath(name); err == nil {
			cmd := exec.Command(path, page)
			if err := cmd.Start(); err != nil {
				return err
			}
			go func() { _ = cmd.Wait() }()
			return nil
		}
	}
	return errors.New("neither xdg-open nor open is installed")
}

func (p *program) rehearsalCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "rehearsal",
		Short:              "The demonstration agent",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := rehearsal.Main(args, p.in, p.out, p.err, p.getenv, filepath.Join(p.home, "data", "rehearsal")); code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
}
