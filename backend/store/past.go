package store

import (
	"context"
	"math"

	"github.com/whippletree-app/whippletree/backend/model"
)

// PastApprovals lists the cards of a chat that are not open, newest first, at
// most limit of those asked before (epoch milliseconds; 0 is no bound); more says
// that there are older ones. Of a request that was asked anew every revision is
// a card of its own.
func (s *Store) PastApprovals(ctx context.Context, chatID string, before int64, limit int) (list []model.ApprovalCard, more bool, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	list, err = cards(ctx, s.read(), "c.id = ? AND a.state <> 'open' AND a.at < ? ORDER BY a.at DESC, a.rowid DESC LIMIT ?", chatID, before, limit+1)
	if len(list) > limit {
		list, more = list[:limit], true
	}
	return list, more, err
}
