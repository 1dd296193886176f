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

// notePrinted marks a hand-over whose command the person runs: nothing tells
// when, so the session waits for its owner or for "take back".
const notePrinted = "Run the command to go on in a terminal. Take the session back to go on here."

// watchFor says what a sentry begins with.
type watchFor struct {
	hand model.Hand
	// launched reports the agent's pid of our own launch; nil without one.
	launched <-chan launch
	print    bool
	settled  chan struct{} // closed once it is known whose the session is
}

type launch struct {
	id  processes.Identity
	err error
}

// sentry watches one session that is not the app's: it mirrors what is written
// there, knows its owner, and takes it back when that has ended. One goroutine.
type sentry struct {
	m      *Manager
	w      *ward
	h      agent.Harness
	handle agent.Handle
	begin  watchFor
	cmds   chan takeBack
	end    context.CancelFunc
	done   chan struct{}

	hand     model.Hand
	owner    processes.Identity // the proved or inferred owner
	link     agent.Link
	launch   launch
	waiting  bool // the launch has not reported yet
	deadline time.Time
	seen     bool // an owner was there
	exits    chan struct{}
	stops    []func()

	mirror     context.CancelFunc
	mirrorDone chan error
}

type takeBack struct {
	force bool
	out   chan error // buffered
}

// post starts the sentry of a chat, in place of an earlier one.
func (m *Manager) post(chatID string, handle agent.Handle, f watchFor) error {
	rel, _, err := m.o.Chats.Inspect(m.ctx, chatID)
	if err != nil {
		return err
	}
	h, err := m.handover(rel.Harness)
	if err != nil {
		return err
	}
	w := m.ward(chatID)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sentry != nil {
		return nil // it sees what there is to see
	}
	s := &sentry{m: m, w: w, h: h, handle: handle, begin: f, hand: f.hand, cmds: make(chan takeBack), done: make(chan struct{}), exits: make(chan struct{}, 1)}
	ctx, end := context.WithCancel(m.ctx)
	s.end = end
	if !m.spawn(func() { defer end(); s.run(ctx) }) {
		end()
		return errors.New("the host is being stopped")
	}
	w.sentry = s
	return nil
}

func (s *sentry) run(ctx context.Context) {
	defer close(s.done)
	defer s.leave()
	wakes, stop := s.m.watchDirs(ctx, s.h.Handover.ChangeDirs(s.handle))
	defer stop()
	s.waiting = s.begin.launched != nil
	late := time.NewTimer(time.Hour)
	late.Stop()
	defer late.Stop()
	if s.waiting {
		s.deadline = time.Now().Add(s.m.o.OwnerWithin)
		late.Reset(s.m.o.OwnerWithin)
	}
	if s.hand.State != model.HandReattaching {
		s.startMirror(ctx)
	}
	defer s.stopMirror()
	for {
		if s.look(ctx) {
			if s.reattach(ctx) {
				return
			}
		}
		s.settled()
		select {
		case <-ctx.Done():
			return
		case <-wakes:
		case <-s.exits:
		case <-late.C:
		case l := <-s.begin.launched:
			s.launched(l)
		case err := <-s.mirrorDone:
			s.mirrorEnded(ctx, err)
		case c := <-s.cmds:
			err, back := s.take(ctx, c.force)
			c.out <- err
			if back {
				return
			}
		}
	}
}

func (s *sentry) leave() {
	for _, stop := range s.stops {
		stop()
	}
	s.settled()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.sentry == s {
		s.w.sentry = nil
	}
}

func (s *sentry) settled() {
	if s.begin.settled != nil {
		close(s.begin.settled)
		s.begin.settled = nil
	}
}

func (s *sentry) launched(l launch) {
	s.waiting = false
	s.begin.launched = nil
	s.launch = l
	if l.err == nil {
		s.watchExit(l.id)
	}
}

func (s *sentry) watchExit(id processes.Identity) {
	stop, err := s.m.o.Exits.Watch(id, func() { wake(s.exits) })
	if err != nil {
		wake(s.exits) // gone already: look again
		return
	}
	s.stops = append(s.stops, stop)
}

// look finds out who owns the session and says whether it is free to be taken
// back.
func (s *sentry) look(ctx context.Context) (free bool) {
	o, err := s.h.Handover.Owner(ctx, s.handle, nil)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		o = agent.Ownership{Owner: agent.OwnerUnclear, Evidence: err.Error()}
	}
	switch o.Owner {
	case agent.OwnerNobody, agent.OwnerApp:
		return s.unowned(ctx)
	case agent.OwnerTerminal:
		id, err := processes.Identify(o.Pid)
		if errors.Is(err, processes.ErrGone) {
			return s.unowned(ctx) // the claim outlived its process
		}
		s.link = o.Link
		if err == nil && id != s.owner {
			s.owner, s.seen = id, true
			s.watchExit(id)
		}
		if s.launch.id == id || s.launch.id.Pid > 0 && descends(o.Pid, []int{s.launch.id.Pid}) {
			s.link = agent.LinkProved // our own launch
			o.Link = agent.LinkProved
		}
	}
	s.show(ctx, o)
	return false
}

// unowned: nobody is seen to have the session open. Whether it is free depends
// on who had it, or is about to.
func (s *sentry) unowned(ctx context.Context) bool {
	switch {
	case s.owner.Alive():
		// The same process went on to another id of this conversation, or to
		// another conversation altogether.
		tip, err := s.h.Handover.Tip(ctx, s.handle)
		if err != nil {
			s.show(ctx, agent.Ownership{Owner: agent.OwnerUnclear, Evidence: "the newest id of the conversation is not known: " + err.Error()})
			return false
		}
		if tip.NativeID != s.handle.NativeID {
			s.follow(ctx, tip)
			return false
		}
		return true
	case s.seen:
		return true
	case s.waiting:
		return !s.deadline.IsZero() && !time.Now().Before(s.deadline)
	case s.launch.id.Alive():
		return false // it may be asking for trust or a login
	case s.begin.print:
		return false
	}
	return true
}

// follow goes on with a new id of the same conversation.
func (s *sentry) follow(ctx context.Context, tip agent.Handle) {
	s.stopMirror()
	hand := s.hand
	if err := s.m.o.Chats.Reattach(ctx, s.w.chatID, tip, hand); err != nil {
		return
	}
	s.handle = tip
	s.startMirrorFrom(ctx, agent.Position{})
	wake(s.exits) // look who owns the new id
}

// show publishes the ownership when it changed.
func (s *sentry) show(ctx context.Context, o agent.Ownership) {
	hand := s.m.handOf(o)
	hand.Since, hand.Branches = s.hand.Since, s.hand.Branches
	if old := s.hand.Ownership; old == nil || old.Pid != o.Pid || old.Owner != o.Owner || s.hand.State != hand.State {
		hand.Since = now()
	} else if s.hand.Note != notePrinted && hand.Note == "" {
		hand.Note = s.hand.Note
	}
	s.hand = hand
	if err := s.m.o.Chats.SetHand(ctx, s.w.chatID, hand); err != nil && ctx.Err() == nil {
		s.m.o.Log.Warn("the owner of a session could not be stored", "chat", s.w.chatID, "err", err)
	}
}

func (s *sentry) startMirror(ctx context.Context) {
	rel, _, err := s.m.o.Chats.Inspect(ctx, s.w.chatID)
	if err != nil {
		return
	}
	s.startMirrorFrom(ctx, rel.Applied)
}

func (s *sentry) startMirrorFrom(ctx context.Context, from agent.Position) {
	mctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	s.mirror, s.mirrorDone = cancel, done
	handle, k := s.handle, newSink(ctx, s.m, s.w.chatID, "terminal")
	go func() { done <- s.h.Handover.Mirror(mctx, handle, from, k) }()
}

func (s *sentry) stopMirror() {
	if s.mirror == nil {
		return
	}
	s.mirror()
	if s.mirrorDone != nil {
		<-s.mirrorDone
	}
	s.mirror, s.mirrorDone = nil, nil
}

// mirrorEnded: a mirror that failed is shown; the next change tries it again.
func (s *sentry) mirrorEnded(ctx context.Context, err error) {
	s.mirrorDone = nil
	s.stopMirror()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.hand.Note = "The terminal's conversation cannot be shown: " + err.Error()
		_ = s.m.o.Chats.SetHand(ctx, s.w.chatID, s.hand)
	}
}

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
	crashed := func(step string) bool { return m.o.crash("reattach:"+step) != nil }
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
