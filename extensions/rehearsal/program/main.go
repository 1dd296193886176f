// Package program is the rehearsal agent itself: a small agent that works
// offline from a script. It runs as a process of its own (`whippletree
// rehearsal`), is labelled a demonstration, and is at the same time the
// deterministic load and fault generator of the tests (see Options).
package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// Main runs the agent and returns its exit code. getenv reads the environment;
// home is the data folder used when REHEARSAL_HOME is not set. It speaks JSON
// lines on the streams given with --protocol json, and takes over the terminal
// when stdin is one.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string, home string) int {
	opt, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "rehearsal:", err)
		return 2
	}
	if opt.Version {
		fmt.Fprintln(stdout, "rehearsal", wire.Release, "(demonstration)")
		return 0
	}
	if h := getenv(wire.HomeVariable); h != "" {
		home = h
	}
	if home == "" {
		fmt.Fprintln(stderr, "rehearsal: no data folder: set REHEARSAL_HOME")
		return 2
	}
	if opt.Cwd == "" {
		if opt.Cwd, err = os.Getwd(); err != nil {
			fmt.Fprintln(stderr, "rehearsal: the working folder cannot be read:", err)
			return 1
		}
	}
	if opt.Protocol == "json" {
		return runStructured(opt, home, stdin, stdout, stderr)
	}
	in, ok := stdin.(*os.File)
	if !ok || !isatty.IsTerminal(in.Fd()) {
		fmt.Fprintln(stderr, "rehearsal: stdin is no terminal; start it in one, or use --protocol json")
		return 2
	}
	return runTerminal(opt, home, in, stdout, stderr)
}
