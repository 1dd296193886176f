package host

import (
	"context"
	"sync"

	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
)

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

// ledger keeps the helpers of this host for the next one.
type ledger struct{ store *store.Store }

func (l ledger) Started(p processes.Helper) error {
	return l.store.HelperStarted(context.Background(), store.Helper{
		Pid: p.Pid, Start: p.Start, Boot: p.Boot, ID: p.ID, Sid: p.Sid, Purpose: p.Purpose, Owner: p.Owner, Argv0: p.Argv0,
	})
}

func (l ledger) Ended(id processes.Identity) {
	_ = l.store.HelperEnded(context.Background(), id.Pid, id.Start, id.Boot) // a closed store: the next host finds it gone
}

func helperOf(s store.Helper) processes.Helper {
	return processes.Helper{
		Identity: processes.Identity{Pid: s.Pid, Start: s.Start, Boot: s.Boot},
		ID:       s.ID, Sid: s.Sid, Purpose: s.Purpose, Owner: s.Owner, Argv0: s.Argv0,
	}
}
