package claudecode

import (
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// resultMessage is the end of a turn.
type resultMessage struct {
	Subtype        string                `json:"subtype"`
	IsError        bool                  `json:"is_error"`
	Result         string                `json:"result"`
	Errors         []string              `json:"errors"`
	StopReason     string                `json:"stop_reason"`
	TerminalReason string                `json:"terminal_reason"`
	APIErrorStatus int                   `json:"api_error_status"`
	Usage          *usage                `json:"usage"`
	TotalCost      float64               `json:"total_cost_usd"`
	ModelUsage     map[string]modelUsage `json:"modelUsage"`
	SessionID      string                `json:"session_id"`
	Origin         origin                `json:"origin"`
}

type modelUsage struct {
	ContextWindow int `json:"contextWindow"`
}

func (s *session) result(data []byte) {
	var m resultMessage
	if err := lenient(data, &m); err != nil {
		m = resultMessage{IsError: true, Result: "Claude Code's last answer cannot be read"}
	}
	s.usage(&m)
	s.mu.Lock()
	own, prompt := s.own, s.prompt
	s.mu.Unlock()
	switch {
	case own != nil && (prompt == nil || !prompt.started || m.Origin.Kind == "task-notification"):
		s.endOwn(own, s.outcome(&m, own)) // began before the prompt and ends before it
	case prompt != nil && !prompt.started && m.Origin.Kind == "task-notification":
		// The program first took note of a sub-agent; what was asked comes after it.
	case prompt != nil:
		if own != nil { // only a sub-agent was heard of between the turns
			s.endOwn(own, agent.TurnEnd{Outcome: agent.OutcomeCompleted})
		}
		s.endPrompt(prompt, s.outcome(&m, prompt))
	}
}

// outcome reads how a turn ended: "success" says nothing, the error flag, the
// terminal reason and the status do.
func (s *session) outcome(m *resultMessage, t *turn) agent.TurnEnd {
	s.mu.Lock()
	canceling := t.canceling
	s.mu.Unlock()
	aborted := strings.HasPrefix(m.TerminalReason, "aborted")
	switch {
	case aborted, canceling && m.Subtype == "error_during_execution":
		return agent.TurnEnd{Outcome: agent.OutcomeCanceled}
	case m.StopReason == "refusal":
		return agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "refused", Text: or(m.Result, "The model refused to answer.")}
	case !m.IsError && m.Subtype != "error_during_execution":
		return agent.TurnEnd{Outcome: agent.OutcomeCompleted}
	}
	end := agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: or(m.Result, strings.Join(m.Errors, "; "), m.Subtype)}
	switch st := m.APIErrorStatus; {
	case st == 401 || st == 403:
		end.Reason, end.Fix = "not_signed_in", signInCommand
	case st == 429:
		end.Reason = "rate_limit"
	case st == 529:
		end.Reason = "overloaded"
	case st >= 500:
		end.Reason = "server_error"
	default:
		end.Reason = or(faults[s.fault], end.Reason)
		if end.Reason == "not_signed_in" {
			end.Fix = signInCommand
		}
	}
	return end
}

// faults are the program's words for errors that come without a status.
var faults = map[string]string{
	"authentication_failed": "not_signed_in", "oauth_org_not_allowed": "not_signed_in", "cloud_credential_error": "not_signed_in",
	"rate_limit": "rate_limit", "overloaded": "overloaded", "server_error": "server_error",
}

func (s *session) usage(m *resultMessage) {
	if m.Usage == nil {
		return
	}
	u := agent.Usage{
		Input: m.Usage.Input, Output: m.Usage.Output, CacheRead: m.Usage.CacheRead, CacheWrite: m.Usage.CacheWrite,
		CostUSD: max(0, m.TotalCost-s.cost),
	}
	s.cost = m.TotalCost
	if last := s.lastUse; last != nil {
		window := 0
		for _, mu := range m.ModelUsage {
			window = max(window, mu.ContextWindow)
		}
		if window > 0 {
			u.Context = &agent.ContextUse{Used: last.Input + last.Output + last.CacheRead + last.CacheWrite, Max: window}
		}
		s.lastUse = nil
	}
	s.mu.Lock()
	u.Windows = s.planWindows()
	s.spent = u
	s.mu.Unlock()
	s.events.Usage(u)
}

// settle closes what is still open of a turn that ends.
func (s *session) settle(outcome agent.Outcome) {
	now := s.host.Time().UnixMilli()
	state := agent.StateCanceled
	if outcome == agent.OutcomeFailed {
		state = agent.StateFailed
	}
	for _, st := range s.streams {
		for _, p := range st.shown {
			it := p.whole(p.text.String(), now)
			it.Truncated = outcome == agent.OutcomeFailed // a person who stopped it knows
			s.events.Item(it)
		}
	}
	clear(s.streams)
	clear(s.streaks)
	s.fault = ""
	s.compacted(state, "")
	s.rows.closeOpen(state, now)
	s.withdrawAll()
}

func (s *session) endPrompt(t *turn, end agent.TurnEnd) {
	s.settle(end.Outcome)
	s.wrote()
	s.mu.Lock()
	if s.prompt == t {
		s.prompt = nil
	}
	s.mu.Unlock()
	t.end = end
	close(t.done)
}

func (s *session) endOwn(t *turn, end agent.TurnEnd) {
	s.settle(end.Outcome)
	s.mu.Lock()
	s.own = nil
	s.mu.Unlock()
	s.events.Turn(agent.TurnEvent{Origin: agent.OriginAgent, End: &end})
	t.end = end
	close(t.done)
}

// exit reports the end of the process; whatever was open ends with it.
func (s *session) exit() {
	<-s.proc.Done()
	e := s.proc.Exit()
	s.mu.Lock()
	s.exited = true
	closing, prompt, own, opened, breach := s.closing, s.prompt, s.own, s.opened, s.breach
	s.mu.Unlock()
	stderr := s.proc.Stderr()
	end := func(t *turn) agent.TurnEnd {
		if breach != nil {
			return agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: breach.Error()}
		}
		if closing || t.canceling {
			return agent.TurnEnd{Outcome: agent.OutcomeCanceled}
		}
		text := "Claude Code ended in the middle of the turn (" + e.String() + ")."
		return agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "crashed", Text: text}
	}
	s.rows.lost(s.host.Time().UnixMilli())
	if own != nil {
		s.endOwn(own, end(own))
	}
	if prompt != nil {
		s.endPrompt(prompt, end(prompt))
	}
	s.withdrawAll()
	if !opened {
		return
	}
	s.wrote()
	out := agent.Exit{Code: e.Code, Stderr: stderr}
	if e.Signal != 0 {
		out.Signal = e.Signal.String()
	}
	s.events.Exit(out)
	if noise, n := s.proc.NoiseLines(); n > 0 {
		s.host.Logger().Info("Claude Code printed lines that are no messages", "count", n, "kept", len(noise))
	}
}
