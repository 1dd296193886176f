// Command pipe is a bare pipe copy: started with `write N` it writes N lines as
// an agent writes its deltas; started with `copy N` it starts the first as a
// child, reads its lines and writes them on, one write each, and prints how many
// there were, the microseconds from the writing of the first to its reading, and
// the microseconds of processor time it took itself.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "pipe write|copy N")
		os.Exit(2)
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if os.Args[1] == "write" {
		for i := range n {
			at := int64(0)
			if i == 0 {
				at = time.Now().UnixMicro()
			}
			_, _ = fmt.Fprintf(os.Stdout, `{"at":%d,"type":"delta","id":"m1","n":%d,"text":"abc"}`+"\n", at, i)
		}
		return
	}
	if err := relay(n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func relay(n int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, "write", strconv.Itoa(n))
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	var first time.Duration
	got := 0
	for lines.Scan() {
		if got == 0 {
			var at int64
			if _, err := fmt.Sscanf(lines.Text(), `{"at":%d`, &at); err != nil {
				return err
			}
			first = time.Since(time.UnixMicro(at))
		}
		got++
		if _, err := null.Write(lines.Bytes()); err != nil {
			return err
		}
	}
	if err := child.Wait(); err != nil {
		return err
	}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return err
	}
	cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	fmt.Printf("%d %d %d\n", got, first.Microseconds(), cpu.Microseconds())
	return nil
}
