package terminals

import (
	"errors"
	"sync"
)

// Frame is the kind of bytes a window gets.
type Frame byte

const (
	// Replay bytes rebuild the screen, from a reset on.
	Replay Frame = iota + 1
	// ReplayEnd comes once, without bytes, after the replay.
	ReplayEnd
	// Output is what the program wrote since.
	Output
)

// Flow control: a terminal is not read while a window has more than pauseAt
// bytes unacknowledged, until it has less than resumeAt.
const (
	pauseAt  = 512 << 10
	resumeAt = 128 << 10
)

// maxFrame bounds the bytes of one frame.
const maxFrame = 64 << 10

// Sink takes a window's frames in order, from the terminal's goroutine, one
// call at a time. It must not keep p, must not block and must not call
// anything of the terminal but Ack.
type Sink func(kind Frame, p []byte)

// ErrClosed says that the terminal is closed or was never there.
var ErrClosed = errors.New("the terminal is closed")

// Attachment is a window's hold on a terminal.
type Attachment struct {
	t    *terminal
	sink Sink

	// owned by the terminal's goroutine
	cols, rows int
	focus      bool
	sent       uint64

	mu    sync.Mutex
	acked uint64
}

// Input takes what was typed or pasted, in order. It fails when the program
// does not read and too much is waiting already.
func (a *Attachment) Input(p []byte) error { return a.t.input(p) }

// Ack says how many bytes of replay and output the window has consumed since
// it attached. It may be called from anywhere.
func (a *Attachment) Ack(total uint64) {
	a.mu.Lock()
	if total > a.acked {
		a.acked = total
	}
	a.mu.Unlock()
	a.t.wake()
}

func (a *Attachment) unacked() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.acked > a.sent { // says more than it got
		return 0
	}
	return a.sent - a.acked
}

// Resize reports this window's size; the focused window decides, an only one
// always does.
func (a *Attachment) Resize(cols, rows int, focus bool) {
	_ = a.t.do(func() {
		a.cols, a.rows, a.focus = cols, rows, focus
		if focus {
			for other := range a.t.windows {
				if other != a {
					other.focus = false
				}
			}
		}
		if focus || len(a.t.windows) == 1 {
			a.t.setSize(cols, rows)
		}
	})
}

// Detach ends the hold. After it the sink is not called any more.
func (a *Attachment) Detach() {
	_ = a.t.do(func() {
		delete(a.t.windows, a)
		a.t.flow()
	})
}

func (a *Attachment) send(kind Frame, p []byte) {
	if len(p) == 0 {
		a.sink(kind, nil)
		return
	}
	for len(p) > 0 {
		n := min(len(p), maxFrame)
		a.sent += uint64(n)
		a.sink(kind, p[:n])
		p = p[n:]
	}
}
