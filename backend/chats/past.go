package chats

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Past lists the requests of a chat that have ended, newest first, at most limit
// (100 when 0, 500 at most) of those asked before (epoch milliseconds; 0 is no
// bound); more says that there are older ones. Those that wait for the agent's
// acknowledgement are the chat's own to show.
func (m *Manager) Past(ctx context.Context, id string, before int64, limit int) (list []model.ApprovalCard, more bool, err error) {
	if limit <= 0 || limit > 500 {
		limit = 100
	}
	list, more, err = m.o.Store.PastApprovals(ctx, id, before, limit)
	for i := range list {
		list[i] = shownCard(list[i])
	}
	return list, more, typed(err)
}
