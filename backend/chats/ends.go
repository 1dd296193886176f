package chats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// explain adds to a failed start what the provider knows of why it cannot run
// and the command that helps.
func explain(ctx context.Context, h agent.Harness, err error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	a, aerr := h.Provider.Availability(ctx)
	if aerr != nil || a.Available || ctx.Err() != nil {
		return err
	}
	return &unavailable{a, err}
}

type unavailable struct {
	agent.Availability
	cause error
}

func (u *unavailable) Error() string { return u.cause.Error() }
func (u *unavailable) Unwrap() error { return u.cause }

func openEnd(err error) agent.TurnEnd {
	end := agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: "The agent could not be started."}
	var e *Error
	var u *unavailable
	switch {
	case errors.As(err, &u):
		end.Reason, end.Fix = string(u.Reason), u.Detail
		end.Text = "The agent could not be started: " + u.Error()
	case errors.As(err, &e):
		end.Text, end.Fix = e.Message, e.Fix
	case err != nil:
		end.Text = "The agent could not be started: " + err.Error()
	}
	return end
}

// sane keeps an end inside the closed set; interrupted is the host's word.
func sane(end agent.TurnEnd) agent.TurnEnd {
	switch end.Outcome {
	case agent.OutcomeCompleted, agent.OutcomeCanceled:
		return end
	case agent.OutcomeFailed:
		if end.Reason == "" {
			end.Reason = "failed"
		}
		return end
	}
	return agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: end.Text}
}

func (c *chat) canceledEnd() agent.TurnEnd {
	if c.ending {
		return agent.TurnEnd{Outcome: agent.OutcomeInterrupted, Text: "Whippletree was ended while the agent was working."}
	}
	end := agent.TurnEnd{Outcome: agent.OutcomeCanceled}
	switch c.phase {
	case phStuck:
		end.Text = c.owedErr
	case phShared:
		end.Text = "The agent did not stop in time. Its server is not ended for one chat, because others use it."
	}
	return end
}

// killedEnd is the end of a turn that came while its process was being ended.
func (c *chat) killedEnd() agent.TurnEnd {
	if c.turn.end.Outcome == agent.OutcomeCompleted {
		return c.turn.end
	}
	return c.canceledEnd()
}

func (c *chat) crashedEnd() agent.TurnEnd {
	end := agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "crashed", Text: "The agent's process ended in the middle of the turn."}
	if c.live != nil && c.live.exit != nil {
		end.Text = exitText(*c.live.exit)
	}
	return end
}

func exitText(e agent.Exit) string {
	how := fmt.Sprintf("with code %d", e.Code)
	if e.Signal != "" {
		how = "by " + e.Signal
	}
	text := "The agent's process ended " + how + "."
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		if len(last) > 400 {
			last = string(wholeRunes([]byte(last[:400])))
		}
		text += " It said: " + last
	}
	return text
}
