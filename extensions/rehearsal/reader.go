package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// readAll takes the agent's lines until it has ended, then ends everything
// that waits for it.
func (s *session) readAll() {
	defer close(s.read)
	for {
		line, err := s.proc.Next()
		if err != nil {
			break
		}
		var m wire.Message
		if json.Unmarshal(line.Data, &m) != nil || m.Reply == "" && m.Event == "" {
			s.proc.Noise(line.Data)
			continue
		}
		if m.Reply != "" {
			s.replied(m)
		} else {
			s.happened(m)
		}
	}
	s.gone()
}

// replied completes a request. A log line that happens to have an id names no
// request and completes nothing.
func (s *session) replied(m wire.Message) {
	s.mu.Lock()
	c := s.calls[m.ID]
	if c == nil || c.do != m.Reply {
		s.mu.Unlock()
		return
	}
	delete(s.calls, m.ID)
	s.mu.Unlock()
	if m.Error != nil {
		c.done <- m.Error
		return
	}
	if c.then != nil {
		c.then(m)
	}
	c.done <- nil
}

func (s *session) happened(m wire.Message) {
	switch m.Event {
	case wire.EventBlock:
		if m.Block != nil && m.Block.ID != "" && s.turnID != "" {
			s.publish(row(*m.Block)) // nothing of a turn follows its end
		}
	case wire.EventAppend:
		s.appended(m.BlockID, m.Text)
	case wire.EventAsk:
		if m.Ask != nil && m.Ask.ID != "" && s.turnID != "" && s.asks[m.Ask.ID] == nil {
			s.ask(*m.Ask)
		}
	case wire.EventWithdraw:
		if cancel := s.asks[m.AskID]; cancel != nil {
			cancel()
			delete(s.asks, m.AskID)
		}
	case wire.EventTurn:
		if m.Turn != nil {
			s.turn(*m.Turn)
		}
	case wire.EventTitle:
		s.events.Title(m.Text)
	case wire.EventSettings:
		if m.Settings != nil {
			s.events.Settings(settings(*m.Settings))
		}
	case wire.EventUsage:
		if m.Usage != nil {
			s.events.Usage(usage(*m.Usage))
		}
	case wire.EventDelivery:
		s.events.Delivery(m.ClientID, agent.Delivery(m.Delivery))
	}
}

// publish passes a row on and remembers the open ones.
func (s *session) publish(it agent.Item) {
	s.known[it.ID] = true
	i := slices.IndexFunc(s.open, func(o *openRow) bool { return o.item.ID == it.ID })
	switch {
	case it.Open() && i >= 0:
		s.open[i] = &openRow{it, []byte(it.Text)}
	case it.Open():
		s.open = append(s.open, &openRow{it, []byte(it.Text)})
	case i >= 0:
		s.open = slices.Delete(s.open, i, i+1)
	}
	s.events.Item(it)
}

func (s *session) appended(id, text string) {
	for _, o := range s.open {
		if o.item.ID == id {
			o.text = append(o.text, text...)
			s.events.Append(id, text)
			return
		}
	}
}

// turn begins or ends one.
func (s *session) turn(t wire.Turn) {
	if t.State == wire.TurnStarted {
		s.turnID = t.ID
		if t.Origin == wire.OriginAgent {
			s.own = true
			s.events.Turn(agent.TurnEvent{Origin: agent.OriginAgent})
		}
		return
	}
	if t.ID == s.turnID { // an end that comes again ends no other turn
		s.endTurn(turnEnd(t))
	}
}

// endTurn closes what is open, then gives the turn its one end.
func (s *session) endTurn(end agent.TurnEnd) {
	s.settle(end.Outcome)
	s.turnID = ""
	clear(s.known)
	if s.own {
		s.own = false
		s.events.Turn(agent.TurnEvent{Origin: agent.OriginAgent, End: &end})
		return
	}
	s.mu.Lock()
	prompt := s.prompt
	s.prompt = nil
	s.mu.Unlock()
	if prompt != nil {
		prompt <- end
	}
}

// settle takes requests back and closes rows, innermost first.
func (s *session) settle(outcome agent.Outcome) {
	for _, cancel := range s.asks {
		cancel()
	}
	clear(s.asks)
	s.asked.Wait()
	left := agent.StateCanceled
	if outcome == agent.OutcomeFailed {
		left = agent.StateFailed
	}
	for _, o := range slices.Backward(s.open) {
		if o.item.Type == agent.ItemText || o.item.Type == agent.ItemReasoning {
			o.item.Text = string(o.text)
		}
		o.item.CloseAt(left, time.Now())
		s.events.Item(o.item)
	}
	s.open = nil
}

// ask puts a request to the person, apart from the reader.
func (s *session) ask(a wire.Ask) {
	if a.BlockID != "" && !s.known[a.BlockID] { // the request came before its tool
		s.publish(row(wire.Block{
			ID: a.BlockID, Kind: wire.KindTool, StartedAt: time.Now().UnixMilli(), State: wire.StateRunning, Title: a.Title, Tool: a.Tool,
		}))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.asks[a.ID] = cancel
	s.asked.Add(1)
	go func() {
		defer s.asked.Done()
		given := s.events.Approval(ctx, approval(a))
		if ctx.Err() != nil {
			return // withdrawn, or the turn is over: there is nobody to answer
		}
		s.answer(ctx, answer(a.ID, given))
	}()
}

// answer sends what a person decided; the agent's reply is its
// acknowledgement. It is not waited for: the reader must not wait for itself.
func (s *session) answer(ctx context.Context, req wire.Request) {
	c := &call{do: req.Do, done: make(chan error, 1), then: func(wire.Message) {
		if !req.Canceled {
			s.events.ApprovalAcked(req.AskID)
		}
	}}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.last++
	req.ID = s.last
	s.calls[req.ID] = c
	s.mu.Unlock()
	if s.proc.Send(ctx, req) != nil {
		s.mu.Lock()
		delete(s.calls, req.ID)
		s.mu.Unlock()
	}
}

// gone ends everything after the end of the process.
func (s *session) gone() {
	select {
	case <-s.proc.Done():
	case <-time.After(stopDeadline): // it closed its output and lives: it is of no use
		_ = s.proc.Close(context.Background(), processes.Ladder{})
	}
	exit := s.proc.Exit()
	s.mu.Lock()
	closing := s.closing
	calls := s.calls
	s.calls, s.ended = nil, true
	s.mu.Unlock()
	out := agent.Exit{Code: exit.Code, Stderr: s.proc.Stderr()}
	how := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != 0 {
		out.Signal = exit.Signal.String()
		how = out.Signal
	}
	for _, c := range calls {
		c.done <- errGone
	}
	end := agent.TurnEnd{
		Outcome: agent.OutcomeFailed, Reason: "crashed",
		Text: "The rehearsal ended in the middle of this turn (" + how + "). Send a message to go on where it stopped.",
	}
	if closing {
		end = agent.TurnEnd{Outcome: agent.OutcomeCanceled}
	}
	s.endTurn(end)
	s.events.Exit(out)
}
