package main

import (
	"testing"

	"github.com/creack/pty"
)

// In a terminal an approval is answered in place.
func TestApprovalIsAnsweredInTheTerminal(t *testing.T) {
	w := newWorld(t, "")
	cmd := w.command(terminalProgram, "-c", `"$@"; exit $?`, "sh", binary, "run", "--provider", "rehearsal", "edit")
	f, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var view screen
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := f.Read(buf)
			_, _ = view.Write(buf[:n])
			if err != nil {
				return // the terminal ends with the command
			}
		}
	}()
	within(t, view.expect("number: "))
	if _, err := f.WriteString("1\n"); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	<-read
	if err != nil {
		t.Errorf("%v\n%s", err, view.text.String())
	}
}
