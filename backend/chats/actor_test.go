package chats

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// actor is a harness whose agent is played by the test.
type actor struct {
	mu       sync.Mutex
	opens    []agent.OpenRequest
	open     func(ctx context.Context, s *scene) error // nil: ready at once
	starts   []agent.ProjectStart
	scenes   chan *scene
	handover agent.Handover
	kinds    []agent.Kind
	living   map[string]int // by chat
	most     int
	setup    func(*scene)
	away     *agent.Availability
	taken    atomic.Int32
	wrap     func(*scene) agent.ChatSession // a session with further abilities
}

func newActor() *actor { return &actor{living: map[string]int{}, scenes: make(chan *scene, 1000)} }

func (a *actor) Harness(id string) (agent.Harness, bool, bool) {
	if id != "actor" {
		return agent.Harness{}, false, false
	}
	return agent.Harness{Identity: agent.Identity{Harness: "actor", DisplayName: "Actor"}, ProviderID: "actor.chat",
		Provider: a, Handover: a.handover, Traits: agent.Traits{Kinds: a.kinds}}, true, true
}

func (a *actor) Availability(context.Context) (agent.Availability, error) {
	if a.away != nil {
		return *a.away, nil
	}
	return agent.Availability{Available: true}, nil
}

func (a *actor) ProjectStarts(context.Context, string) ([]agent.ProjectStart, error) {
	return a.starts, nil
}

func (a *actor) Open(ctx context.Context, req agent.OpenRequest, ev agent.Events) (agent.ChatSession, error) {
	s := &scene{a: a, req: req, Events: ev, prompts: make(chan agent.Prompt, 100), ends: make(chan turnReturn), cancels: make(chan chan error, 100), shut: make(chan struct{})}
	a.mu.Lock()
	a.opens = append(a.opens, req)
	a.living[req.ChatID]++
	a.most = max(a.most, a.living[req.ChatID])
	setup := a.setup
	a.mu.Unlock()
	if setup != nil {
		setup(s)
	}
	if a.open != nil {
		if err := a.open(ctx, s); err != nil {
			a.mu.Lock()
			a.living[req.ChatID]--
			a.mu.Unlock()
			return nil, err
		}
	}
	var h *agent.Handle
	if req.Kind == agent.KindWorkspace {
		h = &agent.Handle{Harness: "actor", NativeID: "native-" + req.ChatID, Cwd: req.WorkingDirectory}
		if req.Resume != nil {
			h = req.Resume
		}
	}
	ev.Ready(agent.Ready{Handle: h, Agent: agent.AgentInfo{Name: "Actor", Version: "1"}, Model: "m1", Pid: 4242})
	a.scenes <- s
	if a.wrap != nil {
		return a.wrap(s), nil
	}
	return s, nil
}

type turnReturn struct {
	end agent.TurnEnd
	err error
}

// scene is one life of the agent.
type scene struct {
	agent.Events
	a       *actor
	req     agent.OpenRequest
	prompts chan agent.Prompt
	ends    chan turnReturn
	cancels chan chan error // the test answers each
	shut    chan struct{}
	once    sync.Once

	steer      func(agent.Prompt) error
	reanswer   func(string, agent.ApprovalAnswer) error
	steered    []string // with mu
	autoCancel bool
	closeErr   error
	mu         sync.Mutex
	inPrompt   bool
	closes     int
}

func (s *scene) Prompt(ctx context.Context, p agent.Prompt) (agent.TurnEnd, error) {
	s.mu.Lock()
	if s.inPrompt {
		s.mu.Unlock()
		panic("Prompt while another has not returned")
	}
	s.inPrompt = true
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.inPrompt = false; s.mu.Unlock() }()
	s.prompts <- p
	select {
	case r := <-s.ends:
		return r.end, r.err
	case <-s.shut:
		return agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "crashed", Text: "closed"}, nil
	}
}

func (s *scene) Cancel(ctx context.Context) error {
	if s.autoCancel {
		return nil
	}
	ch := make(chan error, 1)
	select {
	case s.cancels <- ch:
	case <-s.shut:
		return nil
	}
	select {
	case err := <-ch:
		return err
	case <-s.shut:
		return nil
	}
}

func (s *scene) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closes++
	err := s.closeErr
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.once.Do(func() {
		close(s.shut)
		s.a.mu.Lock()
		s.a.living[s.req.ChatID]--
		s.a.mu.Unlock()
	})
	return nil
}

func (s *scene) Steer(_ context.Context, p agent.Prompt) error {
	if s.steer == nil {
		return agent.ErrSteerUnavailable
	}
	return s.steer(p)
}

func (s *scene) SetModel(_ context.Context, id string) (*agent.Notice, error) {
	if id == "bad" {
		return nil, errors.New("no such model")
	}
	return &agent.Notice{Level: agent.LevelInfo, Text: "ok"}, nil
}

func (s *scene) Reanswer(_ context.Context, id string, a agent.ApprovalAnswer) error {
	if s.reanswer == nil {
		return errors.New("it does not listen")
	}
	return s.reanswer(id, a)
}

func (s *scene) Rewind(context.Context, string) error { return nil }

func (s *scene) say(id, text string, ended bool) {
	it := agent.Item{ID: id, Type: agent.ItemText, Text: text}
	if ended {
		it.EndedAt = 1
	}
	s.Item(it)
}

func (s *scene) done() { s.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCompleted}} }

func (s *stage) scene() *scene {
	s.Helper()
	select {
	case sc := <-s.agent.scenes:
		return sc
	case <-time.After(20 * time.Second):
		s.Fatal("no agent was started")
		return nil
	}
}

func (s *stage) prompt(sc *scene) agent.Prompt {
	s.Helper()
	select {
	case p := <-sc.prompts:
		return p
	case <-time.After(20 * time.Second):
		s.Fatal("the agent got no prompt")
		return agent.Prompt{}
	}
}

func (s *stage) cancelled(sc *scene) chan error {
	s.Helper()
	select {
	case ch := <-sc.cancels:
		return ch
	case <-time.After(20 * time.Second):
		s.Fatal("the agent got no cancel")
		return nil
	}
}

func raw(v any) json.RawMessage { b, _ := json.Marshal(v); return b }
