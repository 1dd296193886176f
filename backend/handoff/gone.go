package handoff

import (
	"context"
	"fmt"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// treeOf is a process with all that descends from it, now.
func treeOf(pid int) []processes.Identity {
	if pid <= 0 {
		return nil
	}
	t, err := processes.Snapshot()
	if err != nil {
		id, err := processes.Identify(pid)
		if err != nil {
			return nil
		}
		return []processes.Identity{id}
	}
	var list []processes.Identity
	if p, ok := t.Get(pid); ok {
		list = append(list, p.Identity)
	}
	for _, p := range t.Descendants(pid) {
		list = append(list, p.Identity)
	}
	return list
}

// endAll proves that none of these processes lives: what the close left is ended
// by TERM, then KILL.
func (m *Manager) endAll(ctx context.Context, tree []processes.Identity) error {
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		var left []processes.Identity
		for _, id := range tree {
			if id.Alive() {
				left = append(left, id)
			}
		}
		if len(left) == 0 {
			return nil
		}
		tree = left
		if sig == 0 {
			continue
		}
		for _, id := range left {
			_ = id.Signal(sig)
		}
		m.awaitGone(ctx, left)
	}
	for _, id := range tree {
		if id.Alive() {
			return &chats.Error{Code: chats.CodeBusy, Message: fmt.Sprintf("Process %d of the agent did not end, so the session is not handed over.", id.Pid), Fix: fmt.Sprintf("kill -9 %d", id.Pid)}
		}
	}
	return nil
}

func (m *Manager) awaitGone(ctx context.Context, ids []processes.Identity) {
	ctx, cancel := context.WithTimeout(ctx, m.o.GoneWithin)
	defer cancel()
	for _, id := range ids {
		gone := make(chan struct{})
		stop, err := m.o.Exits.Watch(id, func() { close(gone) })
		if err != nil {
			continue
		}
		select {
		case <-gone:
		case <-ctx.Done():
		}
		stop()
	}
}
