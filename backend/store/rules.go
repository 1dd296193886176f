package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/whippletree-app/whippletree/backend/model"
)

// PutRule stores an "always" of ours.
func (s *Store) PutRule(ctx context.Context, r model.ApprovalRule) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.PutRule(r) })
}

// RemoveRule revokes a rule; ErrNotFound.
func (s *Store) RemoveRule(ctx context.Context, id string) error {
	return s.Do(ctx, func(tx *Tx) error {
		n, err := tx.changed("DELETE FROM rules WHERE id = ?", id)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
}

// Rules lists all rules, the oldest first.
func (s *Store) Rules(ctx context.Context) ([]model.ApprovalRule, error) {
	var list []model.ApprovalRule
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var a model.ApprovalRule
		err := r.Scan(&a.ID, &a.Project, &a.Harness, &a.Tool, &a.Pattern, &a.At)
		list = append(list, a)
		return err
	}, "SELECT id, project, harness, tool, pattern, at FROM rules ORDER BY at, id")
	return list, err
}

// PutRule inside the transaction: with the winning answer, or not at all.
func (tx *Tx) PutRule(r model.ApprovalRule) error {
	return tx.exec("INSERT OR REPLACE INTO rules(id, project, harness, tool, pattern, at) VALUES(?,?,?,?,?,?)", r.ID, r.Project, r.Harness, r.Tool, r.Pattern, r.At)
}

// Trust of a folder: trusted, untrusted or "" (never asked). It is by the exact
// folder; who asks walks up to the project root.
func (s *Store) Trust(ctx context.Context, folder string) (state string, err error) {
	err = one(ctx, s.read(), []any{&state}, "SELECT state FROM trust WHERE folder = ?", folder)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return state, err
}

// SetTrust stores the person's decision; "" forgets it.
func (s *Store) SetTrust(ctx context.Context, folder, state string) error {
	return s.Do(ctx, func(tx *Tx) error {
		if state == "" {
			return tx.exec("DELETE FROM trust WHERE folder = ?", folder)
		}
		return tx.exec("INSERT OR REPLACE INTO trust(folder, state, at) VALUES(?,?,?)", folder, state, tx.now().UnixMilli())
	})
}

// TrustedFolders returns every decision by folder.
func (s *Store) TrustedFolders(ctx context.Context) (map[string]string, error) {
	m := map[string]string{}
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var folder, state string
		err := r.Scan(&folder, &state)
		m[folder] = state
		return err
	}, "SELECT folder, state FROM trust")
	return m, err
}
