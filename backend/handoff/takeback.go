package handoff

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
)

// TakeBack takes a session back from a terminal: at once when it is free, by
// asking the terminal's agent to exit with force. A hand-over that only waits for
// a turn is withdrawn.
func (m *Manager) TakeBack(ctx context.Context, chatID string, force bool) (model.Hand, error) {
	rel, busy, err := m.o.Chats.Inspect(ctx, chatID)
	if err != nil {
		return model.Hand{}, err
	}
	if rel.Hand.Pending != nil {
		return m.Withdraw(ctx, chatID)
	}
	if rel.Hand.State == model.HandApp || rel.Hand.State == "" {
		return rel.Hand, nil
	}
	if busy {
		return rel.Hand, chats.Fail(chats.CodeBusy, "The running turn is finished first.")
	}
	w := m.ward(chatID)
	w.mu.Lock()
	s := w.sentry
	w.mu.Unlock()
	if s == nil {
		if rel.Hand.State == model.HandReleasing {
			return rel.Hand, chats.Fail(chats.CodeBusy, "The session is on its way to the terminal.")
		}
		if s, rel, err = m.summon(ctx, w); err != nil || s == nil {
			return rel.Hand, err
		}
	}
	c := takeBack{force: force, out: make(chan error, 1)}
	select {
	case s.cmds <- c:
		select {
		case err = <-c.out:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	case <-s.done: // taken back meanwhile
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if rel, _, ierr := m.o.Chats.Inspect(ctx, chatID); ierr == nil {
		return rel.Hand, err
	}
	return model.Hand{}, err
}

// summon returns the sentry of a session that is not the app's, posting one when
// there is none. It waits for a passing under way: our own agent may be just
// ending. No sentry and no error: the session is the app's again.
func (m *Manager) summon(ctx context.Context, w *ward) (*sentry, chats.Released, error) {
	done, err := w.pass(ctx)
	if err != nil {
		return nil, chats.Released{}, err
	}
	defer done()
	rel, _, err := m.o.Chats.Inspect(ctx, w.chatID)
	if err != nil || rel.Hand.State == model.HandApp || rel.Hand.State == "" {
		return nil, rel, err
	}
	if err := m.post(w.chatID, rel.Handle, watchFor{hand: rel.Hand}); err != nil {
		return nil, rel, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sentry, rel, nil
}
