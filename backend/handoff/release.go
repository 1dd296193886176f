package handoff

import (
	"context"
	"errors"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// ToTerminal hands a chat's session to a terminal. The agent is ended and proved
// gone, and its transcript still, before the command is run or shown.
func (m *Manager) ToTerminal(ctx context.Context, r Request) (Result, error) {
	if r.When == "" {
		r.When = chats.WhenNow
	}
	if r.When != chats.WhenNow && r.When != chats.WhenAfterTurn && r.When != chats.WhenStop {
		return Result{}, chats.Fail(chats.CodeInvalid, "A chat is handed over now, afterTurn or stop, not %q.", r.When)
	}
	rel, _, err := m.o.Chats.Inspect(ctx, r.ChatID)
	if err != nil {
		return Result{}, err
	}
	if rel.Hand.Pending != nil {
		return Result{}, chats.Fail(chats.CodeBusy, "This chat goes to a terminal after its turn already. Withdraw that first.")
	}
	h, err := m.possible(rel)
	if err != nil {
		return Result{}, err
	}
	if err := m.known(&r); err != nil {
		return Result{}, err
	}
	// What has begun is finished even when the window that asked is closed.
	type answer struct {
		res Result
		err error
	}
	out, waits := make(chan answer, 1), make(chan struct{})
	if !m.spawn(func() {
		res, err := m.release(m.ctx, h, r, func(w bool) {
			if w {
				close(waits)
			}
		})
		out <- answer{res, err}
	}) {
		return Result{}, chats.Fail(chats.CodeUnavailable, "The host is being stopped.")
	}
	if r.When != chats.WhenAfterTurn {
		waits = nil
	}
	select {
	case a := <-out:
		return a.res, a.err
	case <-waits: // nobody waits for a turn that may take an hour
		rel, _, err := m.o.Chats.Inspect(ctx, r.ChatID)
		return Result{Hand: rel.Hand}, err
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
}

// Withdraw takes back a hand-over that still waits for the running turn.
func (m *Manager) Withdraw(ctx context.Context, chatID string) (model.Hand, error) {
	if err := m.o.Chats.Withdraw(ctx, chatID); err != nil {
		return model.Hand{}, err
	}
	rel, _, err := m.o.Chats.Inspect(ctx, chatID)
	return rel.Hand, err
}

// known checks the place before anything is given up for it.
func (m *Manager) known(r *Request) error {
	if r.PrintOnly {
		return nil
	}
	list := m.places()
	for _, c := range list {
		if c.ID == r.Place || (r.Place == "" && c.Default) {
			r.Place = c.ID
			return nil
		}
	}
	if r.Place == "" && len(list) > 0 {
		r.Place = list[0].ID
		return nil
	}
	return chats.Fail(chats.CodeInvalid, "There is no terminal %q here. Print the command and run it yourself.", r.Place)
}

var errCrash = errors.New("crashed")

// release does all of a hand-over. begun is told once whether it waits for a turn
// first.
func (m *Manager) release(ctx context.Context, h agent.Harness, r Request, begun func(waits bool)) (res Result, err error) {
	w := m.ward(r.ChatID)
	done, err := w.pass(ctx)
	if err != nil {
		return res, err
	}
	defer done()
	var tree []processes.Identity
	l := chats.Letting{When: r.When, Hand: model.Hand{State: model.HandReleasing, Since: now()}, Begun: begun, About: func(pid int) {
		tree = treeOf(pid)
		_ = m.o.crash(r.ChatID, "release:letting")
	}}
	if r.When == chats.WhenAfterTurn {
		l.Waiting = m.pending(r)
	}
	rel, err := m.o.Chats.Release(ctx, r.ChatID, l)
	if errors.Is(err, chats.ErrWithdrawn) {
		return res, err // the chat is the app's again
	}
	if err != nil {
		if rel.ChatID != "" { // it was begun
			m.back(ctx, rel, err)
		}
		return res, err
	}
	if m.o.crash(r.ChatID, "release:closed") != nil {
		return res, errCrash
	}
	if err := m.endAll(ctx, tree); err != nil {
		m.back(ctx, rel, err)
		return res, err
	}
	if m.o.crash(r.ChatID, "release:gone") != nil {
		return res, errCrash
	}
	// What the agent wrote last is read now, and nothing may come after it.
	if err := m.read(ctx, h, r.ChatID, rel.Handle, rel.Applied, ""); err != nil {
		err = chats.Fail(chats.CodeBusy, "The agent's transcript did not come to rest: %v", err)
		m.back(ctx, rel, err)
		return res, err
	}
	o, err := h.Handover.Owner(ctx, rel.Handle, nil)
	if err == nil && foreign(o, nil) {
		err = chats.Fail(chats.CodeNotOwner, "Somebody else has the session open: %s.", o.Evidence)
	}
	if err != nil {
		m.back(ctx, rel, err)
		return res, err
	}
	cmd, _, err := m.command(ctx, h, rel)
	if err != nil {
		m.back(ctx, rel, err)
		return res, err
	}
	if m.o.crash(r.ChatID, "release:still") != nil {
		return res, errCrash
	}
	m.giveUp(ctx, w)
	return m.launch(ctx, rel, r, cmd)
}

// pending is the hand of a chat whose hand-over waits for its turn.
func (m *Manager) pending(r Request) model.Hand {
	p := model.PendingHand{Place: r.Place, PrintOnly: r.PrintOnly, Since: now()}
	if r.PrintOnly {
		p.Place = ""
	} else {
		p.Label = m.destination(r.Place).Label
	}
	return model.Hand{State: model.HandApp, Since: p.Since, Pending: &p}
}

// back gives a session that could not be handed over back to its chat, and says
// what happened.
func (m *Manager) back(ctx context.Context, rel chats.Released, why error) {
	if m.ctx.Err() != nil {
		return
	}
	hand := model.Hand{State: model.HandApp, Since: now(), Note: "Not continued in a terminal: " + why.Error()}
	if err := m.o.Chats.SetHand(ctx, rel.ChatID, hand); err != nil {
		m.o.Log.Warn("a session could not be given back to its chat", "chat", rel.ChatID, "err", err)
	}
}
