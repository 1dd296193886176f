package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// LimitUIState is the most one key may hold, in bytes.
const LimitUIState = 256 << 10

// UIState returns what a window kept under a key, nil when nothing.
func (s *Store) UIState(ctx context.Context, key string) (json.RawMessage, error) {
	var v string
	err := one(ctx, s.read(), []any{&v}, "SELECT value FROM uistate WHERE key = ?", key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return json.RawMessage(v), err
}

// SetUIState keeps a value; an empty one or null removes it.
func (s *Store) SetUIState(ctx context.Context, key string, value json.RawMessage) error {
	if key == "" || len(key) > 256 {
		return errors.New("the key of a window's state has 1 to 256 bytes")
	}
	if len(value) > LimitUIState {
		return fmt.Errorf("a window's state holds at most %d bytes", LimitUIState)
	}
	if len(value) > 0 && !json.Valid(value) {
		return errors.New("a window's state must be JSON")
	}
	return s.Do(ctx, func(tx *Tx) error {
		if len(value) == 0 || string(value) == "null" {
			return tx.exec("DELETE FROM uistate WHERE key = ?", key)
		}
		return tx.exec("INSERT OR REPLACE INTO uistate(key, value, at) VALUES(?,?,?)", key, string(value), tx.now().UnixMilli())
	})
}
