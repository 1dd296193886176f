package program

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// die kills this process the hard way when --die-at names the point.
func (o *Options) die(point string) {
	if o.DieAt != point {
		return
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// flood writes n bytes of log lines to stderr.
func flood(stderr io.Writer, n int64) {
	line := []byte("rehearsal: " + strings.Repeat("flood ", 168) + "\n")
	for n > 0 {
		k := min(n, int64(len(line)))
		if _, err := stderr.Write(line[:k]); err != nil {
			return
		}
		n -= k
	}
}

// noiseLines are what shells, launchers and loggers print into a protocol
// stream (case S02); none of them is a message.
var noiseLines = []string{
	"Welcome to the development shell!",
	"\x1b[1;35m* menu\x1b[0m  1) dev  2) test",
	"\"ready\"",
	"42",
	"{\"level\":\"info\",\"id\":1,\"msg\":\"x\"}",
	"",
	"{",
	" \"pretty\": true",
	"}\r",
	"{\"event\":",
}

// holdOutput starts a child that inherits stdout and outlives a polite end.
func holdOutput(out io.Writer) {
	f, ok := out.(*os.File)
	if !ok {
		return
	}
	cmd := exec.Command("sleep", "600")
	cmd.Stdout = f
	_ = cmd.Start()
}

// await returns when the file exists, told is closed or ctx ends. It polls:
// only a test that asked for --hold pays for it.
func await(ctx context.Context, file string, told, nudge <-chan struct{}) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-told:
			return nil
		case <-nudge:
			return nil
		case <-tick.C:
		}
	}
}
