package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shim:", err)
	}
	os.Exit(code)
}

func run() (int, error) {
	p, err := parsePlan(os.Getenv(planVariable))
	if err != nil {
		return 2, err
	}
	// Whoever ends us ends the agent, which is in our group, and we end with it.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)

	cmd := exec.Command(p.Program, os.Args[1:]...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, planVariable+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	if p.HoldOutput {
		child := exec.Command("sleep", "600")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return 1, err
		}
	}
	flood(p.Flood)
	go input(p, os.Stdin, in)
	if err := output(p, out); err != nil {
		// The reader went away; the agent sees it as soon as it writes.
		_ = out.Close()
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return 1, err
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 128, nil
}

// input passes lines on until it goes deaf.
func input(p *plan, from io.Reader, to io.WriteCloser) {
	defer to.Close()
	r := bufio.NewReaderSize(from, 64<<10)
	for n := 0; ; n++ {
		l, err := r.ReadBytes('\n')
		if n > 0 && len(l) > 0 {
			flood(p.Flood)
		}
		if _, bad := to.Write(l); bad != nil || err != nil {
			return
		}
		if p.deaf != nil && p.deaf.Match(l) {
			select {}
		}
	}
}

func output(p *plan, from io.Reader) error {
	c := &cutter{cuts: p.Cuts, write: func(b []byte) error {
		_, err := os.Stdout.Write(b)
		if err == nil && len(p.Cuts) > 0 {
			taken(os.Stdout)
		}
		return err
	}}
	s := &script{plan: p, later: func(l []byte) { _ = c.put(l) }}
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		l, err := r.ReadBytes('\n')
		if len(l) > 0 {
			if bad := c.put(s.line(l)); bad != nil {
				return bad
			}
		}
		if err != nil {
			return c.put(s.rest())
		}
	}
}

// takenBound is how long a piece may wait until its reader took it. A sleep would
// be far longer.
const takenBound = 100 * time.Microsecond

// taken waits until the pipe is empty, so that the next piece is read by
// itself.
func taken(f *os.File) {
	for over := time.Now().Add(takenBound); pending(f) > 0 && time.Now().Before(over); {
		runtime.Gosched()
	}
}

var flooding sync.Mutex

func flood(n int) {
	flooding.Lock()
	defer flooding.Unlock()
	line := append(bytes.Repeat([]byte("flood "), 170), '\n')
	for n > 0 {
		k := min(n, len(line))
		if _, err := os.Stderr.Write(line[:k]); err != nil {
			return
		}
		n -= k
	}
}
