package chats

import (
	"context"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// inspectBound is how long an agent may take to tell of itself.
const inspectBound = 20 * time.Second

// Status is what a chat's living agent says of itself. Inspection is nil when
// none lives.
type Status struct {
	Agent      agent.AgentInfo
	Inspection *agent.Inspection
}

// Status asks the living agent what it says of itself, also while a turn runs.
// None is started to be asked.
func (m *Manager) Status(ctx context.Context, id string) (Status, error) {
	var s Status
	err := m.ask(ctx, id, func(c *chat, l *link) (func(context.Context) error, error) {
		s.Agent = l.ready.Agent
		i, ok := l.session.(agent.Inspector)
		if !ok {
			return nil, Fail(CodeUnsupported, "This agent tells nothing of itself.")
		}
		return func(ctx context.Context) error {
			got, err := i.Inspect(ctx)
			if err == nil {
				s.Inspection = &got
			}
			return err
		}, nil
	})
	if err != nil {
		return Status{}, err // the agent may still be answering
	}
	return s, nil
}

// CancelItem ends what one running row stands for (Item.Cancelable), such as a
// sub-agent in the background, and nothing else.
func (m *Manager) CancelItem(ctx context.Context, id, itemID string) error {
	asked := false
	err := m.ask(ctx, id, func(c *chat, l *link) (func(context.Context) error, error) {
		asked = true
		i, ok := l.session.(agent.ItemCanceler)
		if !ok {
			return nil, Fail(CodeUnsupported, "This agent cannot stop a single row. Stop the turn instead.")
		}
		return func(ctx context.Context) error { return i.CancelItem(ctx, itemID) }, nil
	})
	if err == nil && !asked {
		return Fail(CodeNotFound, "The agent does not run any more, and neither does what it had started.")
	}
	return err
}

// ask calls the living agent beside the chat's goroutine. Where none lives
// nothing is called and nil returned.
func (m *Manager) ask(ctx context.Context, id string, what func(*chat, *link) (func(context.Context) error, error)) error {
	c, err := m.chat(ctx, id)
	if err != nil {
		return err
	}
	out := make(chan error, 1)
	if err := c.do(ctx, func() {
		if c.session() == nil || c.live.exit != nil {
			out <- nil
			return
		}
		do, err := what(c, c.live)
		if err != nil {
			out <- err
			return
		}
		c.call(c.live, func(ctx context.Context) (any, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, inspectBound, Fail(CodeUnavailable, "The agent does not answer."))
			defer cancel()
			return nil, do(ctx)
		}, func(_ any, err error) {
			if err != nil {
				err = &Error{Code: CodeUnsupported, Message: "The agent did not do it: " + err.Error(), cause: err}
			}
			out <- err
		})
	}); err != nil {
		return err
	}
	_, err = await(ctx, c, out, func(e error) (struct{}, error) { return struct{}{}, e })
	return err
}
