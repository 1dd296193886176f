package agenttest

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Publications is an [agent.Publisher] that applies the host's rules and keeps
// what the host would show.
type Publications struct {
	enabled map[string]bool

	mu         sync.Mutex
	changed    chan struct{}
	sessions   map[string]agent.Snapshot // by id
	history    []agent.Snapshot
	resets     int
	diags      []string
	violations []string
}

// NewPublications accepts the given harnesses.
func NewPublications(harnesses ...string) *Publications {
	p := &Publications{enabled: map[string]bool{}, changed: make(chan struct{}), sessions: map[string]agent.Snapshot{}}
	for _, h := range harnesses {
		p.enabled[h] = true
	}
	return p
}

func (p *Publications) violate(format string, args ...any) {
	p.violations = append(p.violations, fmt.Sprintf(format, args...))
}

func (p *Publications) update(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Publications) accept(s agent.Snapshot) *agent.Rejected {
	if is := agent.ValidateSnapshot(s, func(h string) bool { return p.enabled[h] }); len(is) > 0 {
		for _, i := range is {
			p.violate("%s: session %s: %s %s", i.Code, s.ID, i.Path, i.Message)
		}
		return &agent.Rejected{ID: s.ID, Issues: is}
	}
	if s.Status == "" { // cannot tell: the previous one is kept
		s.Status = p.sessions[s.ID].Status
	}
	p.sessions[s.ID] = s
	p.history = append(p.history, s)
	return nil
}

// Reset implements [agent.Publisher].
func (p *Publications) Reset(list []agent.Snapshot) (rejected []agent.Rejected) {
	p.update(func() {
		p.resets++
		if len(list) > agent.LimitResetSessions {
			p.violate("a reset of %d sessions", len(list))
		}
		p.sessions = map[string]agent.Snapshot{}
		for _, s := range list {
			if _, twice := p.sessions[s.ID]; twice {
				p.violate("duplicate: session %s is twice in a reset", s.ID)
			}
			if r := p.accept(s); r != nil {
				rejected = append(rejected, *r)
			}
		}
	})
	return rejected
}

// Upsert implements [agent.Publisher].
func (p *Publications) Upsert(list ...agent.Snapshot) (rejected []agent.Rejected) {
	p.update(func() {
		if p.resets == 0 {
			p.violate("Upsert came before the first Reset")
		}
		for _, s := range list {
			if r := p.accept(s); r != nil {
				rejected = append(rejected, *r)
			}
		}
	})
	return rejected
}

// Remove implements [agent.Publisher].
func (p *Publications) Remove(harness string, ids ...string) {
	p.update(func() {
		if p.resets == 0 {
			p.violate("Remove came before the first Reset")
		}
		for _, id := range ids {
			if s, ok := p.sessions[id]; !ok || s.Harness != harness {
				p.violate("session %s of %s was removed and is not there", id, harness)
			}
			delete(p.sessions, id)
		}
	})
}

var diagnosticCode = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Diagnostic implements [agent.Publisher].
func (p *Publications) Diagnostic(code, message string) {
	p.update(func() {
		if !diagnosticCode.MatchString(code) || len(code) > agent.LimitDiagnosticCode {
			p.violate("the diagnostic code %q is not kebab-case", code)
		}
		if agent.UTF16Len(message) > agent.LimitDiagnosticText || strings.Contains(message, "/") {
			p.violate("the diagnostic %s is too long or holds a path", code)
		}
		p.diags = append(p.diags, code+": "+message)
	})
}

// Sessions are those the host would show now, by id.
func (p *Publications) Sessions() map[string]agent.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.sessions)
}

// History are all accepted snapshots in order.
func (p *Publications) History() []agent.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.history)
}

// Resets counts them; Diagnostics and Violations are in order.
func (p *Publications) Resets() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resets
}

// Diagnostics lists "code: message".
func (p *Publications) Diagnostics() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.diags)
}

// Violations lists the broken rules in words.
func (p *Publications) Violations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.violations)
}

// MustWait returns when cond holds; it looks after every publication.
func (p *Publications) MustWait(t *testing.T, deadline time.Duration, what string, cond func(map[string]agent.Snapshot) bool) {
	t.Helper()
	over := time.After(deadline)
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if cond(p.Sessions()) {
			return
		}
		select {
		case <-changed:
		case <-over:
			t.Fatalf("%s did not happen; the host shows %+v", what, p.Sessions())
		}
	}
}

// StartSource runs a source until stop is called or the test ends.
func StartSource(t *testing.T, s agent.SessionSource, start agent.SourceStart) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx, start) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil && ctx.Err() == nil {
					t.Errorf("the source ended with: %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("the source did not return after its context had ended")
			}
		})
	}
	t.Cleanup(stop)
	return stop
}
