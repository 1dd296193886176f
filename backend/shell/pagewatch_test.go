package shell

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// page is a page that connects through the watch.
type page struct {
	t    *testing.T
	dial func(context.Context) (net.Conn, error)
	down bool // the host does not answer
}

func (p *page) connect() net.Conn {
	c, err := p.dial(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *page) fail() {
	p.down = true
	if _, err := p.dial(context.Background()); err == nil {
		p.t.Fatal("it connected")
	}
	p.down = false
}

func TestPageWatch(t *testing.T) {
	tests := []struct {
		name string
		do   func(*PageWatch, *page)
		dead bool
	}{
		{"the web process died", func(_ *PageWatch, p *page) { p.connect().Close() }, true},
		{"a connection closed twice is one", func(_ *PageWatch, p *page) {
			c, _ := p.connect(), p.connect()
			c.Close()
			c.Close()
		}, false},
		{"a reload", func(_ *PageWatch, p *page) {
			p.connect().Close()
			time.Sleep(pageReturns / 2)
			p.connect()
		}, false},
		{"the new page connects before the old one is gone", func(_ *PageWatch, p *page) {
			old := p.connect()
			p.connect()
			old.Close()
		}, false},
		{"the host restarts slowly while the page knocks", func(_ *PageWatch, p *page) {
			p.connect().Close()
			time.Sleep(pageReturns / 2)
			p.fail()
			time.Sleep(pageRetries / 2)
			p.fail()
			time.Sleep(pageRetries / 2)
			p.connect()
		}, false},
		{"the page dies while the host restarts", func(_ *PageWatch, p *page) {
			p.connect().Close()
			p.fail()
		}, true},
		{"the window closes", func(w *PageWatch, p *page) {
			c := p.connect()
			w.Stop()
			c.Close()
		}, false},
		{"the window closes just after", func(w *PageWatch, p *page) {
			p.connect().Close()
			w.Stop()
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dead := 0
				w := NewPageWatch(func() { dead++ }, func() (bool, bool) { return false, false })
				p := &page{t: t}
				p.dial = w.Dialer(func(context.Context) (net.Conn, error) {
					if p.down {
						return nil, errors.New("no host")
					}
					a, b := net.Pipe()
					t.Cleanup(func() { a.Close(); b.Close() })
					return a, nil
				})
				tt.do(w, p)
				time.Sleep(10 * pageRetries)
				synctest.Wait()
				if (dead == 1) != tt.dead || dead > 1 {
					t.Errorf("dead was called %d times, want %v", dead, tt.dead)
				}
			})
		})
	}
}

func TestPageWatchSeesTheDeadProcessAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead, lives := false, true
		w := NewPageWatch(func() { dead = true }, func() (bool, bool) { return lives, true })
		defer w.Stop()
		dial := w.Dialer(func(context.Context) (net.Conn, error) {
			a, b := net.Pipe()
			t.Cleanup(func() { a.Close(); b.Close() })
			return a, nil
		})
		p := &page{t: t, dial: dial}
		p.connect().Close()
		synctest.Wait()
		if dead {
			t.Fatal("a living process is given its time")
		}
		lives = false
		p.connect().Close()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !dead {
			t.Error("a dead process was waited for")
		}
	})
}

// A web process that dies before its page has ever connected.
func TestAPageThatNeverConnectsIsDead(t *testing.T) {
	dead := make(chan struct{})
	w := NewPageWatch(func() { close(dead) }, func() (bool, bool) { return false, true })
	defer w.Stop()
	w.Loaded()
	select {
	case <-dead:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody noticed")
	}
}
