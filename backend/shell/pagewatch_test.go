package shell

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPageWatch(t *testing.T) {
	tests := []struct {
		name string
		do   func(*PageWatch)
		dead bool
	}{
		{"the web process died", func(w *PageWatch) { w.Opened(); w.Closed(true) }, true},
		{"a reload", func(w *PageWatch) {
			w.Opened()
			w.Closed(true)
			time.Sleep(pageReturns / 2)
			w.Opened()
		}, false},
		{"the new page connects before the old one is gone", func(w *PageWatch) {
			w.Opened()
			w.Opened()
			w.Closed(true)
		}, false},
		{"the host restarts", func(w *PageWatch) { w.Opened(); w.Closed(false) }, false},
		{"the host restarts, then the page dies", func(w *PageWatch) {
			w.Opened()
			w.Closed(false)
			w.Opened()
			w.Closed(true)
		}, true},
		{"the window closes", func(w *PageWatch) { w.Opened(); w.Stop(); w.Closed(true) }, false},
		{"the window closes just after", func(w *PageWatch) { w.Opened(); w.Closed(true); w.Stop() }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dead := 0
				w := NewPageWatch(func() { dead++ })
				tt.do(w)
				time.Sleep(10 * pageReturns)
				synctest.Wait()
				if (dead == 1) != tt.dead || dead > 1 {
					t.Errorf("dead was called %d times, want %v", dead, tt.dead)
				}
			})
		})
	}
}
