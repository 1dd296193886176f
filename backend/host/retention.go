package host

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// windowState is where a window keeps its tabs.
const windowState = "window"

// retention removes archived chats when the person set a number of days for it.
// It looks at the start, when the setting or the archive changes, and once when
// the next chat is due; a chat that somebody looks at or that still has something
// to do is left for the next look.
type retention struct {
	host *Host
	wake chan struct{}
	mu   sync.Mutex // one look at a time
}

func newRetention(h *Host) *retention {
	return &retention{host: h, wake: make(chan struct{}, 1)}
}

// tell asks for a look.
func (r *retention) tell() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run looks whenever it is asked to, until the host ends.
func (r *retention) run(ctx context.Context) {
	due := time.NewTimer(time.Hour)
	due.Stop()
	defer due.Stop()
	for {
		next, err := r.look(ctx)
		if err != nil && ctx.Err() == nil {
			r.host.log.Warn("removing archived chats", "err", err)
		}
		if next > 0 {
			due.Reset(next)
		} else {
			due.Stop()
		}
		select {
		case <-r.wake:
		case <-due.C:
		case <-ctx.Done():
			return
		}
	}
}

// look removes what is due and returns in how long the next chat is; 0: none.
func (r *retention) look(ctx context.Context) (next time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	days := r.host.settings.Values().Chats.KeepArchivedDays
	if days <= 0 {
		return 0, nil
	}
	list, err := r.host.store.ArchivedChats(ctx)
	if err != nil {
		return 0, err
	}
	open, err := r.host.store.UIState(ctx, windowState)
	if err != nil {
		return 0, err
	}
	keep := time.Duration(days) * 24 * time.Hour
	for _, a := range list {
		left := time.UnixMilli(a.At).Add(keep).Sub(r.host.o.Now())
		if left > 0 {
			return left + time.Second, nil
		}
		sum, ok := r.host.chats.Summary(a.ID)
		if !ok || !r.removable(sum) || strings.Contains(string(open), a.ID) {
			continue
		}
		if err := r.remove(ctx, sum); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// removable: nothing runs or waits in it, it is not in a terminal, and no window
// shows it now. (A tab of a window may be kept without being shown.)
func (r *retention) removable(c model.ChatSummary) bool {
	return c.Archived && c.Turn == model.TurnIdle && c.Hand.State == model.HandApp && c.Waiting == 0 && c.Queued == 0 &&
		!r.host.hub.Watched(api.TopicChat+c.ID)
}

func (r *retention) remove(ctx context.Context, c model.ChatSummary) error {
	rows, _, err := r.host.store.CountRows(ctx, c.ID)
	if err != nil {
		return err
	}
	if err := r.host.chats.Remove(ctx, c.ID); err != nil {
		return err
	}
	note := model.RemovedChat{
		ChatID: c.ID, Title: c.Title, Agent: c.Harness, Cwd: c.Cwd, Rows: rows, At: r.host.o.Now().UnixMilli(), Why: "retention",
	}
	if c.Handle != nil {
		note.NativeID = c.Handle.NativeID
	}
	r.host.log.Info("an archived chat was removed", "chat", c.ID)
	return r.host.store.NoteRemoved(ctx, note)
}
