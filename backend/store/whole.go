package store

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/model"
)

// WholeAfter is After with whole rows, however large they are.
func (s *Store) WholeAfter(ctx context.Context, chatID string, after int64, limit int) ([]model.Row, error) {
	return rowsOf(ctx, s.read(), true, selectRow+"AND r.seq > ? ORDER BY r.seq LIMIT ?", chatID, after, limit)
}

// ChatApprovals lists every card of a chat in the order in which they were
// asked.
func (s *Store) ChatApprovals(ctx context.Context, chatID string) ([]model.ApprovalCard, error) {
	return cards(ctx, s.read(), "c.id = ? ORDER BY a.at, a.rowid", chatID)
}
