package terminals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Times of one terminal; all are one-shot and run only after something happened.
const (
	coalesce     = 4 * time.Millisecond   // output is gathered this long
	frameHold    = 150 * time.Millisecond // at most, while a program draws one frame
	changeGap    = 100 * time.Millisecond // between two reports of a busy title
	settleDelay  = 250 * time.Millisecond // then look who is in the foreground
	drainDelay   = 250 * time.Millisecond // for the last output of an ended leader
	drainAtMost  = 5 * time.Second
	nudgeDelay   = 100 * time.Millisecond
	outputBytes  = 32 << 10 // sent at once
	maxInput     = 4 << 20  // waiting to be read by the program
	maxReplies   = 64 << 10
	readBufBytes = 32 << 10
)

// ErrInputFull says that the program does not read what was typed.
var ErrInputFull = errors.New("the program does not read its input")

// terminal is one terminal with the goroutine that owns it.
type terminal struct {
	m      *Manager
	id     string
	leader processes.Identity
	helper processes.Helper
	tty    uint64
	shell  bool
	f      *os.File
	cmd    *exec.Cmd

	cmds   chan func()
	poke   chan struct{}
	reads  chan []byte // from the reader
	free   chan []byte // back to it
	exited chan processes.Exit
	quit   chan struct{} // closed by close
	done   sync.WaitGroup

	in inputQueue

	// owned by run
	r          responder
	windows    map[*Attachment]struct{}
	out        []byte
	lastFlush  time.Time
	lastChange time.Time
	holdUntil  time.Time
	paused     bool
	stopWatch  func() // of the program that reports by OSC 7501
	reporter   processes.Identity
	nudging    bool
	toldCwd    bool   // the program tells its folder by OSC 7
	name       string // the title when the program gives none

	mu     sync.Mutex // guards what follows, for readers elsewhere
	info   model.Terminal
	dirty  bool // info changed since it was published
	closed bool
}

// run owns the terminal until it is closed.
func (t *terminal) run() {
	defer t.done.Done()
	flush := newAlarm()
	changed := newAlarm()
	settle := newAlarm()
	nudge := newAlarm()
	defer func() {
		for _, a := range []*alarm{flush, changed, settle, nudge} {
			a.stop()
		}
		t.forgetProgram()
	}()
	reads := t.reads
	for {
		in := reads
		if t.paused {
			in = nil
		}
		select {
		case <-t.quit:
			return
		case f := <-t.cmds:
			f()
		case <-t.poke:
		case b, ok := <-in:
			if !ok {
				reads = nil
				t.flush()
				break
			}
			t.r.write(b)
			t.free <- b[:cap(b)]
			t.m.hint()
			settle.atMost(settleDelay)
		case e := <-t.exited:
			t.ended(e)
		case <-flush.C():
			flush.fired()
			t.flush()
		case <-settle.C():
			settle.fired()
			t.settle()
		case <-nudge.C():
			nudge.fired()
			t.nudging = false
			setSize(t.f, t.r.state.cols, t.r.state.rows)
		case <-changed.C():
			changed.fired()
			t.publish()
		}
		if len(t.out) > 0 {
			t.flushDue(flush)
		}
		if t.nudging {
			nudge.atMost(nudgeDelay)
		}
		if t.takeChanged() {
			if time.Since(t.lastChange) >= changeGap {
				t.publish()
			} else {
				changed.atMost(changeGap)
			}
		}
		t.flow()
	}
}

// flushDue sends now what is old or large enough, else sets the alarm. A
// frame (mode 2026) is not cut unless it takes too long or grows too far.
func (t *terminal) flushDue(flush *alarm) {
	now := time.Now()
	if t.r.state.mode(2026) {
		if t.holdUntil.IsZero() {
			t.holdUntil = now.Add(frameHold)
		}
		if now.Before(t.holdUntil) && len(t.out) < 8*outputBytes {
			flush.atMost(t.holdUntil.Sub(now))
			return
		}
	}
	t.holdUntil = time.Time{}
	if len(t.out) >= outputBytes || now.Sub(t.lastFlush) >= coalesce {
		t.flush()
		return
	}
	flush.atMost(coalesce)
}

func (t *terminal) flush() {
	if len(t.out) > 0 {
		for w := range t.windows {
			w.send(Output, t.out)
		}
		t.out = t.out[:0]
		if cap(t.out) > 16*outputBytes {
			t.out = nil
		}
	}
	t.lastFlush = time.Now()
}

// flow pauses and resumes reading by the slowest window.
func (t *terminal) flow() {
	var slowest uint64
	for w := range t.windows {
		slowest = max(slowest, w.unacked())
	}
	if t.paused {
		t.paused = slowest >= resumeAt
	} else {
		t.paused = slowest > pauseAt
	}
}

func (t *terminal) setSize(cols, rows int) {
	cols, rows = clampSize(cols, rows)
	if cols == t.r.state.cols && rows == t.r.state.rows {
		return
	}
	t.r.resize(cols, rows)
	t.nudging = false
	setSize(t.f, cols, rows)
	t.update(func(i *model.Terminal) { i.Cols, i.Rows = cols, rows })
}

func clampSize(cols, rows int) (int, int) {
	if cols <= 0 {
		cols = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return min(cols, 1000), min(rows, 1000)
}

func (t *terminal) attach(a *Attachment) model.Terminal {
	t.flush() // the others get theirs before the replay is cut
	t.windows[a] = struct{}{}
	if a.focus {
		for other := range t.windows {
			if other != a {
				other.focus = false
			}
		}
	}
	before := [2]int{t.r.state.cols, t.r.state.rows}
	a.send(Replay, t.r.keep.replay())
	a.send(ReplayEnd, nil)
	if a.cols > 0 && a.rows > 0 && (a.focus || len(t.windows) == 1) {
		t.setSize(a.cols, a.rows)
	}
	// A full-screen program draws all again when its size changes; where it did
	// not, it is changed for a moment.
	same := before == [2]int{t.r.state.cols, t.r.state.rows}
	if same && t.r.state.alternate() && t.running() {
		setSize(t.f, t.r.state.cols, max(t.r.state.rows-1, 1))
		t.nudging = true
	}
	return t.snapshot()
}

// ended follows the end of the leader.
func (t *terminal) ended(e processes.Exit) {
	t.forgetProgram()
	t.update(func(i *model.Terminal) {
		i.Running, i.Busy, i.Program = false, false, nil
		code := e.Code
		if e.Signal != 0 {
			i.Signal = e.Signal.String()
			code = 128 + int(e.Signal)
		}
		i.ExitCode = &code
	})
	t.publish()
}

func (t *terminal) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info.Running
}

// settle looks who reads the keyboard now.
func (t *terminal) settle() {
	if !t.running() {
		return
	}
	busy := t.busyNow()
	cwd := ""
	if !t.toldCwd { // most shells do not say where they are
		cwd, _ = processes.Cwd(t.leader.Pid)
	}
	t.update(func(i *model.Terminal) {
		i.Busy = busy
		if cwd != "" {
			i.Cwd = cwd
		}
	})
}

// busyNow reports whether something runs beside the shell.
func (t *terminal) busyNow() bool {
	if !t.shell {
		return true
	}
	g := foreground(t.f)
	return g > 0 && g != t.leader.Pid
}

// do runs f in the terminal's goroutine and waits for it.
func (t *terminal) do(f func()) error {
	ran := make(chan struct{})
	select {
	case t.cmds <- func() { f(); close(ran) }:
		<-ran
		return nil
	case <-t.quit:
		return ErrClosed
	}
}

func (t *terminal) wake() {
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

// close ends everything of the terminal and waits for it.
func (t *terminal) close(ctx context.Context) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		t.done.Wait()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	err := endSession(ctx, t.m.exits, t.leader)
	close(t.quit)
	_ = t.f.Close()
	t.in.close()
	if err != nil {
		// Waiting for a leader that KILL does not end would hang the caller as well.
		return fmt.Errorf("close terminal %s: %w", t.id, err)
	}
	t.done.Wait()
	if t.m.opt.Ledger != nil {
		t.m.opt.Ledger.Ended(t.leader)
	}
	return nil
}
