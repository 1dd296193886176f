package chats

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// spent keeps what the turn used, without waiting for it. What an agent reports of
// one answer again replaces what it said before (case T10).
func (c *chat) spent(u agent.Usage) {
	u.Context, u.Windows = nil, nil // of a moment, not of a turn
	id, n := c.id, c.turn.n
	_ = c.m.o.Store.Send(func(tx *store.Tx) error { return tx.PutUsage(id, n, u) }, func(err error) {
		if err != nil {
			c.m.o.Log.Error("what a turn used could not be stored", "chat", id, "err", err)
		}
	})
}

// usageTurns is how many turns an answer lists.
const usageTurns = 50

// Usage is what a chat used, in all and by turn.
func (m *Manager) Usage(ctx context.Context, id string) (out model.ChatUsage, err error) {
	err = m.with(ctx, id, func(c *chat) error {
		if u := c.rec.Usage; u != nil {
			out.Context, out.Windows = u.Context, u.Windows
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	turns, err := m.o.Store.Usage(ctx, id)
	if err != nil {
		return out, typed(err)
	}
	for _, t := range turns {
		store.AddUsage(&out.Total, t.Usage)
	}
	out.Count, out.Estimate = len(turns), out.Total.CostUSD > 0
	out.Turns = turns[:min(len(turns), usageTurns)]
	return out, nil
}
