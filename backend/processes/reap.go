package processes

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"
)

// membersOf are the running processes that are provably the helper's: the
// leader by its identity; others by the marker in their environment while
// they are in its process group or still in the session it was started in.
// Who left the session on purpose (a tmux server, an agent's daemon) is not.
func membersOf(t *Table, h Helper) []Proc {
	var out []Proc
	for _, p := range t.procs {
		if p.Zombie || p.Boot != h.Boot {
			continue
		}
		if p.Identity == h.Identity {
			out = append(out, p)
			continue
		}
		near := p.Pgrp == h.Pid || p.Sid == h.Pid || h.Sid != 0 && p.Sid == h.Sid
		if near && p.Start >= h.Start && hasMarker(p.Pid, h.ID) {
			out = append(out, p)
		}
	}
	return out
}

func identities(procs []Proc) []Identity {
	var out []Identity
	for _, p := range procs {
		out = append(out, p.Identity)
	}
	return out
}

func hasMarker(pid int, id string) bool {
	if id == "" {
		return false
	}
	env, err := Environ(pid)
	return err == nil && slices.Contains(env, MarkerEnv+"="+id)
}

// signalIdentity sends a signal to exactly this process. Between the check
// and the signal the pid could only be reused if the process ended, was
// reaped and the whole pid space went round.
func signalIdentity(id Identity, sig syscall.Signal) {
	if id.Alive() {
		_ = syscall.Kill(id.Pid, sig)
	}
}

// Signal sends a signal to exactly this process, never to one that got its
// pid later; ErrGone when it has ended.
func (id Identity) Signal(sig syscall.Signal) error {
	if !id.Alive() {
		return ErrGone
	}
	err := syscall.Kill(id.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	return err
}

// awaitOne waits until the first of ids has ended or ctx has. Without a way
// to be told it looks again after a short while.
func awaitOne(ctx context.Context, ids []Identity) {
	if len(ids) == 0 {
		return
	}
	w := NewExitWatcher()
	defer w.Close()
	ended := make(chan struct{}, 1)
	if _, err := w.Watch(ids[0], func() { ended <- struct{}{} }); err != nil {
		if errors.Is(err, ErrGone) {
			return
		}
		t := time.NewTimer(20 * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// awaitGone waits until find finds nothing or ctx has ended.
func awaitGone(ctx context.Context, find func() []Identity) {
	for ctx.Err() == nil {
		left := find()
		if len(left) == 0 {
			return
		}
		awaitOne(ctx, left)
	}
}

// Reaped is what became of one helper of an earlier host.
type Reaped struct {
	Helper Helper
	// Ended are the processes that were ended, none when it was gone already.
	Ended []Identity
	// Left outlived KILL or the context.
	Left []Identity
}

// Reap ends what an earlier host left behind: only processes that are
// provably these helpers' (pid, start time and boot id, or their marker),
// first by TERM, after two seconds by KILL. A helper of another boot is gone.
func Reap(ctx context.Context, helpers []Helper) []Reaped {
	out := make([]Reaped, len(helpers))
	t, err := Snapshot()
	for i, h := range helpers {
		out[i].Helper = h
		if err != nil || h.Boot != bootID() {
			continue
		}
		out[i].Ended = identities(membersOf(t, h))
	}
	all := func() []Identity {
		var ids []Identity
		t, err := Snapshot()
		if err != nil {
			return nil
		}
		for i, h := range helpers {
			if len(out[i].Ended) > 0 {
				ids = append(ids, identities(membersOf(t, h))...)
			}
		}
		return ids
	}
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, 2 * time.Second}, {syscall.SIGKILL, 3 * time.Second}} {
		ids := all()
		if len(ids) == 0 {
			break
		}
		for _, id := range ids {
			signalIdentity(id, step.sig)
		}
		wctx, cancel := context.WithTimeout(ctx, step.wait)
		awaitGone(wctx, all)
		cancel()
	}
	if t, err = Snapshot(); err != nil {
		return out
	}
	for i, h := range helpers {
		if len(out[i].Ended) > 0 {
			out[i].Left = identities(membersOf(t, h))
		}
	}
	return out
}
