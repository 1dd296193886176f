package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// lineageBound ends a walk along ids; longer chains are damaged data.
const lineageBound = 256

// Alias records that one conversation continues under a new native id. Both
// ids stay in one lineage; a step that would close a circle turns it round (a
// session that goes back to an earlier id).
func (s *Store) Alias(ctx context.Context, harness, oldID, newID string) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.Alias(harness, oldID, newID) })
}

// Tip returns the newest native id of the lineage of id (id itself when there
// is none).
func (s *Store) Tip(ctx context.Context, harness, id string) (string, error) {
	return tip(ctx, s.read(), harness, id)
}

// Aliases returns the older ids that lead to id, nearest first.
func (s *Store) Aliases(ctx context.Context, harness, id string) ([]string, error) {
	return texts(ctx, s.read(), `WITH RECURSIVE older(id, step) AS (
SELECT old_id, 1 FROM lineage WHERE harness = ? AND new_id = ?
UNION SELECT l.old_id, o.step + 1 FROM lineage l JOIN older o ON l.new_id = o.id WHERE l.harness = ? AND o.step < 256)
SELECT DISTINCT id FROM older ORDER BY step, id`, harness, id, harness)
}

// Lineage returns every step of a harness: old id -> new id.
func (s *Store) Lineage(ctx context.Context, harness string) (map[string]string, error) {
	m := map[string]string{}
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var o, n string
		err := r.Scan(&o, &n)
		m[o] = n
		return err
	}, "SELECT old_id, new_id FROM lineage WHERE harness = ?", harness)
	return m, err
}

func (tx *Tx) Alias(harness, oldID, newID string) error {
	if oldID == newID {
		return nil
	}
	if oldID == "" || newID == "" {
		return fmt.Errorf("an empty session id: %w", ErrConflict)
	}
	// The new id is the tip from now on.
	if err := tx.exec("DELETE FROM lineage WHERE harness = ? AND old_id = ?", harness, newID); err != nil {
		return err
	}
	// The end of the old chain leads to it, so that no branch of the lineage is
	// cut off.
	end, err := tip(context.Background(), tx, harness, oldID)
	if err != nil {
		return err
	}
	if end == newID {
		return nil
	}
	return tx.exec("INSERT OR REPLACE INTO lineage(harness, old_id, new_id, at) VALUES(?,?,?,?)", harness, end, newID, tx.now().UnixMilli())
}

func tip(ctx context.Context, q querier, harness, id string) (string, error) {
	for range lineageBound {
		var next string
		err := one(ctx, q, []any{&next}, "SELECT new_id FROM lineage WHERE harness = ? AND old_id = ?", harness, id)
		if errors.Is(err, ErrNotFound) {
			return id, nil
		}
		if err != nil {
			return "", err
		}
		id = next
	}
	return id, nil
}
