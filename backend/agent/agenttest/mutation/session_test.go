package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// message is one line of the puppet's wire.
type message struct {
	Kind   string           `json:"kind"`
	Item   *agent.Item      `json:"item,omitempty"`
	ID     string           `json:"id,omitempty"`
	Text   string           `json:"text,omitempty"`
	Ask    *agent.Approval  `json:"ask,omitempty"`
	End    *agent.TurnEnd   `json:"end,omitempty"`
	Nested map[string][]int `json:"nested,omitempty"`
}

// standing is a request that waits.
type standing struct{ cancel context.CancelFunc }

// session is one cat.
type session struct {
	p     *puppet
	req   agent.OpenRequest
	ev    agent.Events
	file  *file
	id    string
	proc  *agentkit.Process
	hello func()
	gone  chan struct{} // the reader has ended

	opened atomic.Bool
	asking sync.WaitGroup
	play   sync.WaitGroup // scripts

	evMu sync.Mutex // one call to the host at a time

	mu      sync.Mutex
	turn    *turn
	prompts []string
	asks    map[string]*standing
	script  map[string]chan agent.ApprovalAnswer
	open    []agent.Item
	closing bool
	dead    bool
	poison  bool
	usage   agent.Usage
	onClose func()
	closes  int
	stopped int // how many prompts there were at the last stop
}

// turn is the open one; own marks one of the agent's.
type turn struct {
	prompt string
	own    bool
	stop   context.CancelFunc
	ctx    context.Context
	done   chan struct{}
	end    agent.TurnEnd
}

// tell makes one call to the host.
func (s *session) tell(f func()) {
	s.evMu.Lock()
	defer s.evMu.Unlock()
	f()
}

func (s *session) read() {
	defer close(s.gone)
	next := s.proc.Next
	if reader := s.carelessReader(); reader != nil {
		next = reader
	}
	for {
		l, err := next()
		if err != nil {
			break
		}
		if s.startles(l.Data) {
			_ = s.proc.Close(context.Background(), agentkit.Ladder{EOFWait: -1, TermWait: -1})
			break
		}
		var m message
		if json.Unmarshal(l.Data, &m) != nil || m.Kind == "" {
			s.proc.Noise(l.Data)
			continue
		}
		s.take(m)
	}
	s.ended()
}

func (s *session) take(m message) {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	switch m.Kind {
	case "hello":
		s.hello()
	case "own":
		ctx, stop := context.WithCancel(context.Background())
		s.mu.Lock()
		s.turn = &turn{own: true, ctx: ctx, stop: stop, done: make(chan struct{})}
		s.mu.Unlock()
		s.tell(func() { s.ev.Turn(agent.TurnEvent{Origin: agent.OriginAgent}) })
	case "item":
		if t != nil && m.Item != nil {
			s.item(*m.Item)
		}
	case "append":
		if t != nil {
			s.grow(m.ID, m.Text)
		}
	case "ask":
		s.ask(m, t)
	case "withdraw":
		s.mu.Lock()
		a := s.asks[m.ID]
		s.mu.Unlock()
		if a != nil {
			a.cancel()
		}
	case "steer":
		s.tell(func() { s.ev.Delivery(m.ID, agent.DeliveryAccepted) })
	case "end":
		if t != nil && m.End != nil {
			s.endTurn(t, *m.End)
		}
	}
}

// item passes a row on, to the file first.
func (s *session) item(it agent.Item) {
	s.mu.Lock()
	s.open = slices.DeleteFunc(s.open, func(o agent.Item) bool { return o.ID == it.ID })
	if it.Open() {
		s.open = append(s.open, it)
	}
	s.mu.Unlock()
	if s.kept() && it.Type != agent.ItemNotice {
		s.file.add(record{Item: &it})
	}
	s.tell(func() { s.ev.Item(it) })
}

// grow adds to an open row.
func (s *session) grow(id, more string) {
	s.mu.Lock()
	for i := range s.open {
		if s.open[i].ID == id {
			s.open[i].Text += more
		}
	}
	s.mu.Unlock()
	s.tell(func() { s.ev.Append(id, more) })
}

func (s *session) kept() bool { return s.req.Kind == agent.KindWorkspace }

func (s *session) ask(m message, t *turn) {
	if t == nil || m.Ask == nil {
		return
	}
	a := *m.Ask
	s.mu.Lock()
	twice := s.asks[a.ID] != nil
	if twice && !s.p.is("asks twice") {
		s.mu.Unlock()
		return
	}
	if twice {
		a.ID += "-again"
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.asks[a.ID] = &standing{cancel}
	answer := s.script[m.Ask.ID]
	s.mu.Unlock()
	s.asking.Add(1)
	go func() {
		defer s.asking.Done()
		given := s.ev.Approval(ctx, a)
		select {
		case answer <- given:
		default:
		}
	}()
}

// settle takes requests back and closes what is open.
func (s *session) settle(state agent.ItemState) {
	s.mu.Lock()
	for _, a := range s.asks {
		a.cancel()
	}
	left := s.open
	s.mu.Unlock()
	s.asking.Wait()
	for _, it := range slices.Backward(left) {
		it.CloseAt(state, time.Now())
		s.item(it)
	}
}

func (s *session) endTurn(t *turn, end agent.TurnEnd) {
	state := agent.StateCanceled
	if end.Outcome == agent.OutcomeFailed {
		state = agent.StateFailed
	}
	if !(s.p.is("leaves a row open") && t.prompt == "/sing") {
		s.settle(state)
	}
	s.mu.Lock()
	s.turn = nil
	clear(s.asks)
	s.open = nil
	s.mu.Unlock()
	if !t.own {
		s.count()
	}
	t.end = end
	if t.own {
		s.tell(func() { s.ev.Turn(agent.TurnEvent{Origin: agent.OriginAgent, End: &end}) })
	}
	close(t.done)
}

func (s *session) count() {
	s.mu.Lock()
	s.usage.Input += 10
	s.usage.Output += 5
	u := s.usage
	s.mu.Unlock()
	if s.kept() {
		s.file.add(record{Usage: &u})
	}
	s.tell(func() { s.ev.Usage(u) })
}

// ended is the end of the process.
func (s *session) ended() {
	if s.p.is("waits for who holds its output") && strings.Contains(s.req.Env["AGENTTEST_SHIM"], "holdOutput") {
		for !s.isClosing() {
			time.Sleep(5 * time.Millisecond)
		}
	}
	<-s.proc.Done()
	live.Delete(s.id)
	s.mu.Lock()
	s.dead = true
	t, closing := s.turn, s.closing
	s.mu.Unlock()
	if !s.opened.Load() {
		return
	}
	if t != nil {
		t.stop()
		end := agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "crashed", Text: "cat has died"}
		if s.p.is("calls a death at " + t.prompt + " a stop") {
			end = agent.TurnEnd{Outcome: agent.OutcomeCanceled}
		}
		if closing {
			end = agent.TurnEnd{Outcome: agent.OutcomeCanceled}
			switch {
			case s.p.is("fails a turn that is closed at " + t.prompt):
				end = agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "crashed", Text: "cat has died"}
			case s.p.is("completes a closed turn") && t.prompt == "run on":
				end = agent.TurnEnd{Outcome: agent.OutcomeCompleted}
			}
		}
		s.endTurn(t, end)
	}
	s.p.bus.wake()
	if s.p.is("tells no exit after between") && s.last() == "between" && closing {
		return
	}
	s.tell(func() { s.ev.Exit(agent.Exit{Code: s.proc.Exit().Code}) })
	if s.p.is("has a title after its exit") && s.last() == "/sing" {
		s.tell(func() { s.ev.Title("late") })
	}
}

func (s *session) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *session) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.prompts) == 0 {
		return ""
	}
	return s.prompts[len(s.prompts)-1]
}

var errOver = errors.New("the session is over")

func (s *session) Prompt(ctx context.Context, p agent.Prompt) (agent.TurnEnd, error) {
	for _, a := range p.Attachments {
		if a.Kind != "image" {
			return agent.TurnEnd{}, errors.New("only images")
		}
	}
	t := &turn{prompt: p.Text, done: make(chan struct{})}
	t.ctx, t.stop = context.WithCancel(context.Background())
	s.mu.Lock()
	over := s.dead || s.closing
	switch {
	case over && s.p.is("takes prompts after its death") && !s.closing, over && s.closing && s.p.is("takes prompts after Close"):
		s.mu.Unlock()
		return agent.TurnEnd{Outcome: agent.OutcomeCompleted}, nil
	case over:
		s.mu.Unlock()
		return agent.TurnEnd{}, errOver
	}
	s.turn = t
	s.prompts = append(s.prompts, p.Text)
	first := len(s.prompts) == 1
	poison := s.poison
	s.poison = false
	s.mu.Unlock()
	live.Store(s.id, true)
	if first && s.kept() && !s.file.exists() {
		s.file.add(record{Cwd: s.req.WorkingDirectory, Title: p.Text})
		h := s.handle()
		s.tell(func() { s.ev.Handle(h); s.ev.Title(p.Text) })
	}
	if poison {
		s.endTurn(t, agent.TurnEnd{Outcome: agent.OutcomeCanceled})
		return t.end, nil
	}
	s.item(agent.Item{ID: newID(), Type: agent.ItemUser, Text: p.Text, ClientID: p.ClientID})
	s.play.Add(1)
	go func() {
		defer s.play.Done()
		s.perform(t)
	}()
	if s.p.is("waits for the agent for ever") {
		ctx = context.Background()
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		_ = s.Close(context.WithoutCancel(ctx))
		<-t.done
	}
	return t.end, nil
}

func (s *session) Cancel(ctx context.Context) error {
	s.mu.Lock()
	t := s.turn
	if t == nil && !s.dead && !s.closing && s.p.is("keeps a stop for the next turn") {
		s.poison = true
	}
	again := len(s.prompts) > 0 && s.stopped == len(s.prompts) && s.prompts[len(s.prompts)-1] == "run on"
	s.stopped = len(s.prompts)
	s.mu.Unlock()
	if again && s.p.is("is stopped once only") {
		return errors.New("it was stopped already")
	}
	if t == nil {
		return nil
	}
	t.stop()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.closes++
	n := s.closes
	late := s.onClose
	s.onClose = nil
	s.mu.Unlock()
	if late != nil {
		late()
	}
	if s.p.is("leaves its process") && s.last() == "/sing" && n == 1 {
		return nil
	}
	return s.shut(ctx)
}

func (s *session) shut(ctx context.Context) error {
	// The script is let be: what it still says nobody reads.
	err := s.proc.Close(ctx, agentkit.Ladder{EOFWait: -1, TermWait: -1})
	<-s.gone
	s.play.Wait()
	return err
}

func (s *session) Steer(ctx context.Context, p agent.Prompt) error {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t == nil && !s.p.is("steers nothing") {
		return agent.ErrSteerUnavailable
	}
	if t == nil {
		return nil
	}
	err := s.proc.Send(ctx, message{Kind: "steer", ID: p.ClientID, Text: p.Text})
	if err != nil && s.p.is("calls a failed steer unavailable") {
		return agent.ErrSteerUnavailable
	}
	return err
}

func (s *session) SetModel(_ context.Context, id string) (*agent.Notice, error) {
	s.tell(func() { s.ev.Settings(agent.Settings{Model: id}) })
	return nil, nil
}

func (s *session) SetMode(_ context.Context, id string) (*agent.Notice, error) {
	if id != "ask" && id != "plan" && !s.p.is("takes any mode") {
		return nil, errors.New("there is no such mode")
	}
	s.tell(func() { s.ev.Settings(agent.Settings{Mode: id}) })
	return nil, nil
}

func (s *session) SetThinking(_ context.Context, id string) (*agent.Notice, error) {
	s.tell(func() { s.ev.Settings(agent.Settings{Thinking: id}) })
	return nil, nil
}

func (s *session) Usage(context.Context) (agent.Usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p.is("reports nothing used") {
		return agent.Usage{}, nil
	}
	return s.usage, nil
}
