package host

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
)

// withHome adds where this host's data is, when that is not the system's place
// for it: `whippletree` in a tab or below an agent must find this host, not start
// one elsewhere.
func (h *Host) withHome(env []string) []string {
	moved := func(kv string) bool { return strings.HasPrefix(kv, HomeVariable+"=") }
	if !slices.ContainsFunc(h.o.Env, moved) {
		return env
	}
	return append(slices.DeleteFunc(slices.Clone(env), moved), HomeVariable+"="+h.o.Home)
}

// environment is what agents are started with. Who asks before the login shell
// was read waits for it; the import is bounded.
type environment struct {
	base  []string
	once  sync.Once
	ready chan struct{}
	env   []string
}

func newEnvironment(base []string) *environment {
	return &environment{base: base, ready: make(chan struct{})}
}

func (e *environment) set(env []string) {
	e.once.Do(func() {
		e.env = env
		close(e.ready)
	})
}

func (e *environment) get() []string {
	<-e.ready
	return e.env
}

// ledger keeps the helpers of this host for the next one, and knows which
// processes are ours now.
type ledger struct {
	store *store.Store
	mu    sync.Mutex
	ours  map[processes.Identity]struct{}
}

func newLedger(s *store.Store) *ledger {
	return &ledger{store: s, ours: map[processes.Identity]struct{}{}}
}

// Started implements [processes.Ledger]. What runs in a terminal tab is the
// person's, not a helper.
func (l *ledger) Started(p processes.Helper) error {
	if p.Purpose != "terminal" {
		l.mu.Lock()
		l.ours[p.Identity] = struct{}{}
		l.mu.Unlock()
	}
	return l.store.HelperStarted(context.Background(), store.Helper{
		Pid: p.Pid, Start: p.Start, Boot: p.Boot, ID: p.ID, Sid: p.Sid, Purpose: p.Purpose, Owner: p.Owner, Argv0: p.Argv0,
	})
}

// Ended implements [processes.Ledger].
func (l *ledger) Ended(id processes.Identity) {
	l.mu.Lock()
	delete(l.ours, id)
	l.mu.Unlock()
	_ = l.store.HelperEnded(context.Background(), id.Pid, id.Start, id.Boot) // a closed store: the next host finds it gone
}

func (l *ledger) has(id processes.Identity) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.ours[id]
	return ok
}

func helperOf(s store.Helper) processes.Helper {
	return processes.Helper{
		Identity: processes.Identity{Pid: s.Pid, Start: s.Start, Boot: s.Boot},
		ID:       s.ID, Sid: s.Sid, Purpose: s.Purpose, Owner: s.Owner, Argv0: s.Argv0,
	}
}
