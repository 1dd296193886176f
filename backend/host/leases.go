package host

import (
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
)

// leases decide how long the host lives. A lease is held by a connection that
// asked for one in its hello. Saying goodbye ends it at once; losing the
// connection leaves a grace, in which a restarted window comes back.
type leases struct {
	grace time.Duration
	// keep tells whether the host stays without leases, now.
	keep func() bool
	end  func()

	mu     sync.Mutex
	held   map[*api.Caller]struct{}
	graces map[*time.Timer]struct{}
	over   bool
}

func newLeases(grace time.Duration, keep func() bool, end func()) *leases {
	return &leases{grace: grace, keep: keep, end: end, held: map[*api.Caller]struct{}{}, graces: map[*time.Timer]struct{}{}}
}

// begin gives whoever started the host the time to come.
func (l *leases) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startGrace()
}

func (l *leases) take(c *api.Caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[c] = struct{}{}
	l.stopGraces() // somebody is here: nobody else has to come back
}

// goodbye ends a lease at once; true: the host has to end.
func (l *leases) goodbye(c *api.Caller) (ends bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, c)
	return l.decide()
}

// lost leaves the grace when the connection had a lease.
func (l *leases) lost(c *api.Caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, had := l.held[c]; had {
		delete(l.held, c)
		l.startGrace()
	}
}

func (l *leases) startGrace() {
	if l.over {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(l.grace, func() {
		l.mu.Lock()
		delete(l.graces, t)
		l.mu.Unlock()
		l.check()
	})
	l.graces[t] = struct{}{}
}

func (l *leases) stopGraces() {
	for t := range l.graces {
		t.Stop()
		delete(l.graces, t)
	}
}

// check ends the host when nobody holds it; called when a lease ends and when
// "keep running" is switched off.
func (l *leases) check() {
	l.mu.Lock()
	ends := l.decide()
	l.mu.Unlock()
	if ends {
		l.end()
	}
}

func (l *leases) decide() (ends bool) {
	ends = !l.over && len(l.held) == 0 && len(l.graces) == 0 && !l.keep()
	l.over = l.over || ends
	return ends
}

func (l *leases) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.stopGraces()
}
