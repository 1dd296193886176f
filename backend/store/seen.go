package store

import (
	"context"
	"database/sql"

	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Acknowledge notes that a person saw the end of a session at a time (epoch
// milliseconds). An older one never replaces a newer.
func (s *Store) Acknowledge(ctx context.Context, key model.SessionKey, at int64) error {
	return s.Do(ctx, func(tx *Tx) error {
		return tx.exec(`INSERT INTO acknowledged(harness, native_id, at) VALUES(?,?,?)
ON CONFLICT DO UPDATE SET at = MAX(at, excluded.at)`, key.Harness, key.ID, at)
	})
}

// Acknowledged returns every acknowledgement that is not older than since.
func (s *Store) Acknowledged(ctx context.Context, since int64) (map[model.SessionKey]int64, error) {
	m := map[model.SessionKey]int64{}
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var k model.SessionKey
		var at int64
		err := r.Scan(&k.Harness, &k.ID, &at)
		m[k] = at
		return err
	}, "SELECT harness, native_id, at FROM acknowledged WHERE at >= ?", since)
	return m, err
}

// ForgetAcknowledged drops those older than before.
func (s *Store) ForgetAcknowledged(ctx context.Context, before int64) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.exec("DELETE FROM acknowledged WHERE at < ?", before) })
}

// PutEnded keeps the row of a session whose process ended and that nobody
// acknowledged, so that it is still there after a restart of the host.
func (s *Store) PutEnded(ctx context.Context, row model.Session) error {
	body, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return s.Do(ctx, func(tx *Tx) error {
		return tx.exec("INSERT OR REPLACE INTO ended(harness, native_id, at, body) VALUES(?,?,?,?)", row.Key.Harness, row.Key.ID, row.EndedAt, string(body))
	})
}

// RemoveEnded forgets such a row.
func (s *Store) RemoveEnded(ctx context.Context, key model.SessionKey) error {
	return s.Do(ctx, func(tx *Tx) error {
		return tx.exec("DELETE FROM ended WHERE harness = ? AND native_id = ?", key.Harness, key.ID)
	})
}

// Ended lists those rows, newest first.
func (s *Store) Ended(ctx context.Context) ([]model.Session, error) {
	var list []model.Session
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var body string
		if err := r.Scan(&body); err != nil {
			return err
		}
		var row model.Session
		err := json.Unmarshal([]byte(body), &row)
		list = append(list, row)
		return err
	}, "SELECT body FROM ended ORDER BY at DESC")
	return list, err
}
