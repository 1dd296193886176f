package handoff

import (
	"context"
	"errors"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
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
	// starting says that an earlier host was just opening a terminal when it ended.
	starting bool
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
	watched  map[processes.Identity]func() // stops

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
	s := &sentry{m: m, w: w, h: h, handle: handle, begin: f, hand: f.hand, cmds: make(chan takeBack), done: make(chan struct{}), exits: make(chan struct{}, 1), watched: map[processes.Identity]func(){}}
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
	s.waiting = s.begin.launched != nil || s.begin.starting
	if o := s.hand.Ownership; o != nil && o.Owner == agent.OwnerTerminal && o.Pid > 0 {
		s.seen = true // by an earlier host
	}
	if l := s.hand.Launched; l != nil {
		s.launched(launch{id: processes.Identity{Pid: l.Pid, Start: l.Start, Boot: l.Boot}})
	}
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
			s.remember(ctx, l)
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
	for _, stop := range s.watched {
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

// remember stores the process of our own launch for a host that comes after.
func (s *sentry) remember(ctx context.Context, l launch) {
	if l.err != nil {
		return
	}
	s.hand.Launched = &model.Launched{Pid: l.id.Pid, Start: l.id.Start, Boot: l.id.Boot}
	s.put(ctx)
}

// put stores and shows the hand.
func (s *sentry) put(ctx context.Context) {
	if err := s.m.o.Chats.SetHand(ctx, s.w.chatID, s.hand); err != nil && ctx.Err() == nil {
		s.m.o.Log.Warn("the owner of a session could not be stored", "chat", s.w.chatID, "err", err)
	}
}

func (s *sentry) watchExit(id processes.Identity) {
	if s.watched[id] != nil {
		return
	}
	stop, err := s.m.o.Exits.Watch(id, func() { wake(s.exits) })
	if err != nil {
		wake(s.exits) // gone already: look again
		return
	}
	s.watched[id] = stop
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
	case agent.OwnerUnclear:
		// Its end may be what makes it clear, and a killed process tells nobody.
		if id, err := processes.Identify(o.Pid); err == nil {
			s.watchExit(id)
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
	case s.waiting && (s.deadline.IsZero() || time.Now().Before(s.deadline)),
		!s.waiting && s.launch.id.Alive(), // it may be asking for trust or a login
		!s.waiting && s.begin.print:
		s.clear(ctx)
		return false
	}
	return true
}

// clear goes back from an unclear owner to what was waited for: a file that was
// just being written said nothing for a moment.
func (s *sentry) clear(ctx context.Context) {
	if s.hand.State != model.HandUnclear {
		return
	}
	was := s.begin.hand
	s.hand = model.Hand{State: model.HandMirror, Since: now(), Place: was.Place, Launched: s.hand.Launched, Ownership: &agent.Ownership{
		Owner: agent.OwnerTerminal, Link: agent.LinkProved, Since: was.Since, Evidence: "the app started the command"}}
	if s.begin.print {
		s.hand.Note, s.hand.Ownership = notePrinted, &agent.Ownership{Owner: agent.OwnerNobody, Evidence: "the command was printed"}
	}
	s.put(ctx)
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
	hand.Since, hand.Launched = s.hand.Since, s.hand.Launched
	if old := s.hand.Ownership; old == nil || old.Pid != o.Pid || old.Owner != o.Owner || s.hand.State != hand.State {
		hand.Since = now()
	} else if s.hand.Note != notePrinted && hand.Note == "" {
		hand.Note = s.hand.Note
	}
	s.hand = hand
	s.put(ctx)
}
