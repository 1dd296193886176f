package shell

import (
	"context"
	"net"
	"sync"
	"time"
)

// How long a page may take to knock again after its connection ended, and after
// an attempt of it failed: a living page tries again within these, a dead web
// process never does.
const (
	pageReturns = 1500 * time.Millisecond
	pageRetries = 15 * time.Second
)

// PageWatch notices a dead web process: the page's connection ended and nobody
// knocks again, or the web process is seen to be gone. It needs no heartbeat,
// because the network process closes the sockets of a web process that is gone.
type PageWatch struct {
	dead  func()
	lives func() (lives, known bool)

	mu    sync.Mutex
	open  int
	timer *time.Timer
	done  bool
}

// NewPageWatch calls dead at most once, from a goroutine of its own. lives looks
// at the web process itself where that is possible (WebProcessLives).
func NewPageWatch(dead func(), lives func() (lives, known bool)) *PageWatch {
	return &PageWatch{dead: dead, lives: lives}
}

// Dialer wraps the way to the host that the page's proxy uses: every attempt of
// the page to connect goes through it.
func (w *PageWatch) Dialer(dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		w.knocked()
		c, err := dial(ctx)
		if err != nil {
			w.gone(pageRetries)
			return nil, err
		}
		w.opened()
		return &pageConn{Conn: c, watch: w}, nil
	}
}

// pageConn tells the watch when it is closed.
type pageConn struct {
	net.Conn
	watch *PageWatch
	once  sync.Once
}

func (c *pageConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.watch.closed)
	return err
}

// Connected reports whether the page has a connection now.
func (w *PageWatch) Connected() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0
}

// Loaded says that the page is there: it has to knock soon. One whose web process
// is seen to live is given longer, a busy machine loads slowly.
func (w *PageWatch) Loaded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open > 0 || w.done || w.timer != nil {
		return
	}
	w.timer = time.AfterFunc(pageReturns, func() {
		if lives, known := w.lives(); known && lives {
			w.gone(pageRetries)
			return
		}
		w.fire()
	})
}

func (w *PageWatch) knocked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm()
}

func (w *PageWatch) opened() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	w.calm()
}

func (w *PageWatch) closed() {
	w.mu.Lock()
	w.open--
	w.mu.Unlock()
	if lives, known := w.lives(); known && !lives {
		w.gone(0)
		return
	}
	w.gone(pageReturns)
}

// gone starts the deadline unless another connection of the page lives.
func (w *PageWatch) gone(within time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm()
	if w.open == 0 && !w.done {
		w.timer = time.AfterFunc(within, w.fire)
	}
}

func (w *PageWatch) calm() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
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
	w.calm()
}
