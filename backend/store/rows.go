package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// PutRows stores rows in order, each as PutRow.
func (s *Store) PutRows(ctx context.Context, chatID string, rows ...model.Row) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.PutRows(chatID, rows...) })
}

// PutRow stores one row and returns its place. A row whose item id is known
// replaces that one and keeps its place and turn; a new one is appended at Seq,
// or after the last row when Seq is 0. A Seq that another item has is
// ErrConflict. The whole item is given, never a shortened one.
func (s *Store) PutRow(ctx context.Context, chatID string, row model.Row) (seq int64, err error) {
	err = s.Do(ctx, func(tx *Tx) error {
		seq, err = tx.PutRow(chatID, row)
		return err
	})
	return seq, err
}

// DeleteRows removes every row from seq on (rewind).
func (s *Store) DeleteRows(ctx context.Context, chatID string, from int64) error {
	return s.Do(ctx, func(tx *Tx) error { return tx.DeleteRows(chatID, from) })
}

func (tx *Tx) PutRows(chatID string, rows ...model.Row) error {
	for _, r := range rows {
		if _, err := tx.PutRow(chatID, r); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) PutRow(chatID string, row model.Row) (int64, error) {
	if row.Cut != nil {
		return 0, fmt.Errorf("row %s is shortened and cannot be stored: %w", row.ID, ErrConflict)
	}
	k, err := tx.key(chatID)
	if err != nil {
		return 0, err
	}
	row.Item = detach(row.Item)
	row.OutputSize = 0
	wholes, sizes := take(&row.Item)
	body, err := json.Marshal(row.Item)
	if err != nil {
		return 0, err
	}
	big := ""
	if sizes != nil {
		b, err := json.Marshal(sizes)
		if err != nil {
			return 0, err
		}
		big = string(b)
	}
	ctx := context.Background()
	var seq int64
	var oldBig string
	err = one(ctx, tx, []any{&seq, &oldBig}, "SELECT seq, big FROM rows WHERE chat = ? AND item_id = ?", k, row.ID)
	switch {
	case err == nil:
		if oldBig != "" {
			if err := tx.exec("DELETE FROM content WHERE chat = ? AND item_id = ?", k, row.ID); err != nil {
				return 0, err
			}
		}
		err = tx.exec("UPDATE rows SET settled = ?, open = ?, via = ?, big = ?, item = ? WHERE chat = ? AND item_id = ?",
			!row.Provisional, row.Open(), row.Via, big, string(body), k, row.ID)
	case errors.Is(err, ErrNotFound):
		seq = row.Seq
		if seq == 0 {
			if err := one(ctx, tx, []any{&seq}, "SELECT COALESCE(MAX(seq), 0) + 1 FROM rows WHERE chat = ?", k); err != nil {
				return 0, err
			}
		} else {
			var other string
			if err := one(ctx, tx, []any{&other}, "SELECT item_id FROM rows WHERE chat = ? AND seq = ?", k, seq); err == nil {
				return 0, fmt.Errorf("place %d is taken by row %s: %w", seq, other, ErrConflict)
			} else if !errors.Is(err, ErrNotFound) {
				return 0, err
			}
		}
		err = tx.exec("INSERT INTO rows(chat, seq, item_id, turn, settled, open, via, big, item) VALUES(?,?,?,?,?,?,?,?,?)",
			k, seq, row.ID, row.Turn, !row.Provisional, row.Open(), row.Via, big, string(body))
	}
	if err != nil {
		return 0, err
	}
	for name, whole := range wholes {
		if err := tx.putContent(k, row.ID, name, whole); err != nil {
			return 0, err
		}
	}
	return seq, nil
}

func (tx *Tx) DeleteRows(chatID string, from int64) error {
	k, err := tx.key(chatID)
	if err != nil {
		return err
	}
	if err := tx.exec("DELETE FROM content WHERE chat = ? AND item_id IN (SELECT item_id FROM rows WHERE chat = ? AND seq >= ? AND big <> '')", k, k, from); err != nil {
		return err
	}
	return tx.exec("DELETE FROM rows WHERE chat = ? AND seq >= ?", k, from)
}

const selectRow = "SELECT r.chat, r.seq, r.turn, r.settled, r.via, r.big, r.item FROM rows r JOIN chats c ON c.k = r.chat WHERE c.id = ? "

// Tail returns the last rows of a chat in order, shortened (see Shorten).
func (s *Store) Tail(ctx context.Context, chatID string, limit int) ([]model.Row, error) {
	return s.Before(ctx, chatID, 0, limit)
}

// Before returns the last rows before a place (0: the end) in order.
func (s *Store) Before(ctx context.Context, chatID string, before int64, limit int) ([]model.Row, error) {
	if before <= 0 {
		before = 1 << 62
	}
	list, err := rowsOf(ctx, s.read(), false, selectRow+"AND r.seq < ? ORDER BY r.seq DESC LIMIT ?", chatID, before, limit)
	slices.Reverse(list)
	return list, err
}

// After returns the first rows after a place in order.
func (s *Store) After(ctx context.Context, chatID string, after int64, limit int) ([]model.Row, error) {
	return rowsOf(ctx, s.read(), false, selectRow+"AND r.seq > ? ORDER BY r.seq LIMIT ?", chatID, after, limit)
}

// Row returns one whole row by its item id; ErrNotFound.
func (s *Store) Row(ctx context.Context, chatID, itemID string) (model.Row, error) {
	return oneRow(ctx, s.read(), chatID, itemID)
}

// Row is Store.Row inside the transaction.
func (tx *Tx) Row(chatID, itemID string) (model.Row, error) {
	return oneRow(context.Background(), tx, chatID, itemID)
}

func oneRow(ctx context.Context, q querier, chatID, itemID string) (model.Row, error) {
	list, err := rowsOf(ctx, q, true, selectRow+"AND r.item_id = ?", chatID, itemID)
	if err == nil && len(list) == 0 {
		return model.Row{}, fmt.Errorf("row %s: %w", itemID, ErrNotFound)
	}
	if err != nil {
		return model.Row{}, err
	}
	return list[0], nil
}

// OpenRows returns the whole rows that are not settled or still open.
func (s *Store) OpenRows(ctx context.Context, chatID string) ([]model.Row, error) {
	return rowsOf(ctx, s.read(), true, selectRow+"AND (r.open = 1 OR r.settled = 0) ORDER BY r.seq", chatID)
}

// ItemIDs returns the item ids of a chat in order with their places: what a
// replay needs to know which rows it has.
func (s *Store) ItemIDs(ctx context.Context, chatID string) (map[string]int64, error) {
	ids := map[string]int64{}
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var id string
		var seq int64
		err := r.Scan(&id, &seq)
		ids[id] = seq
		return err
	}, "SELECT r.item_id, r.seq FROM rows r JOIN chats c ON c.k = r.chat WHERE c.id = ?", chatID)
	return ids, err
}

// CountRows returns how many rows a chat has and the last place in use.
func (s *Store) CountRows(ctx context.Context, chatID string) (count, last int64, err error) {
	return countRows(ctx, s.read(), chatID)
}

// CountRows is Store.CountRows inside the transaction.
func (tx *Tx) CountRows(chatID string) (count, last int64, err error) {
	return countRows(context.Background(), tx, chatID)
}

func countRows(ctx context.Context, q querier, chatID string) (count, last int64, err error) {
	err = one(ctx, q, []any{&count, &last}, "SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM rows WHERE chat = (SELECT k FROM chats WHERE id = ?)", chatID)
	return count, last, err
}

func rowsOf(ctx context.Context, q querier, whole bool, query string, args ...any) ([]model.Row, error) {
	type pending struct {
		k     int64
		sizes map[string]int64
	}
	var list []model.Row
	var more []pending
	err := each(ctx, q, func(r *sql.Rows) error {
		var row model.Row
		var p pending
		var settled bool
		var big, body string
		if err := r.Scan(&p.k, &row.Seq, &row.Turn, &settled, &row.Via, &big, &body); err != nil {
			return err
		}
		row.Provisional = !settled
		if err := json.Unmarshal([]byte(body), &row.Item); err != nil {
			return fmt.Errorf("row %d: %w", row.Seq, err)
		}
		var err error
		p.sizes, err = parseSizes(big)
		list, more = append(list, row), append(more, p)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if len(more[i].sizes) > 0 {
			if err := fillRow(ctx, q, &list[i], more[i].k, more[i].sizes, whole); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// fillRow puts back what was kept apart, whole or as a window shows it.
func fillRow(ctx context.Context, q querier, row *model.Row, k int64, sizes map[string]int64, whole bool) error {
	for _, f := range fieldsOf(&row.Item) {
		size, ok := sizes[f.name]
		if !ok {
			continue
		}
		if whole || size <= int64(f.limit()) {
			text, err := contentRange(ctx, q, k, row.ID, f.name, 0, size)
			if err != nil {
				return err
			}
			if err := f.restore(text); err != nil {
				return err
			}
			continue
		}
		var head, tail string
		var err error
		if f.bytes == nil {
			head, err = contentRange(ctx, q, k, row.ID, f.name, 0, shown)
		}
		if err == nil && f.name == "output" {
			tail, err = contentRange(ctx, q, k, row.ID, f.name, size-shown/2, shown/2)
		}
		if err != nil {
			return err
		}
		showCut(row, f, head, tail, size)
	}
	return nil
}

// openItemClosed is the state in which the host's death leaves an open item.
const openItemClosed = agent.StateCanceled
