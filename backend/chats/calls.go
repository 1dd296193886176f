package chats

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Get returns a chat at its tail. Each mark is called between what the snapshot
// holds and the first event that is not in it.
func (m *Manager) Get(ctx context.Context, id string, marks ...func()) (out model.Chat, err error) {
	err = m.with(ctx, id, func(c *chat) error {
		if out, err = c.snapshot(ctx); err != nil {
			return err
		}
		for _, mark := range marks {
			mark()
		}
		return nil
	})
	return out, err
}

// Rows returns at most limit rows before a place (0: the end) or, with after >
// 0, after one, and how many there are in all. Fewer come when they would not
// fit one payload.
func (m *Manager) Rows(ctx context.Context, id string, before, after int64, limit int) (rows []model.Row, total int64, err error) {
	err = m.with(ctx, id, func(c *chat) error {
		if err := c.saveNow(ctx); err != nil {
			c.storeFault(err) // a full disk must not hide what is there
		}
		rows, err = c.rows(ctx, before, after, limit)
		total = c.tl.last
		return err
	})
	return rows, total, err
}

// Content returns a chunk of a field that is shortened in its row.
func (m *Manager) Content(ctx context.Context, id, itemID, field string, offset int64) (text string, next, size int64, err error) {
	err = m.with(ctx, id, func(c *chat) error { return c.saveNow(ctx) })
	if err != nil {
		return "", 0, 0, err
	}
	text, next, size, err = m.o.Store.Content(ctx, id, itemID, field, offset)
	return text, next, size, typed(err)
}

// Send accepts a prompt: it is durable when Send returns.
func (m *Manager) Send(ctx context.Context, r SendRequest) (Sent, error) {
	c, err := m.chat(ctx, r.ChatID)
	if err != nil {
		return Sent{}, err
	}
	out := make(chan sendAnswer, 1)
	if err := c.do(ctx, func() { c.send(r, out) }); err != nil {
		return Sent{}, err
	}
	return await(ctx, c, out, func(a sendAnswer) (Sent, error) { return a.sent, a.err })
}

func await[A, R any](ctx context.Context, c *chat, out chan A, get func(A) (R, error)) (zero R, _ error) {
	select {
	case a := <-out:
		return get(a)
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	case <-c.done:
	}
	select {
	case a := <-out:
		return get(a)
	default:
		return zero, Fail(CodeUnavailable, "The chat was closed.")
	}
}

// StopTurn stops the running turn, or tries the cancel again that is owed. What
// waits in the queue stays there until a person goes on.
func (m *Manager) StopTurn(ctx context.Context, id string) (s Stopped, err error) {
	err = m.with(ctx, id, func(c *chat) error {
		s = c.stop(true)
		return nil
	})
	return s, err
}

// Set changes a setting. Those that let the agent act without asking (mode,
// features, the automatic mode) are a person's to change.
func (m *Manager) Set(ctx context.Context, who Caller, id, name string, value json.RawMessage) (model.ChatSummary, *agent.Notice, error) {
	if name == "mode" || name == "autoMode" || strings.HasPrefix(name, "feature:") {
		if err := m.o.MayAnswer(who); err != nil {
			return model.ChatSummary{}, nil, err
		}
	}
	c, err := m.chat(ctx, id)
	if err != nil {
		return model.ChatSummary{}, nil, err
	}
	out := make(chan setAnswer, 1)
	if err := c.do(ctx, func() { c.set(name, value, out) }); err != nil {
		return model.ChatSummary{}, nil, err
	}
	n, err := await(ctx, c, out, func(a setAnswer) (*agent.Notice, error) { return a.notice, a.err })
	s, _ := m.Summary(id)
	return s, n, err
}

// EditQueue changes a waiting prompt.
func (m *Manager) EditQueue(ctx context.Context, q QueueEdit) (list []model.QueueEntry, err error) {
	err = m.with(ctx, q.ChatID, func(c *chat) error {
		list, err = c.edit(q)
		return err
	})
	return list, err
}

// Fork copies the chat's session into a new chat.
func (m *Manager) Fork(ctx context.Context, id string) (model.ChatSummary, error) {
	rel, busy, err := m.Inspect(ctx, id)
	if err != nil {
		return model.ChatSummary{}, err
	}
	h, _, _ := m.o.Harnesses.Harness(rel.Harness)
	f, ok := h.Provider.(agent.Forker)
	switch {
	case !ok:
		return model.ChatSummary{}, Fail(CodeUnsupported, "%s cannot copy a session.", h.Identity.DisplayName)
	case rel.Handle.NativeID == "":
		return model.ChatSummary{}, Fail(CodeUnsupported, "This chat has no session to copy yet.")
	case busy:
		return model.ChatSummary{}, Fail(CodeBusy, "Copying waits for the end of the turn.")
	}
	copied, err := f.Fork(ctx, rel.Handle)
	if err != nil {
		return model.ChatSummary{}, &Error{Code: CodeUnsupported, Message: "The session could not be copied: " + err.Error(), cause: err}
	}
	s, _ := m.Summary(id)
	return m.Create(ctx, CreateRequest{ClientID: uuid.NewString(), Harness: rel.Harness, Cwd: rel.Cwd, Title: s.Title + " (copy)",
		Model: rel.Model, Mode: rel.Mode, Thinking: rel.Thinking, Adopt: &copied})
}

// CloseChat ends the chat's agent. The chat stays and can be gone on with.
func (m *Manager) CloseChat(ctx context.Context, id string) error {
	c, err := m.chat(ctx, id)
	if err != nil {
		return err
	}
	var gone chan struct{}
	if err := c.do(ctx, func() {
		c.held = len(c.queue) > 0
		c.step(hapKill)
		if c.previous != nil {
			gone = c.previous.gone
		}
	}); err != nil || gone == nil {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Remove ends the chat's agent and deletes everything of the chat. The agent's
// own session stays with the agent.
func (m *Manager) Remove(ctx context.Context, id string) error {
	c, err := m.chat(ctx, id)
	if err != nil {
		return err
	}
	if err := c.do(ctx, func() {
		c.removed = true
		c.step(hapKill)
	}); err != nil {
		return err
	}
	select {
	case <-c.done:
	case err := <-c.stay:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.work.Wait()
	err = m.o.Store.DeleteChat(ctx, id)
	if err == nil {
		m.o.Removed(id)
	}
	m.mu.Lock()
	delete(m.chats, id)
	delete(m.listed, id)
	delete(m.asked, id)
	m.mu.Unlock()
	m.o.Publisher.Publish(topicChats, eventRemove, Removed{IDs: []string{id}})
	return typed(err)
}

// Seen says that a person looked at the chat.
func (m *Manager) Seen(ctx context.Context, id string) error {
	return m.with(ctx, id, func(c *chat) error {
		if c.rec.Unread {
			c.rec.Unread = false
			c.saveRecord()
			c.refresh()
		}
		return nil
	})
}

// Approvals lists the cards that are not settled, of all chats.
func (m *Manager) Approvals() []model.ApprovalCard {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []model.ApprovalCard{}
	for _, cards := range m.asked {
		list = append(list, cards...)
	}
	slices.SortFunc(list, func(a, b model.ApprovalCard) int {
		if a.At != b.At {
			return int(a.At - b.At)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Answer gives a person's answer to a card. won is false when another came
// first; card then has the one that won. A caller who is no person is refused,
// and the attempt is on the card.
func (m *Manager) Answer(ctx context.Context, who Caller, r Answer) (won bool, card model.ApprovalCard, err error) {
	if r.ChatID == "" {
		found, err := m.o.Store.Approval(ctx, "", r.ApprovalID)
		if err != nil {
			return false, card, typed(err)
		}
		r.ChatID = found.ChatID
	}
	denied := m.o.MayAnswer(who)
	err = m.with(ctx, r.ChatID, func(c *chat) error {
		if denied != nil {
			c.refused(r.ApprovalID, who)
			return denied
		}
		won, card, err = c.answerCard(who, r)
		return err
	})
	return won, card, err
}
