package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// ChatRecord is what is kept of a chat beside its rows, turns, queue and cards.
// Times are epoch milliseconds.
type ChatRecord struct {
	ID string `json:"id"`
	// ClientID makes the creation idempotent; unique where set.
	ClientID  string                     `json:"clientId,omitempty"`
	Title     string                     `json:"title"`
	Harness   string                     `json:"harness"`
	Provider  string                     `json:"provider"`
	Kind      agent.Kind                 `json:"kind"`
	Cwd       string                     `json:"cwd"`
	Handle    *agent.Handle              `json:"handle,omitempty"`
	Aliases   []string                   `json:"aliases,omitempty"`
	Model     string                     `json:"model,omitempty"`
	Mode      string                     `json:"mode,omitempty"`
	Thinking  string                     `json:"thinking,omitempty"`
	Features  map[string]json.RawMessage `json:"features,omitempty"`
	Options   json.RawMessage            `json:"options,omitempty"`
	Agent     agent.AgentInfo            `json:"agent"`
	Abilities []agent.Ability            `json:"abilities,omitempty"`
	Usage     *agent.Usage               `json:"usage,omitempty"`
	AutoMode  *model.AutoMode            `json:"autoMode,omitempty"`

	Hand model.Hand `json:"hand"`
	// Applied is up to where the agent's own transcript is in our rows.
	Applied agent.Position `json:"applied"`
	// Place is where it was last handed to (a terminal's id or app).
	HandPlace string `json:"handPlace,omitempty"`

	LastEnd   *agent.TurnEnd `json:"lastEnd,omitempty"`
	Unread    bool           `json:"unread,omitempty"`
	Archived  bool           `json:"archived,omitempty"`
	CreatedAt int64          `json:"createdAt"`
	UpdatedAt int64          `json:"updatedAt"`
	// Extra is the owner's own, kept as it is.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// CreateChat stores a new chat. When a chat with the same ClientID exists that
// one is returned with fresh=false and nothing is changed. A used ID is
// ErrConflict.
func (s *Store) CreateChat(ctx context.Context, rec ChatRecord) (stored ChatRecord, fresh bool, err error) {
	err = s.Do(ctx, func(tx *Tx) error {
		stored, fresh, err = tx.CreateChat(rec)
		return err
	})
	return stored, fresh, err
}

// PutChat creates or replaces the record of a chat.
func (s *Store) PutChat(ctx context.Context, rec ChatRecord) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.PutChat(rec) })
}

// UpdateChat changes a record; change may run twice.
func (s *Store) UpdateChat(ctx context.Context, id string, change func(*ChatRecord)) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.UpdateChat(id, change) })
}

// DeleteChat removes a chat with everything of it; ErrNotFound.
func (s *Store) DeleteChat(ctx context.Context, id string) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.DeleteChat(id) })
}

// Chat returns one record; ErrNotFound.
func (s *Store) Chat(ctx context.Context, id string) (ChatRecord, error) {
	return chat(ctx, s.read(), "id = ?", id)
}

// ChatByClientID returns the chat that was created for a client's request.
func (s *Store) ChatByClientID(ctx context.Context, clientID string) (ChatRecord, error) {
	return chat(ctx, s.read(), "client_id = ?", clientID)
}

// ChatBySession returns the newest chat of a native session, by its current id
// or by an older one of the same lineage.
func (s *Store) ChatBySession(ctx context.Context, harness, nativeID string) (ChatRecord, error) {
	tip, err := s.Tip(ctx, harness, nativeID)
	if err != nil {
		return ChatRecord{}, err
	}
	rec, err := chat(ctx, s.read(), "harness = ? AND native_id = ? ORDER BY updated_at DESC LIMIT 1", harness, tip)
	if errors.Is(err, ErrNotFound) && tip != nativeID {
		return chat(ctx, s.read(), "harness = ? AND native_id = ? ORDER BY updated_at DESC LIMIT 1", harness, nativeID)
	}
	return rec, err
}

// Chats lists all records, the last updated first.
func (s *Store) Chats(ctx context.Context) ([]ChatRecord, error) {
	var list []ChatRecord
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		rec, err := scanChat(r)
		list = append(list, rec)
		return err
	}, "SELECT body FROM chats ORDER BY updated_at DESC, k DESC")
	return list, err
}

func (tx *Tx) CreateChat(rec ChatRecord) (ChatRecord, bool, error) {
	if rec.ClientID != "" {
		old, err := chat(context.Background(), tx, "client_id = ?", rec.ClientID)
		if err == nil || !errors.Is(err, ErrNotFound) {
			return old, false, err
		}
	}
	if _, err := tx.key(rec.ID); err == nil {
		return ChatRecord{}, false, fmt.Errorf("chat %s exists: %w", rec.ID, ErrConflict)
	} else if !errors.Is(err, ErrNotFound) {
		return ChatRecord{}, false, err
	}
	return rec, true, tx.PutChat(rec)
}

func (tx *Tx) PutChat(rec ChatRecord) error {
	if rec.ID == "" {
		return fmt.Errorf("a chat without an id: %w", ErrConflict)
	}
	body, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	native := ""
	if rec.Handle != nil {
		native = rec.Handle.NativeID
	}
	return tx.exec(`INSERT INTO chats(id, client_id, harness, native_id, archived, updated_at, body) VALUES(?,NULLIF(?,''),?,?,?,?,?)
ON CONFLICT(id) DO UPDATE SET client_id=excluded.client_id, harness=excluded.harness, native_id=excluded.native_id,
archived=excluded.archived, updated_at=excluded.updated_at, body=excluded.body`,
		rec.ID, rec.ClientID, rec.Harness, native, rec.Archived, rec.UpdatedAt, string(body))
}

// Chat is Store.Chat inside the transaction.
func (tx *Tx) Chat(id string) (ChatRecord, error) {
	return chat(context.Background(), tx, "id = ?", id)
}

func (tx *Tx) UpdateChat(id string, change func(*ChatRecord)) error {
	rec, err := tx.Chat(id)
	if err != nil {
		return err
	}
	change(&rec)
	rec.ID = id
	return tx.PutChat(rec)
}

func (tx *Tx) DeleteChat(id string) error {
	n, err := tx.changed("DELETE FROM chats WHERE id = ?", id)
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// key returns the internal number of a chat.
func (tx *Tx) key(id string) (int64, error) {
	var k int64
	err := one(context.Background(), tx, []any{&k}, "SELECT k FROM chats WHERE id = ?", id)
	if errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("chat %s: %w", id, ErrNotFound)
	}
	return k, err
}

func chat(ctx context.Context, q querier, where string, args ...any) (ChatRecord, error) {
	var body string
	if err := one(ctx, q, []any{&body}, "SELECT body FROM chats WHERE "+where, args...); err != nil {
		return ChatRecord{}, err
	}
	var rec ChatRecord
	return rec, json.Unmarshal([]byte(body), &rec)
}

func scanChat(r *sql.Rows) (rec ChatRecord, err error) {
	var body string
	if err = r.Scan(&body); err == nil {
		err = json.Unmarshal([]byte(body), &rec)
	}
	return rec, err
}
