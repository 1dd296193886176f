// Command whippletree is the host and the command line of Whippletree.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/host"
)

// version is set by the release build.
var version = "0.1.0"

// Exit codes, documented in docs/cli.md.
const (
	exitOK          = 0
	exitFailed      = 1 // the turn failed, or the command did
	exitUsage       = 2
	exitNotFound    = 3
	exitCanceled    = 4
	exitInterrupted = 5
	exitNotAllowed  = 6
	exitUnavailable = 7
	exitNoHost      = 8
)

// program is one run of the command line. Everything of the process's
// surroundings that commands use is read here, once.
type program struct {
	in       *os.File
	out, err io.Writer
	getenv   func(string) string
	environ  []string
	userHome string
	home     string // all data
	exe      string
	cwd      string
	json     bool
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, environ: os.Environ()}
	p.userHome, _ = os.UserHomeDir()
	p.cwd, _ = os.Getwd()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := p.locate()
	if err == nil {
		root := p.commands()
		root.SetArgs(args)
		root.SetOut(p.out)
		root.SetErr(p.err)
		err = root.ExecuteContext(ctx)
	}
	return p.report(err)
}

func (p *program) locate() (err error) {
	if p.home, err = host.Home(p.getenv, p.userHome); err != nil {
		return err
	}
	p.exe, err = os.Executable()
	return err
}

// exitError ends the program with a code; Err nil prints nothing.
type exitError struct {
	code int
	err  error
	fix  string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func fail(code int, fix, format string, args ...any) error {
	return &exitError{code: code, fix: fix, err: fmt.Errorf(format, args...)}
}

// report prints the reason and the command that fixes it, and returns the code.
func (p *program) report(err error) int {
	code, fix := exitFailed, ""
	var exit *exitError
	var failed *api.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		code, fix = exit.code, exit.fix
	case errors.As(err, &failed):
		code, fix = codeOf(failed), failed.Fix
	case errors.Is(err, context.Canceled):
		return exitCanceled
	case errors.Is(err, api.ErrLost), errors.Is(err, api.ErrClosed):
		code, fix = exitInterrupted, "whippletree doctor"
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(safely{p.err}, "whippletree: %s\n", text)
	}
	if fix != "" {
		fmt.Fprintf(p.err, "  try: %s\n", fix)
	}
	return code
}

func codeOf(e *api.Error) int {
	switch e.Code {
	case api.CodeInvalid:
		return exitUsage
	case api.CodeNotFound:
		return exitNotFound
	case api.CodeNotAllowed:
		return exitNotAllowed
	case api.CodeUnavailable, api.CodeTrustNeeded, api.CodeUnsupported:
		return exitUnavailable
	case api.CodeVersion:
		return exitNoHost
	}
	return exitFailed
}

func (p *program) commands() *cobra.Command {
	root := &cobra.Command{
		Use:           "whippletree",
		Short:         "The home of the coding agents on this computer",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fail(exitUsage, c.CommandPath()+" --help", "%w", err)
	})
	root.AddCommand(
		p.serveCommand(), p.webCommand(), p.lsCommand(), p.runCommand(), p.chatsCommand(), p.attachCommand(),
		p.sendCommand(), p.stopCommand(), p.approvalsCommand(), p.approveCommand(), p.rulesCommand(), p.auditCommand(), p.trustCommand(), p.handoffCommand(),
		p.takebackCommand(), p.focusCommand(), p.providersCommand(), p.doctorCommand(), p.versionCommand(),
		p.rehearsalCommand(), p.settingsCommand(), p.hostCommand(), p.searchCommand(), p.exportCommand(),
		p.archiveCommand(), p.removeCommand(), p.removedCommand(),
		p.statusCommand(), p.renameCommand(), p.rewindCommand(),
	)
	return root
}

// jsonFlag adds --json.
func (p *program) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&p.json, "json", false, "print JSON (docs/cli.md)")
	return c
}

func args(n int, names string) cobra.PositionalArgs {
	return func(c *cobra.Command, got []string) error {
		if len(got) != n {
			return fail(exitUsage, c.CommandPath()+" --help", "%s takes %s", c.CommandPath(), names)
		}
		return nil
	}
}
