package handoff

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Manager passes sessions between the app and terminals. It is the Guard of
// the chats.
type Manager struct {
	o      Options
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	wards   map[string]*ward
	stopped bool
}

// ward is what the manager holds for one chat.
type ward struct {
	chatID string
	// passing has its one token taken while the session is passed on (released,
	// taken back), so that these never overlap.
	passing chan struct{}

	mu     sync.Mutex
	lease  *lease
	sentry *sentry
	vigil  context.CancelFunc
}

// pass takes the token; done gives it back.
func (w *ward) pass(ctx context.Context) (done func(), err error) {
	select {
	case w.passing <- struct{}{}:
		return func() { <-w.passing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var (
	_ chats.Guard   = (*Manager)(nil)
	_ chats.Adopter = (*Manager)(nil)
)

// New makes a Manager and sets it as the guard of the chats.
func New(o Options) *Manager {
	o.defaults()
	m := &Manager{o: o, wards: map[string]*ward{}}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	o.Chats.SetGuard(m)
	return m
}

// Start goes on with what an earlier host left: sessions in a terminal are
// mirrored again, half-done passings are finished, prompts whose delivery is
// unknown are looked up in the agents' transcripts. It runs after the chats'
// own Start and returns at once; the work goes on beside it.
func (m *Manager) Start(ctx context.Context) error {
	for _, s := range m.o.Chats.List() {
		if s.Handle == nil {
			continue
		}
		switch s.Hand.State {
		case model.HandMirror, model.HandReleasing, model.HandReattaching, model.HandUnclear:
			f := watchFor{hand: s.Hand, print: s.Hand.Note == notePrinted, starting: wasStarting(s.Hand)}
			if err := m.post(s.ID, *s.Handle, f); err != nil {
				m.o.Log.Warn("a session cannot be watched", "chat", s.ID, "err", err)
			}
		default:
			if s.Hand.Pending != nil {
				hand := model.Hand{State: model.HandApp, Since: now(), Note: "Not continued in a terminal: Whippletree was ended while the turn ran."}
				if err := m.o.Chats.SetHand(ctx, s.ID, hand); err != nil {
					return err
				}
			}
			if s.Queued > 0 {
				m.lookUp(s.ID)
			}
		}
	}
	return ctx.Err()
}

// wasStarting says that a terminal of somebody else's was being opened: its agent
// may show yet. A tab of ours ended with the host that opened it.
func wasStarting(h model.Hand) bool {
	opening := h.State == model.HandReleasing || h.State == model.HandMirror && h.Ownership != nil && h.Ownership.Owner == agent.OwnerTerminal && h.Ownership.Pid == 0
	return opening && h.Launched == nil && h.Place != nil && h.Place.Kind != "tab"
}

// Stop ends every goroutine. What is in a terminal stays there. The chats are
// stopped after it: each lease ends when the chat's agent is gone (LetGo).
func (m *Manager) Stop(ctx context.Context) error {
	m.mu.Lock()
	m.stopped = true
	m.cancel(errors.New("the host was stopped"))
	m.mu.Unlock()
	done := make(chan struct{})
	go func() { m.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Manager) ward(chatID string) *ward {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.wards[chatID]
	if w == nil {
		w = &ward{chatID: chatID, passing: make(chan struct{}, 1)}
		m.wards[chatID] = w
	}
	return w
}

// spawn runs fn unless the manager is being stopped.
func (m *Manager) spawn(fn func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return false
	}
	m.work.Add(1)
	go func() { defer m.work.Done(); fn() }()
	return true
}

func (m *Manager) handover(harness string) (agent.Harness, error) {
	h, _, ok := m.o.Harnesses.Harness(harness)
	if !ok {
		return h, chats.Fail(chats.CodeNotFound, "No agent %q is known here.", harness)
	}
	if h.Handover == nil {
		return h, chats.Fail(chats.CodeUnsupported, "%s cannot be continued in a terminal.", h.Identity.DisplayName)
	}
	return h, nil
}

// lookUp reads a transcript once, to learn the fate of prompts that a killed
// host was just sending.
func (m *Manager) lookUp(chatID string) {
	m.spawn(func() {
		ids, err := m.o.Chats.Unknown(m.ctx, chatID)
		if err != nil || len(ids) == 0 {
			return
		}
		rel, _, err := m.o.Chats.Inspect(m.ctx, chatID)
		if err != nil {
			return
		}
		h, err := m.handover(rel.Harness)
		if err != nil {
			return
		}
		if err := m.read(m.ctx, h, chatID, rel.Handle, rel.Applied, ""); err != nil && m.ctx.Err() == nil {
			m.o.Log.Warn("the agent's transcript could not be read", "chat", chatID, "err", err)
		}
	})
}

func now() int64 { return time.Now().UnixMilli() }
