package terminals

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/processes"
)

// read hands the program's output to run until the last bit, one buffer of
// two being filled while the other is worked on.
func (t *terminal) read(leaderEnded <-chan struct{}) {
	defer t.done.Done()
	defer close(t.reads)
	stop := make(chan struct{})
	defer close(stop)
	var last time.Time
	t.done.Add(1)
	go func() {
		// Whoever inherited the terminal and left the session keeps it open; the
		// leader's end is the end all the same.
		defer t.done.Done()
		select {
		case <-leaderEnded:
			_ = t.f.SetReadDeadline(time.Now().Add(drainDelay))
		case <-stop:
		}
	}()
	for {
		var buf []byte
		select {
		case buf = <-t.free:
		case <-t.quit:
			return
		}
		n, err := t.f.Read(buf)
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			if last.IsZero() {
				last = time.Now().Add(drainAtMost)
			}
			// It may have passed while reading was paused, with output waiting.
			if time.Now().Before(last) {
				_ = t.f.SetReadDeadline(time.Now().Add(drainDelay / 10))
				n, err = t.f.Read(buf)
			}
		}
		if n > 0 {
			select {
			case t.reads <- buf[:n]:
			case <-t.quit:
				return
			}
		}
		if err != nil && !(n > 0 && errors.Is(err, os.ErrDeadlineExceeded)) {
			return // EIO and EOF are the end of a terminal
		}
	}
}

// wait reaps the leader as soon as it has ended, whoever still holds the
// terminal open.
func (t *terminal) wait(ended chan<- struct{}) {
	defer t.done.Done()
	gone := make(chan struct{})
	if stop, err := t.m.exits.Watch(t.leader, func() { close(gone) }); err == nil {
		select { // without a thread
		case <-gone:
		case <-t.quit: // its leader was killed, even if the watcher is closed already
			stop()
		}
	}
	_ = t.cmd.Wait()
	e := processes.Exit{Code: t.cmd.ProcessState.ExitCode(), At: time.Now()}
	if ws, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal()
	}
	close(ended)
	t.exited <- e // buffered
}
