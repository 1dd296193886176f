package terminals

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/processes"
)

// How long a session gets after HUP and after KILL.
const (
	hangupWait = 300 * time.Millisecond
	killWait   = 3 * time.Second
)

// errSurvived is in the error of Close when a process outlived KILL.
var errSurvived = errors.New("still running after KILL")

// sessionMembers are the running processes of the leader's kernel session.
// Who left it by setsid is not among them and lives on. While a member runs
// the kernel gives the session's number to nobody else; when a process with
// that number is another one, the session is over.
func sessionMembers(leader processes.Identity) []processes.Identity {
	t, err := processes.Snapshot()
	if err != nil {
		return nil
	}
	if p, ok := t.Get(leader.Pid); ok && p.Identity != leader {
		return nil
	}
	var ids []processes.Identity
	for _, p := range t.Session(leader.Pid) {
		if p.Start >= leader.Start {
			ids = append(ids, p.Identity)
		}
	}
	return ids
}

// endSession ends every process of the session: HUP, as when a terminal goes
// away, then KILL. Each round looks again, because the ending fork.
func endSession(ctx context.Context, w *processes.ExitWatcher, leader processes.Identity) error {
	hup, cancel := context.WithTimeout(ctx, hangupWait)
	ids := sessionMembers(leader)
	for _, id := range ids {
		_ = id.Signal(syscall.SIGHUP)
		_ = id.Signal(syscall.SIGCONT) // a stopped one takes HUP only when it continues
	}
	awaitAll(hup, w, ids)
	cancel()
	// The last step is bounded by itself: a canceled caller leaves nothing behind.
	kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancel()
	for {
		ids = sessionMembers(leader)
		if len(ids) == 0 {
			return nil
		}
		if kill.Err() != nil {
			return fmt.Errorf("%w: %v", errSurvived, ids)
		}
		for _, id := range ids {
			_ = id.Signal(syscall.SIGKILL)
		}
		awaitAll(kill, w, ids)
	}
}

// awaitAll waits until all have ended or ctx has.
func awaitAll(ctx context.Context, w *processes.ExitWatcher, ids []processes.Identity) {
	ended := make(chan struct{}, len(ids))
	left := 0
	for _, id := range ids {
		stop, err := w.Watch(id, func() { ended <- struct{}{} })
		if errors.Is(err, processes.ErrGone) {
			continue
		}
		if err != nil { // no way to be told: give it a moment
			t := time.NewTimer(20 * time.Millisecond)
			select {
			case <-t.C:
			case <-ctx.Done():
			}
			t.Stop()
			continue
		}
		defer stop()
		left++
	}
	for ; left > 0; left-- {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}
