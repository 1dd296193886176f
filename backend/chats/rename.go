package chats

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// tellTitle gives the title that a person chose to the agent's own session, so
// that it has one name in the agent's list and here. An agent that sleeps or has
// stored nothing yet hears of it at the end of its next turn. It is the person's
// title here whether the agent takes it or not.
func (c *chat) tellTitle() {
	title, l := c.rec.Title, c.live
	if !c.extra.Titled || c.extra.ToldTitle == title || c.turn.n == 0 || l == nil || l.session == nil || l.exit != nil {
		return
	}
	r, ok := l.session.(agent.Renamer)
	if !ok {
		return
	}
	c.call(l, func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, inspectBound)
		defer cancel()
		return nil, r.Rename(ctx, title)
	}, func(_ any, err error) {
		if err != nil {
			c.m.o.Log.Warn("the agent did not take a title", "chat", c.id, "err", err)
			return
		}
		c.extra.ToldTitle = title
		c.saveRecord()
	})
}
