package host

import (
	"sync"

	"github.com/whippletree-app/whippletree/backend/model"
)

// tabChanges tells which changes of a tab say something about the session in
// it. An agent may have been seen before its tab was known, and a program reports
// its status by its terminal; titles change many times a second.
type tabChanges struct {
	mu   sync.Mutex
	seen map[string]tabState
}

type tabState struct {
	running bool
	program model.ProgramStatus // without its time
}

func (c *tabChanges) changed(t model.Terminal, removed bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if removed {
		delete(c.seen, t.ID)
		return true
	}
	now := tabState{running: t.Running}
	if t.Program != nil {
		now.program = *t.Program
		now.program.At = 0
	}
	before, known := c.seen[t.ID]
	if known && before == now {
		return false
	}
	if c.seen == nil {
		c.seen = map[string]tabState{}
	}
	c.seen[t.ID] = now
	return true
}
