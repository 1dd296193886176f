package store

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Edits returns the settled rows of a chat whose tool writes files, whole and in
// order: those of one turn, or with turn < 0 of all; at most limit after a place.
func (s *Store) Edits(ctx context.Context, chatID string, turn, after int64, limit int) ([]model.Row, error) {
	return rowsOf(ctx, s.read(), true, selectRow+`AND r.seq > ? AND (? < 0 OR r.turn = ?) AND r.open = 0
AND json_extract(r.item, '$.kind') IN ('edit', 'write') ORDER BY r.seq LIMIT ?`, chatID, after, turn, turn, limit)
}
