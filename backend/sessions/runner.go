package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Back-off of a source that failed.
const (
	backoffFirst = 250 * time.Millisecond
	backoffLast  = 30 * time.Second
	// stopBound is how long a source may take to return after its context ended.
	stopBound = 5 * time.Second
)

// Source is a session source with the harnesses it declared.
type Source struct {
	ID        string
	Harnesses []string
	Source    agent.SessionSource
	Roots     []string
}

// SourceState is what a source does, for Settings: running, off, failed.
type SourceState func(harness, state, fault string)

// Runner runs sources for the harnesses that are switched on, and again after a
// failure with back-off.
type Runner struct {
	r     *Registry
	state SourceState
	ctx   context.Context
	end   context.CancelFunc
	wg    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	sources []*running
}

type running struct {
	Source
	cancel context.CancelFunc
	done   chan struct{}
	spoke  *word    // of the run in progress
	with   []string // harnesses it runs for
}

// word is closed at the first word of a source: a publication, or its failure.
type word struct {
	once sync.Once
	said chan struct{}
}

func (w *word) say() { w.once.Do(func() { close(w.said) }) }

// listening passes publications on and notes the first one.
type listening struct {
	agent.Publisher
	word *word
}

func (l listening) Reset(s []agent.Snapshot) []agent.Rejected {
	defer l.word.say()
	return l.Publisher.Reset(s)
}

func (l listening) Upsert(s ...agent.Snapshot) []agent.Rejected {
	defer l.word.say()
	return l.Publisher.Upsert(s...)
}

// Settled waits until every source that runs has looked once, or ctx ends: a host
// that was started for one command must not answer with an empty list before.
func (u *Runner) Settled(ctx context.Context) {
	u.mu.Lock()
	var words []*word
	for _, x := range u.sources {
		if len(x.with) > 0 && x.spoke != nil {
			words = append(words, x.spoke)
		}
	}
	u.mu.Unlock()
	for _, w := range words {
		select {
		case <-w.said:
		case <-ctx.Done():
			return
		case <-u.ctx.Done():
			return
		}
	}
}

// NewRunner makes a runner; state may be nil and must not block.
func NewRunner(r *Registry, state SourceState) *Runner {
	if state == nil {
		state = func(string, string, string) {}
	}
	run := &Runner{r: r, state: state}
	run.ctx, run.end = context.WithCancel(context.Background())
	return run
}

// Add registers a source and starts it when one of its harnesses is on.
func (u *Runner) Add(s Source) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	x := &running{Source: s}
	u.sources = append(u.sources, x)
	u.adjust(x)
}

// SetEnabled switches a harness: in the registry, and in every source of it. Off
// returns when the sources hold nothing for it any more (at most 5 s).
func (u *Runner) SetEnabled(harness string, on bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.r.SetEnabled(harness, on)
	for _, x := range u.sources {
		if slices.Contains(x.Harnesses, harness) && !u.closed {
			u.adjust(x)
		}
	}
}

// Close stops all sources and waits for them.
func (u *Runner) Close() {
	u.mu.Lock()
	u.closed = true
	u.end()
	u.mu.Unlock()
	u.wg.Wait()
}

// adjust restarts a source when the harnesses it should run for changed. Called
// with mu held.
func (u *Runner) adjust(x *running) {
	var want []string
	for _, h := range x.Harnesses {
		if u.r.isEnabled(h) {
			want = append(want, h)
		} else {
			u.state(h, "off", "")
		}
	}
	if slices.Equal(want, x.with) {
		return
	}
	if x.cancel != nil {
		x.cancel()
		select {
		case <-x.done:
		case <-time.After(stopBound):
			u.r.o.OnDiagnostic(x.ID, "slow-stop", "the source did not stop in time")
		}
		x.cancel = nil
	}
	x.with = want
	if len(want) == 0 {
		u.r.Retire(x.ID)
		return
	}
	ctx, cancel := context.WithCancel(u.ctx)
	x.cancel, x.done, x.spoke = cancel, make(chan struct{}), &word{said: make(chan struct{})}
	done, spoke := x.done, x.spoke
	u.wg.Go(func() {
		defer close(done)
		defer cancel()
		defer spoke.say()
		u.run(ctx, x.Source, want, spoke)
	})
}

// run starts a source again and again until ctx ends.
func (u *Runner) run(ctx context.Context, s Source, harnesses []string, spoke *word) {
	wait := backoffFirst
	for {
		for _, h := range harnesses {
			u.state(h, "running", "")
		}
		began := time.Now()
		err := start(ctx, s.Source, agent.SourceStart{Harnesses: slices.Clone(harnesses), Roots: s.Roots,
			Publisher: listening{u.r.Publisher(ctx, s.ID, harnesses), spoke}})
		spoke.say()
		if ctx.Err() != nil {
			return
		}
		u.r.Retire(s.ID)
		if err == nil {
			err = errors.New("the source stopped by itself")
		}
		for _, h := range harnesses {
			u.state(h, "failed", err.Error())
		}
		u.r.o.OnDiagnostic(s.ID, "source-failed", cut(clean(err.Error()), agent.LimitDiagnosticText))
		if time.Since(began) > backoffLast {
			wait = backoffFirst
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(2*wait, backoffLast)
	}
}

// start keeps a source that panics from taking the host with it.
func start(ctx context.Context, s agent.SessionSource, with agent.SourceStart) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the source broke: %v", p)
		}
	}()
	return s.Start(ctx, with)
}
