package shell

import (
	"sync"
	"time"
)

// pageReturns is how long a page may take to come back after its connection
// closed: a reload does within tens of milliseconds, a dead web process never.
const pageReturns = 1200 * time.Millisecond

// PageWatch notices a dead web process: the page's connection closed from its
// side and no other came in time. It needs no heartbeat: the network process
// closes the sockets of a web process that is gone. A connection that we close
// (the host restarts) says nothing about the page.
type PageWatch struct {
	dead    func()
	returns time.Duration

	mu    sync.Mutex
	open  int
	timer *time.Timer
	done  bool
}

// NewPageWatch calls dead at most once, from a goroutine of its own.
func NewPageWatch(dead func()) *PageWatch { return &PageWatch{dead: dead, returns: pageReturns} }

// Opened says that the page connected.
func (w *PageWatch) Opened() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// Closed says that a connection of the page ended, byPage from its side.
func (w *PageWatch) Closed(byPage bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	if w.open > 0 || w.done || !byPage {
		return
	}
	w.timer = time.AfterFunc(w.returns, w.fire)
}

func (w *PageWatch) fire() {
	w.mu.Lock()
	if w.done || w.open > 0 {
		w.mu.Unlock()
		return
	}
	w.done = true
	w.mu.Unlock()
	w.dead()
}

// Stop ends the watch: the window closes on purpose.
func (w *PageWatch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
