package catalog

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// State of an Entry. Closed set.
type State string

const (
	Ready       State = "ready"
	Unavailable State = "unavailable" // the agent cannot run: Availability says why
	Unsupported State = "unsupported" // it tells nothing before a chat is open
	Failed      State = "failed"      // Err says why
)

// Entry is what is known of one scope. Catalog is set when State is Ready; its
// Hash covers the content without FetchedAt. Availability is nil when the agent
// could not even tell that. Nothing in it is changed later.
type Entry struct {
	State        State
	Availability *agent.Availability
	Catalog      agent.Catalog
	Err          error
	At           time.Time
}

// Options of a Service.
type Options struct {
	// Bound is how long the availability and every request of one probe may take
	// together; default 30 s. After it the agent has Grace (default 10 s) to end
	// what it began.
	Bound, Grace time.Duration
	// Available is told what a probe learned, before the probe is answered.
	Available func(harness string, a agent.Availability)
	Now       func() time.Time
}

// limitScopes bounds how many scopes are remembered; beyond it the one that was
// read longest ago is forgotten.
const limitScopes = 256

// scope is one harness in one folder; an empty folder is the global scope, which
// is no folder, also not the home.
type scope struct{ harness, folder string }

// load is one probe and, when done is closed, its entry.
type load struct {
	done   chan struct{}
	cancel context.CancelFunc
	gone   bool // forgotten while it ran
	read   uint64
	entry  Entry
}

func (l *load) settled() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Service answers what agents offer. All methods are safe for concurrent use.
type Service struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	loads  map[scope]*load
	reads  uint64
	closed bool
}

// New makes an empty Service; it starts nothing. Close it.
func New(o Options) *Service {
	if o.Bound == 0 {
		o.Bound = 30 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Service{o: o, loads: map[scope]*load{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends what runs and waits for it.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
}

// Get returns what h offers in folder ("" is the global scope). Only a scope of
// which nothing is known is asked for; all who wait for it share one probe. The
// error is ctx's, or that the Service is closed; an agent's is in the Entry.
func (s *Service) Get(ctx context.Context, h agent.Harness, folder string) (Entry, error) {
	key := scope{h.Identity.Harness, resolve(folder)}
	for {
		l := s.at(key, h)
		if l == nil {
			return Entry{}, context.Canceled
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return Entry{}, context.Cause(ctx)
		}
		s.mu.Lock()
		gone, closed := l.gone, s.closed
		s.mu.Unlock()
		if gone && !closed {
			continue // refreshed while it ran: what it learned is old
		}
		return l.entry, nil
	}
}

// Known returns what was learned of a scope and asks nobody.
func (s *Service) Known(harness, folder string) (Entry, bool) {
	s.mu.Lock()
	l := s.loads[scope{harness, resolve(folder)}]
	s.mu.Unlock()
	if l == nil || !l.settled() {
		return Entry{}, false
	}
	return l.entry, true
}

// Refresh forgets everything known of these harnesses, in every scope, also what
// is just being asked, and asks anew for the global scope only. Folders are asked
// at their next read.
func (s *Service) Refresh(ctx context.Context, list []agent.Harness) error {
	s.mu.Lock()
	for key, l := range s.loads {
		if slices.ContainsFunc(list, func(h agent.Harness) bool { return h.Identity.Harness == key.harness }) {
			s.forget(key, l)
		}
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	for i, h := range list {
		wg.Go(func() { _, errs[i] = s.Get(ctx, h, "") })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Forget drops what is known of a harness that is another one now, and asks
// nobody.
func (s *Service) Forget(harness string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range s.loads {
		if key.harness == harness {
			s.forget(key, l)
		}
	}
}

// forget drops a load and ends it; the caller holds the lock.
func (s *Service) forget(key scope, l *load) {
	delete(s.loads, key)
	l.gone = !l.settled()
	l.cancel()
}

// at finds or begins the load of a scope; nil when closed.
func (s *Service) at(key scope, h agent.Harness) *load {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.reads++
	l := s.loads[key]
	if l == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		l = &load{done: make(chan struct{}), cancel: cancel}
		s.loads[key] = l
		s.wg.Go(func() {
			defer cancel()
			l.entry = s.probe(ctx, h, key.folder)
			close(l.done)
		})
		s.crowded()
	}
	l.read = s.reads
	return l
}

// crowded forgets the scope that was read longest ago; the caller holds the
// lock.
func (s *Service) crowded() {
	if len(s.loads) <= limitScopes {
		return
	}
	var oldest scope
	for key, l := range s.loads {
		if at := s.loads[oldest]; l.settled() && (at == nil || l.read < at.read) {
			oldest = key
		}
	}
	if l := s.loads[oldest]; l != nil {
		s.forget(oldest, l)
	}
}

// resolve makes all names of a folder one. A folder that is gone keeps its name.
func resolve(folder string) string {
	if folder == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		return real
	}
	return filepath.Clean(folder)
}
