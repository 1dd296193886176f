package handoff

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// MayWrite implements [chats.Guard]: the lease first, then the look at who owns
// the session. A terminal's makes the chat a mirror, an unclear one is shown
// with its reason; both write nothing.
func (m *Manager) MayWrite(ctx context.Context, c chats.Claim) error {
	if c.Handle == nil || c.Handle.NativeID == "" {
		return nil // the agent has not named a session yet: it is new and ours
	}
	w := m.ward(c.ChatID)
	if err := m.takeLease(ctx, w, *c.Handle); err != nil {
		return err
	}
	h, err := m.handover(c.Harness)
	if err != nil {
		return nil // an agent that cannot be handed over has no other face
	}
	var own []int
	if c.Pid > 0 {
		own = []int{c.Pid}
	}
	o, err := h.Handover.Owner(ctx, *c.Handle, own)
	if err != nil {
		if c.Pid == 0 {
			m.giveUp(ctx, w)
		}
		return chats.Fail(chats.CodeNotOwner, "It is unclear who owns the session (%v), so nothing was written.", err)
	}
	if !foreign(o, own) {
		m.watchOver(w, h, *c.Handle)
		return nil
	}
	m.yield(c.ChatID, h, o, c.Pid > 0)
	if o.Owner == agent.OwnerUnclear {
		return chats.Fail(chats.CodeNotOwner, "It is unclear who owns the session, so nothing was written: %s.", o.Evidence)
	}
	return chats.Fail(chats.CodeNotOwner, "Process %d has this session open, so nothing was written: %s.", o.Pid, o.Evidence)
}

// LetGo implements [chats.Guard]. It does not call the chats.
func (m *Manager) LetGo(c chats.Claim) {
	w := m.ward(c.ChatID)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.vigil != nil {
		w.vigil()
		w.vigil = nil
	}
	w.dropLease(context.WithoutCancel(m.ctx), m)
	if c.Removed && w.sentry != nil {
		w.sentry.end()
	}
}

// foreign says that somebody may write who is none of our own processes.
func foreign(o agent.Ownership, own []int) bool {
	switch o.Owner {
	case agent.OwnerNobody, agent.OwnerApp, agent.OwnerShared, agent.OwnerJoined:
		return false
	case agent.OwnerTerminal:
		return !descends(o.Pid, own)
	}
	return true
}

// descends says that pid is one of ours or runs below it (a wrapper's child).
func descends(pid int, own []int) bool {
	if pid <= 0 || len(own) == 0 {
		return false
	}
	if slices.Contains(own, pid) {
		return true
	}
	return slices.ContainsFunc(processes.Ancestors(pid), func(p processes.Proc) bool { return slices.Contains(own, p.Pid) })
}

// yield makes a chat a mirror because a foreign process owns its session. With
// a living agent of ours a running turn is finished first, then the agent is let
// go of: it would write from a stale tip.
func (m *Manager) yield(chatID string, h agent.Harness, o agent.Ownership, living bool) {
	hand := m.handOf(o)
	if living && o.Owner != agent.OwnerUnclear {
		hand.Note = fmt.Sprintf("Process %d opened this session while the app was using it. A running turn is finished, then the app only watches.", o.Pid)
	}
	m.spawn(func() {
		// A hand-over that only waits for the turn is overtaken: the session is in a
		// terminal already.
		_ = m.o.Chats.Withdraw(m.ctx, chatID)
		w := m.ward(chatID)
		done, err := w.pass(m.ctx)
		if err != nil {
			return
		}
		defer done()
		rel, err := m.o.Chats.Release(m.ctx, chatID, chats.Letting{When: chats.WhenAfterTurn, Hand: hand})
		if err != nil {
			m.o.Log.Warn("a chat could not be made a mirror", "chat", chatID, "err", err)
			return
		}
		m.giveUp(m.ctx, w)
		if err := m.post(chatID, rel.Handle, watchFor{hand: hand}); err != nil {
			m.o.Log.Warn("a session cannot be watched", "chat", chatID, "err", err)
		}
	})
}

func (m *Manager) handOf(o agent.Ownership) model.Hand {
	hand := model.Hand{State: model.HandMirror, Ownership: &o, Since: now()}
	if o.Owner == agent.OwnerUnclear {
		hand.State = model.HandUnclear
		hand.Note = "It is unclear who owns this session: " + o.Evidence
	}
	if o.Pid > 0 {
		place := m.o.PlaceOf(o.Pid)
		hand.Place = &place
	}
	return hand
}

// watchOver starts the vigil of a session that the app holds: a foreign writer
// is seen when it appears, not at the next prompt.
func (m *Manager) watchOver(w *ward, h agent.Harness, handle agent.Handle) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.vigil != nil || m.o.Watch == nil {
		return
	}
	ctx, cancel := context.WithCancel(m.ctx)
	started := m.spawn(func() { m.vigil(ctx, w, h, handle) })
	if !started {
		cancel()
		return
	}
	w.vigil = cancel
}

func (m *Manager) vigil(ctx context.Context, w *ward, h agent.Harness, handle agent.Handle) {
	wakes, stop := m.watchDirs(ctx, h.Handover.ChangeDirs(handle))
	defer stop()
	again := time.NewTimer(time.Hour)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wakes:
		case <-again.C:
		}
		// An agent writes its registry in bursts: one look for each.
		pause := time.NewTimer(100 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
		rel, _, err := m.o.Chats.Inspect(ctx, w.chatID)
		if err != nil || (rel.Hand.State != model.HandApp && rel.Hand.State != "") {
			return
		}
		if rel.Starting { // it may be our own agent that has just registered itself
			again.Reset(time.Second)
			continue
		}
		o, err := h.Handover.Owner(ctx, rel.Handle, rel.Own)
		if err != nil || !foreign(o, rel.Own) {
			continue
		}
		// Between the two looks our agent may have been started or ended: then
		// what was seen may be our own.
		if now, _, err := m.o.Chats.Inspect(ctx, w.chatID); err != nil || now.Starting || !slices.Equal(now.Own, rel.Own) {
			again.Reset(time.Second)
			continue
		}
		m.yield(w.chatID, h, o, rel.Pid > 0)
		return
	}
}

// watchDirs merges the wake-ups of several directories.
func (m *Manager) watchDirs(ctx context.Context, dirs []string) (wakes chan struct{}, stop func()) {
	wakes = make(chan struct{}, 1)
	if m.o.Watch == nil {
		return wakes, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var list []Watch
	for _, d := range dirs {
		list = append(list, m.o.Watch(d))
	}
	n := len(list)
	left := make(chan struct{}, n)
	for _, x := range list {
		go func() {
			defer func() { left <- struct{}{} }()
			for {
				select {
				case <-ctx.Done():
					return
				case <-x.Wake():
					x.Take()
					wake(wakes)
				}
			}
		}()
	}
	go func() {
		for range n {
			<-left
		}
		close(done)
	}()
	return wakes, func() {
		cancel()
		<-done
		for _, x := range list {
			x.Close()
		}
	}
}

// Adopt implements [chats.Adopter]: a session found running elsewhere starts as
// a mirror, a stored one is read in and then free to be used.
func (m *Manager) Adopt(ctx context.Context, chatID string) error {
	rel, _, err := m.o.Chats.Inspect(ctx, chatID)
	if err != nil {
		return err
	}
	h, err := m.handover(rel.Harness)
	if err != nil {
		return err
	}
	o, err := h.Handover.Owner(ctx, rel.Handle, nil)
	if err != nil {
		o = agent.Ownership{Owner: agent.OwnerUnclear, Evidence: err.Error()}
	}
	hand := model.Hand{State: model.HandReattaching, Since: now(), Note: "The conversation is being read."}
	if foreign(o, nil) {
		hand = m.handOf(o)
	}
	if err := m.o.Chats.SetHand(ctx, chatID, hand); err != nil {
		return err
	}
	done := make(chan struct{})
	if err := m.post(chatID, rel.Handle, watchFor{hand: hand, settled: done}); err != nil {
		return err
	}
	// Most conversations are read at once; a long one goes on beside the caller.
	soon := time.NewTimer(1500 * time.Millisecond)
	defer soon.Stop()
	select {
	case <-done:
	case <-soon.C:
	case <-ctx.Done():
	}
	return nil
}
