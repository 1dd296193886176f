package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// stopDeadline bounds how long a turn whose context ended may take to stop
// before its process is ended.
const stopDeadline = 5 * time.Second

// session is one connection to the agent. Its reader goroutine makes every
// call to the host's events, except that each approval waits in a goroutine of
// its own; the reader waits for those at the end of their turn.
type session struct {
	proc   *agentkit.Process
	events agent.Events
	read   chan struct{} // the reader has ended

	mu      sync.Mutex
	last    int64
	calls   map[int64]*call
	prompt  chan agent.TurnEnd // of the running Prompt
	closing bool
	ended   bool

	// used by the reader only
	unwritten *agent.Handle // what to report once the session has a file
	open      []*openRow
	known     map[string]bool // rows of the open turn
	own       bool            // a turn of the agent's own is open
	turnID    string          // of the open turn, "" between turns
	asks      map[string]context.CancelFunc
	asked     sync.WaitGroup
}

// call is a request that waits for its reply. then runs in the reader, before
// any event that follows the reply.
type call struct {
	do   string
	then func(wire.Message)
	done chan error
}

// openRow is a row that may still grow, as the host knows it.
type openRow struct {
	item agent.Item
	text []byte
}

var errGone = errors.New("the rehearsal has ended")

func newSession(proc *agentkit.Process, events agent.Events) *session {
	return &session{
		proc: proc, events: events, read: make(chan struct{}),
		calls: map[int64]*call{}, asks: map[string]context.CancelFunc{}, known: map[string]bool{},
	}
}

// start runs the reader and says hello.
func (s *session) start(ctx context.Context, hello func(wire.Hello)) error {
	go s.readAll()
	return s.request(ctx, wire.Request{Do: wire.DoInitialize, Version: wire.ProtocolVersion}, func(m wire.Message) {
		if m.Hello != nil {
			hello(*m.Hello)
		}
	})
}

// request sends and waits for the reply.
func (s *session) request(ctx context.Context, req wire.Request, then func(wire.Message)) error {
	c := &call{do: req.Do, then: then, done: make(chan error, 1)}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return errGone
	}
	s.last++
	req.ID = s.last
	s.calls[req.ID] = c
	s.mu.Unlock()
	if err := s.proc.Send(ctx, req); err != nil {
		s.mu.Lock()
		delete(s.calls, req.ID)
		s.mu.Unlock()
		return err
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Prompt implements [agent.ChatSession].
func (s *session) Prompt(ctx context.Context, p agent.Prompt) (agent.TurnEnd, error) {
	end := make(chan agent.TurnEnd, 1)
	s.mu.Lock()
	s.prompt = end
	s.mu.Unlock()
	req := wire.Request{Do: wire.DoPrompt, Text: p.Text, ClientID: p.ClientID}
	for _, a := range p.Attachments {
		req.Files = append(req.Files, wire.File{Name: a.Name, Kind: a.Kind, Size: a.Size})
	}
	err := s.request(ctx, req, func(wire.Message) {
		if s.unwritten != nil {
			s.events.Handle(*s.unwritten)
			s.unwritten = nil
		}
	})
	if err != nil && ctx.Err() == nil {
		s.mu.Lock()
		s.prompt = nil
		s.mu.Unlock()
		return agent.TurnEnd{}, fmt.Errorf("the prompt was not accepted: %w", err)
	}
	select {
	case e := <-end:
		return e, nil
	case <-ctx.Done():
	}
	return s.abandon(ctx, end)
}

// abandon stops a turn that nobody waits for any more, by force if need be.
func (s *session) abandon(ctx context.Context, end chan agent.TurnEnd) (agent.TurnEnd, error) {
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopDeadline)
	defer cancel()
	if err := s.Cancel(stop); err != nil {
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			return agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: err.Error()}, nil
		}
	}
	s.mu.Lock()
	s.prompt = nil
	s.mu.Unlock()
	select {
	case e := <-end:
		return e, nil
	default: // it was never accepted
		return agent.TurnEnd{}, context.Cause(ctx)
	}
}

// Cancel implements [agent.ChatSession]. The agent answers an interrupt after
// the end of the turn; a dead agent runs nothing.
func (s *session) Cancel(ctx context.Context) error {
	err := s.request(ctx, wire.Request{Do: wire.DoInterrupt}, nil)
	if errors.Is(err, errGone) || errors.Is(err, agentkit.ErrEnded) {
		select {
		case <-s.read:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

// Close implements [agent.ChatSession].
func (s *session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	err := s.proc.Close(ctx, processes.Ladder{Protocol: func(ctx context.Context) error {
		return s.proc.Send(ctx, wire.Request{ID: 1 << 62, Do: wire.DoShutdown})
	}})
	if err != nil {
		return err
	}
	<-s.read
	return nil
}

// Steer implements [agent.Steerer].
func (s *session) Steer(ctx context.Context, p agent.Prompt) error {
	err := s.request(ctx, wire.Request{Do: wire.DoSteer, Text: p.Text, ClientID: p.ClientID}, func(wire.Message) {
		s.events.Delivery(p.ClientID, agent.DeliveryAccepted)
	})
	var said *wire.Error
	if errors.As(err, &said) && said.Code == wire.CodeNoTurn {
		return agent.ErrSteerUnavailable
	}
	return err
}

func (s *session) set(ctx context.Context, in wire.Settings) (*agent.Notice, error) {
	return nil, s.request(ctx, wire.Request{Do: wire.DoSet, Settings: &in}, nil)
}

// SetModel implements [agent.ModelSetter].
func (s *session) SetModel(ctx context.Context, id string) (*agent.Notice, error) {
	return s.set(ctx, wire.Settings{Model: id})
}

// SetMode implements [agent.ModeSetter].
func (s *session) SetMode(ctx context.Context, id string) (*agent.Notice, error) {
	n, err := s.set(ctx, wire.Settings{Mode: id})
	if err == nil && id == "free" {
		n = &agent.Notice{Level: agent.LevelWarning, Text: "Rehearsal now edits its scratch file and runs its harmless commands without asking."}
	}
	return n, err
}

// SetThinking implements [agent.ThinkingSetter].
func (s *session) SetThinking(ctx context.Context, id string) (*agent.Notice, error) {
	return s.set(ctx, wire.Settings{Thinking: id})
}

// Usage implements [agent.UsageReporter].
func (s *session) Usage(ctx context.Context) (agent.Usage, error) {
	got := make(chan agent.Usage, 1) // the answer may come when nobody waits any more
	err := s.request(ctx, wire.Request{Do: wire.DoUsage}, func(m wire.Message) {
		if m.Usage != nil {
			got <- usage(*m.Usage)
		}
	})
	select {
	case u := <-got:
		return u, err
	default:
		return agent.Usage{}, err
	}
}

// Reanswer implements [agent.Reanswerer]. A request that is not open any more
// got the answer before.
func (s *session) Reanswer(ctx context.Context, approvalID string, a agent.ApprovalAnswer) error {
	err := s.request(ctx, answer(approvalID, a), nil)
	var said *wire.Error
	if err != nil && !(errors.As(err, &said) && said.Code == wire.CodeUnknown) {
		return err
	}
	s.events.ApprovalAcked(approvalID)
	return nil
}
