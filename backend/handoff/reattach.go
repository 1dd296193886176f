package handoff

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// reattach takes the session back: the tip by proof, the rows not seen, the
// lease, one more look, and then the chat goes on with its queue. false: it did
// not come to that, the sentry stays.
func (s *sentry) reattach(ctx context.Context) bool {
	done, err := s.w.pass(ctx)
	if err != nil {
		return false
	}
	defer done()
	m, id := s.m, s.w.chatID
	crashed := func(step string) bool { return m.o.crash(id, "reattach:"+step) != nil }
	s.stopMirror()
	note := ""
	if !s.seen && (s.launch.id.Pid != 0 || s.launch.err != nil || s.waiting) {
		note = "The command ended before it opened the session. The chat goes on here."
	}
	s.hand = model.Hand{State: model.HandReattaching, Since: now()}
	if err := m.o.Chats.SetHand(ctx, id, s.hand); err != nil || crashed("begin") {
		return err == nil
	}
	stay := func(evidence string) bool {
		if ctx.Err() == nil {
			s.show(ctx, agent.Ownership{Owner: agent.OwnerUnclear, Evidence: evidence})
			s.startMirror(ctx)
		}
		return false
	}
	tip, err := s.h.Handover.Tip(ctx, s.handle)
	if err != nil {
		return stay("the newest id of the conversation is not known: " + err.Error())
	}
	if crashed("tip") {
		return true
	}
	rel, _, err := m.o.Chats.Inspect(ctx, id)
	if err == nil {
		err = m.read(ctx, s.h, id, s.handle, rel.Applied, "terminal")
	}
	if err == nil && tip.NativeID != s.handle.NativeID {
		err = m.read(ctx, s.h, id, tip, agent.Position{}, "terminal")
	}
	if err != nil {
		return stay("the conversation could not be read: " + err.Error())
	}
	if crashed("rows") {
		return true
	}
	if err := m.takeLease(ctx, s.w, tip); err != nil {
		return stay(err.Error())
	}
	if crashed("lease") {
		return true
	}
	o, err := s.h.Handover.Owner(ctx, tip, nil)
	if err != nil || foreign(o, nil) {
		m.giveUp(ctx, s.w)
		if err != nil {
			return stay(err.Error())
		}
		s.handle = tip
		s.show(ctx, o)
		s.startMirror(ctx)
		wake(s.exits)
		return false
	}
	// No agent of ours runs yet: the next prompt takes the lease again. A chat that
	// is only looked at keeps no other host away.
	m.giveUp(ctx, s.w)
	s.w.mu.Lock()
	s.w.sentry = nil // the queue may meet a new owner at once
	s.w.mu.Unlock()
	if err := m.o.Chats.Reattach(ctx, id, tip, model.Hand{State: model.HandApp, Since: now(), Note: note}); err != nil {
		m.o.Log.Warn("a session could not be given back to its chat", "chat", id, "err", err)
	}
	return true
}

// take is a person's "take back". back says that the session is the app's again.
func (s *sentry) take(ctx context.Context, force bool) (err error, back bool) {
	s.begin.print = false // it is not waited for any more
	if s.look(ctx) {
		return s.finish(ctx)
	}
	if s.hand.State == model.HandUnclear {
		return chats.Fail(chats.CodeNotOwner, "It is unclear who owns this session: %s", s.hand.Note), false
	}
	if !force {
		return chats.Fail(chats.CodeNotOwner, "The terminal's agent still has this session open. End it there, or take over, which asks it to exit."), false
	}
	target := s.owner
	switch {
	case target.Alive() && s.link != agent.LinkProved:
		return chats.Fail(chats.CodeNotOwner, "It is not proved that process %d has this session open, so it is not asked to exit. End it in its terminal.", target.Pid), false
	case !target.Alive() && s.launch.id.Alive():
		target = s.launch.id // our own launch, before it opened the session
	}
	_ = s.m.o.crash(s.w.chatID, "take:asking")
	if err := s.requestExit(ctx, target); err != nil {
		return err, false
	}
	if s.look(ctx) {
		return s.finish(ctx)
	}
	return chats.Fail(chats.CodeNotOwner, "The session is still open elsewhere."), false
}

func (s *sentry) finish(ctx context.Context) (error, bool) {
	if s.reattach(ctx) {
		return nil, true
	}
	return chats.Fail(chats.CodeNotOwner, "The session could not be taken back: %s", s.hand.Note), false
}

// requestExit asks exactly the proved process to exit and waits for it.
func (s *sentry) requestExit(ctx context.Context, id processes.Identity) error {
	gone := make(chan struct{})
	stop, err := s.m.o.Exits.Watch(id, func() { close(gone) })
	if err != nil {
		return nil // it has ended meanwhile
	}
	defer stop()
	o := agent.Ownership{Owner: agent.OwnerTerminal, Pid: id.Pid, Link: agent.LinkProved}
	if s.hand.Ownership != nil && s.hand.Ownership.Pid == id.Pid {
		o = *s.hand.Ownership
	}
	if r, ok := s.h.Handover.(agent.ExitRequester); ok && id == s.owner {
		err = r.RequestExit(ctx, s.handle, o)
	} else {
		err = id.Signal(syscall.SIGTERM)
	}
	if err != nil && !errors.Is(err, processes.ErrGone) {
		return chats.Fail(chats.CodeNotOwner, "The terminal's agent could not be asked to exit: %v", err)
	}
	wait := time.NewTimer(3 * s.m.o.GoneWithin)
	defer wait.Stop()
	select {
	case <-gone:
		return nil
	case <-wait.C:
		return &chats.Error{Code: chats.CodeNotOwner, Message: fmt.Sprintf("Process %d was asked to exit and has not. End it in its terminal.", id.Pid)}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
