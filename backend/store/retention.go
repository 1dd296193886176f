package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/model"
)

// When a chat was archived. It stands beside the record, so that nobody who
// rewrites a record moves it.
const keepStep = `
ALTER TABLE chats ADD COLUMN archived_at INTEGER NOT NULL DEFAULT 0;
UPDATE chats SET archived_at = updated_at WHERE archived = 1;
CREATE INDEX chats_archived ON chats(archived_at) WHERE archived = 1;
CREATE TRIGGER chats_archive AFTER UPDATE OF archived ON chats WHEN NEW.archived <> OLD.archived BEGIN
  UPDATE chats SET archived_at = CASE NEW.archived WHEN 1 THEN CAST(unixepoch('subsec') * 1000 AS INTEGER) ELSE 0 END WHERE k = NEW.k;
END;
CREATE TRIGGER chats_archived_new AFTER INSERT ON chats WHEN NEW.archived = 1 BEGIN
  UPDATE chats SET archived_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE k = NEW.k;
END;
`

// keptRemovals is how many removals a person can still see.
const keptRemovals = 500

// ArchivedChat is an archived chat and since when it is, in epoch milliseconds.
type ArchivedChat struct {
	ID string
	At int64
}

// ArchivedChats lists the archived chats, those archived first coming first.
func (s *Store) ArchivedChats(ctx context.Context) ([]ArchivedChat, error) {
	var list []ArchivedChat
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var a ArchivedChat
		err := r.Scan(&a.ID, &a.At)
		list = append(list, a)
		return err
	}, "SELECT id, archived_at FROM chats WHERE archived = 1 ORDER BY archived_at, k")
	return list, err
}

// NoteRemoved keeps that retention removed a chat; only the last ones are kept.
func (s *Store) NoteRemoved(ctx context.Context, r model.RemovedChat) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.Do(ctx, func(tx *Tx) error {
		if err := tx.exec("INSERT INTO removed(chat_id, at, body) VALUES(?,?,?)", r.ChatID, r.At, string(body)); err != nil {
			return err
		}
		return tx.exec("DELETE FROM removed WHERE id <= (SELECT MAX(id) FROM removed) - ?", keptRemovals)
	})
}

// RemovedChats lists what retention removed, the last first.
func (s *Store) RemovedChats(ctx context.Context, limit int) ([]model.RemovedChat, error) {
	var list []model.RemovedChat
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var body string
		if err := r.Scan(&body); err != nil {
			return err
		}
		var x model.RemovedChat
		err := json.Unmarshal([]byte(body), &x)
		list = append(list, x)
		return err
	}, "SELECT body FROM removed ORDER BY id DESC LIMIT ?", limit)
	return list, err
}

// ForgetRemoved empties that list.
func (s *Store) ForgetRemoved(ctx context.Context) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.exec("DELETE FROM removed") })
}
