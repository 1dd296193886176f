package chats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a manager on a real store with an agent that does what the test says.
type stage struct {
	*testing.T
	m     *Manager
	st    *store.Store
	dir   string
	log   *record
	agent *actor
	slept atomic.Int64 // of the machine, nanoseconds
}

var person = Caller{By: "window", Where: "a test"}

// testing is what stage needs of *testing.T and *rapid.T.
func newStage(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	s := &stage{T: t, dir: t.TempDir(), log: newRecord(), agent: newActor()}
	s.open(change...)
	t.Cleanup(func() { s.close() })
	return s
}

func (s *stage) open(change ...func(*Options)) {
	s.Helper()
	st, err := store.Open(filepath.Join(s.dir, "db"))
	if err != nil {
		s.Fatal(err)
	}
	s.st = st
	o := Options{
		Store: st, Harnesses: s.agent, Publisher: s.log,
		PrivateDir: func(id string) (string, error) {
			p := filepath.Join(s.dir, "private", id)
			return p, os.MkdirAll(p, 0o700)
		},
		MayAnswer: func(c Caller) error {
			if c.By == "agent" {
				return Fail(CodeNotAllowed, "Only a person may answer.")
			}
			return nil
		},
		StopBound: 30 * time.Second, IdleAfter: -1, Asleep: func() time.Duration { return time.Duration(s.slept.Load()) },
	}
	for _, f := range change {
		f(&o)
	}
	s.m = New(o)
	if _, err := s.m.Start(context.Background()); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) close() {
	if s.m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.m.Stop(ctx); err != nil {
		s.Error("the manager did not stop:", err)
	}
	if err := s.st.Close(); err != nil {
		s.Error(err)
	}
	s.m = nil
}

func (s *stage) chat() string {
	s.Helper()
	sum, err := s.m.Create(context.Background(), CreateRequest{ClientID: "create-" + s.Name(), Harness: "actor", Cwd: s.dir})
	if err != nil {
		s.Fatal(err)
	}
	return sum.ID
}

func (s *stage) send(id, client, text string, how ...string) Sent {
	s.Helper()
	r := SendRequest{ChatID: id, ClientID: client, Text: text}
	if len(how) > 0 {
		r.How = how[0]
	}
	sent, err := s.m.Send(context.Background(), r)
	if err != nil {
		s.Fatal("send:", err)
	}
	return sent
}

func (s *stage) get(id string) model.Chat {
	s.Helper()
	c, err := s.m.Get(context.Background(), id)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// ends waits for the end of a turn and returns it.
func (s *stage) ends(id string, n int64) agent.TurnEnd {
	s.Helper()
	ev := s.log.wait(s.T, fmt.Sprintf("the end of turn %d", n), func(e event) bool {
		t, ok := e.data.(TurnChanged)
		return ok && e.topic == topicChat+id && t.Turn == n && t.End != nil
	})
	return *ev.data.(TurnChanged).End
}

// idle waits until nothing is owed any more.
func (s *stage) settled(id string) {
	s.Helper()
	s.log.until(s.T, "the chat is idle", func() bool {
		sum, ok := s.m.Summary(id)
		return ok && sum.Turn == model.TurnIdle
	})
}

// event is one published event.
type event struct {
	topic, typ string
	data       any
}

// record keeps what was published and wakes who waits for it.
type record struct {
	mu   sync.Mutex
	cond *sync.Cond
	list []event
	hook func(event)
}

func newRecord() *record {
	r := &record{}
	r.cond = sync.NewCond(&r.mu)
	return r
}

func (r *record) Publish(topic, typ string, data any) {
	r.mu.Lock()
	r.list = append(r.list, event{topic, typ, data})
	hook := r.hook
	r.mu.Unlock()
	r.cond.Broadcast()
	if hook != nil {
		hook(event{topic, typ, data})
	}
}

func (r *record) all() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]event{}, r.list...)
}

func (r *record) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

func (r *record) watch(hook func(event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = hook
}

// wait returns the first event that matches.
func (r *record) wait(t *testing.T, what string, match func(event) bool) event {
	t.Helper()
	var found event
	i := 0
	r.until(t, what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for ; i < len(r.list); i++ {
			if match(r.list[i]) {
				found = r.list[i]
				return true
			}
		}
		return false
	})
	return found
}

// until waits for a condition that can only change with an event.
func (r *record) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	late := time.AfterFunc(20*time.Second, r.cond.Broadcast)
	defer late.Stop()
	start := time.Now()
	for {
		r.mu.Lock()
		n := len(r.list)
		r.mu.Unlock()
		if cond() {
			return
		}
		if time.Since(start) > 19*time.Second {
			t.Fatalf("waited in vain for %s", what)
		}
		r.mu.Lock()
		for len(r.list) == n && time.Since(start) <= 19*time.Second {
			r.cond.Wait()
		}
		r.mu.Unlock()
	}
}

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
