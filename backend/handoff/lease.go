package handoff

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
)

// lease is this host's right to write to one session: a locked file against
// hosts with other homes and a row taken by compare-and-swap for what a restart
// of this one must know.
type lease struct {
	key  model.SessionKey
	lock *store.SessionLock
}

// takeLease makes sure that the chat's session is leased to this host.
func (m *Manager) takeLease(ctx context.Context, w *ward, h agent.Handle) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := model.SessionKey{Harness: h.Harness, ID: h.NativeID}
	if w.lease != nil && w.lease.key == key {
		return nil
	}
	w.dropLease(ctx, m)
	lock, err := store.LockSession(m.o.LockDir, key.Harness, key.ID, m.o.Holder)
	if err != nil {
		var held *store.LockedError
		if errors.As(err, &held) {
			return chats.Fail(chats.CodeNotOwner, "Another Whippletree (process %d) holds this session. Close the chat there first.", held.Pid)
		}
		return err
	}
	me, err := processes.Identify(os.Getpid())
	if err == nil {
		var now store.Lease
		var taken bool
		now, taken, err = m.o.Store.TakeLease(ctx, store.Lease{Harness: key.Harness, NativeID: key.ID, Holder: m.o.Holder,
			Pid: me.Pid, Start: me.Start, Boot: me.Boot, At: time.Now().UnixMilli()}, func(l store.Lease) bool {
			// The lock is ours, so a living holder is this very process under
			// another name (two hosts in one process) or gives it up now.
			return processes.Identity{Pid: l.Pid, Start: l.Start, Boot: l.Boot}.Alive()
		})
		if err == nil && !taken {
			err = chats.Fail(chats.CodeNotOwner, "Another host of Whippletree (process %d) holds this session.", now.Pid)
		}
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	w.lease = &lease{key: key, lock: lock}
	return nil
}

// dropLease gives the session up; w.mu is held.
func (w *ward) dropLease(ctx context.Context, m *Manager) {
	if w.lease == nil {
		return
	}
	if err := m.o.Store.ReleaseLease(ctx, w.lease.key.Harness, w.lease.key.ID, m.o.Holder); err != nil {
		m.o.Log.Warn("a lease could not be given up", "err", err)
	}
	if err := w.lease.lock.Close(); err != nil {
		m.o.Log.Warn("a session lock could not be given up", "err", err)
	}
	w.lease = nil
}

func (m *Manager) giveUp(ctx context.Context, w *ward) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropLease(ctx, m)
}
