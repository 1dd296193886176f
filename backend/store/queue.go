package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Enqueue stores a prompt at the end of the queue. A prompt with a known client
// id is not stored again: the known one comes back with fresh=false, also after
// it was accepted or removed (then without its text).
func (s *Store) Enqueue(ctx context.Context, chatID string, e model.QueueEntry) (stored model.QueueEntry, fresh bool, err error) {
	err = s.Do(ctx, func(tx *Tx) error {
		stored, fresh, err = tx.Enqueue(chatID, e)
		return err
	})
	return stored, fresh, err
}

// SetQueueState moves an entry on. Accepted entries leave the queue, and keep
// only what makes a repeated request harmless. ErrNotFound.
func (s *Store) SetQueueState(ctx context.Context, chatID, clientID string, state model.QueueState, fault string) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.SetQueueState(chatID, clientID, state, fault) })
}

// Requeue puts a prompt back that was accepted, with its text; ErrNotFound when it
// was never there, ErrConflict when it waits.
func (s *Store) Requeue(ctx context.Context, chatID string, e model.QueueEntry) error {
	return s.DoUrgent(ctx, func(tx *Tx) error {
		return tx.changeQueued(chatID, e.ClientID, func(old *model.QueueEntry) error {
			if old.State != model.QueueAccepted {
				return fmt.Errorf("the prompt is %s: %w", old.State, ErrConflict)
			}
			*old = e
			return nil
		})
	})
}

// ClaimQueued moves an entry from queued to sending; ErrConflict when it is not
// queued any more (edited away, removed or already taken).
func (s *Store) ClaimQueued(ctx context.Context, chatID, clientID string) (e model.QueueEntry, err error) {
	err = s.Do(ctx, func(tx *Tx) error {
		e, err = tx.ClaimQueued(chatID, clientID)
		return err
	})
	return e, err
}

// EditQueued changes the text of an entry that is not being sent; ErrConflict.
func (s *Store) EditQueued(ctx context.Context, chatID, clientID, text string) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.EditQueued(chatID, clientID, text) })
}

// MoveQueued puts an entry before another one, or at the end ("").
func (s *Store) MoveQueued(ctx context.Context, chatID, clientID, before string) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.MoveQueued(chatID, clientID, before) })
}

// RemoveQueued takes an entry out; ErrConflict while it is being sent.
func (s *Store) RemoveQueued(ctx context.Context, chatID, clientID string) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.RemoveQueued(chatID, clientID) })
}

// Queue returns what waits in order: everything that is not accepted.
func (s *Store) Queue(ctx context.Context, chatID string) ([]model.QueueEntry, error) {
	return queueOf(ctx, s.read(), chatID)
}

// CountQueued returns how many prompts wait, by chat id.
func (s *Store) CountQueued(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var id string
		var n int
		err := r.Scan(&id, &n)
		counts[id] = n
		return err
	}, "SELECT c.id, COUNT(*) FROM queue q JOIN chats c ON c.k = q.chat WHERE q.state <> 'accepted' GROUP BY c.id")
	return counts, err
}

// QueueEntry returns one entry, accepted or not; ErrNotFound.
func (s *Store) QueueEntry(ctx context.Context, chatID, clientID string) (model.QueueEntry, error) {
	return queueEntry(ctx, s.read(), chatID, clientID)
}

func (tx *Tx) Enqueue(chatID string, e model.QueueEntry) (model.QueueEntry, bool, error) {
	k, err := tx.key(chatID)
	if err != nil {
		return model.QueueEntry{}, false, err
	}
	old, err := queueEntry(context.Background(), tx, chatID, e.ClientID)
	if !errors.Is(err, ErrNotFound) {
		return old, false, err
	}
	if e.ClientID == "" {
		return model.QueueEntry{}, false, errors.New("a prompt needs a client id")
	}
	if e.State == "" {
		e.State = model.QueueQueued
	}
	body, err := json.Marshal(e)
	if err != nil {
		return model.QueueEntry{}, false, err
	}
	return e, true, tx.exec(`INSERT INTO queue(chat, client_id, pos, state, body)
VALUES(?,?,(SELECT COALESCE(MAX(pos), 0) + 1 FROM queue WHERE chat = ?),?,?)`, k, e.ClientID, k, string(e.State), string(body))
}

func (tx *Tx) SetQueueState(chatID, clientID string, state model.QueueState, fault string) error {
	return tx.changeQueued(chatID, clientID, func(e *model.QueueEntry) error {
		e.State, e.Error = state, fault
		return nil
	})
}

func (tx *Tx) ClaimQueued(chatID, clientID string) (claimed model.QueueEntry, err error) {
	err = tx.changeQueued(chatID, clientID, func(e *model.QueueEntry) error {
		if e.State != model.QueueQueued {
			return fmt.Errorf("the prompt is %s: %w", e.State, ErrConflict)
		}
		e.State, e.Error = model.QueueSending, ""
		claimed = *e
		return nil
	})
	return claimed, err
}

func (tx *Tx) EditQueued(chatID, clientID, text string) error {
	return tx.changeQueued(chatID, clientID, func(e *model.QueueEntry) error {
		if e.State == model.QueueSending || e.State == model.QueueAccepted {
			return fmt.Errorf("the prompt is %s: %w", e.State, ErrConflict)
		}
		e.Text = text
		return nil
	})
}

func (tx *Tx) RemoveQueued(chatID, clientID string) error {
	e, err := queueEntry(context.Background(), tx, chatID, clientID)
	if err != nil {
		return err
	}
	if e.State == model.QueueSending || e.State == model.QueueAccepted {
		return fmt.Errorf("the prompt is %s: %w", e.State, ErrConflict)
	}
	// Its id stays: the same request once more is the removed one.
	return tx.changeQueued(chatID, clientID, func(e *model.QueueEntry) error {
		e.State, e.Error = model.QueueAccepted, removedText
		return nil
	})
}

// removedText is the error of an entry that was taken out.
const removedText = "It was taken out of the queue."

func (tx *Tx) MoveQueued(chatID, clientID, before string) error {
	list, err := queueOf(context.Background(), tx, chatID)
	if err != nil {
		return err
	}
	from := slices.IndexFunc(list, func(e model.QueueEntry) bool { return e.ClientID == clientID })
	if from < 0 {
		return fmt.Errorf("queued prompt %s: %w", clientID, ErrNotFound)
	}
	if clientID == before {
		return nil
	}
	moved := list[from]
	list = slices.Delete(list, from, from+1)
	to := len(list)
	if before != "" {
		if to = slices.IndexFunc(list, func(e model.QueueEntry) bool { return e.ClientID == before }); to < 0 {
			return fmt.Errorf("queued prompt %s: %w", before, ErrNotFound)
		}
	}
	for i, e := range slices.Insert(list, to, moved) {
		if err := tx.exec("UPDATE queue SET pos = ? WHERE chat = (SELECT k FROM chats WHERE id = ?) AND client_id = ?", i+1, chatID, e.ClientID); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) changeQueued(chatID, clientID string, change func(*model.QueueEntry) error) error {
	e, err := queueEntry(context.Background(), tx, chatID, clientID)
	if err != nil {
		return err
	}
	if err := change(&e); err != nil {
		return err
	}
	if e.State == model.QueueAccepted {
		e.Text, e.Attachments = "", nil // the user row has them
	}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return tx.exec("UPDATE queue SET state = ?, body = ? WHERE chat = (SELECT k FROM chats WHERE id = ?) AND client_id = ?", string(e.State), string(body), chatID, clientID)
}

func queueEntry(ctx context.Context, q querier, chatID, clientID string) (model.QueueEntry, error) {
	var body string
	err := one(ctx, q, []any{&body}, "SELECT body FROM queue WHERE chat = (SELECT k FROM chats WHERE id = ?) AND client_id = ?", chatID, clientID)
	if err != nil {
		return model.QueueEntry{}, fmt.Errorf("queued prompt %s: %w", clientID, err)
	}
	var e model.QueueEntry
	return e, json.Unmarshal([]byte(body), &e)
}

func queueOf(ctx context.Context, q querier, chatID string) ([]model.QueueEntry, error) {
	var list []model.QueueEntry
	err := each(ctx, q, func(r *sql.Rows) error {
		var body string
		if err := r.Scan(&body); err != nil {
			return err
		}
		var e model.QueueEntry
		err := json.Unmarshal([]byte(body), &e)
		list = append(list, e)
		return err
	}, "SELECT q.body FROM queue q JOIN chats c ON c.k = q.chat WHERE c.id = ? AND q.state <> 'accepted' ORDER BY q.pos", chatID)
	return list, err
}
