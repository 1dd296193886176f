package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Bounds of indexing: what waits is taken up when nothing was written for a
// moment, and soon in any case; one batch is a transaction of some ten
// milliseconds, followed by a pause as long as it took.
const (
	indexCalm  = 200 * time.Millisecond
	indexLate  = 2 * time.Second
	indexRows  = 128
	indexBytes = 48 << 10
	indexPause = 500 * time.Millisecond // at most
)

// index is the goroutine that keeps the search index up with the rows. It sleeps
// until something was committed. What it has done is in the database: a killed
// one goes on where it was.
func (s *Store) index(ctx context.Context) {
	defer close(s.indexed)
	for s.untilCalm(ctx) {
		for more := true; more; {
			began := time.Now()
			var err error
			if more, err = s.indexSome(ctx); err != nil {
				break // a full disk: the next commit is the next try
			}
			if more && !s.pause(ctx, min(time.Since(began), indexPause)) {
				return
			}
		}
	}
}

// untilCalm waits for a commit and then until none came for a moment; false when
// the store is closed.
func (s *Store) untilCalm(ctx context.Context) bool {
	select {
	case <-s.wrote:
	case <-ctx.Done():
		return false
	}
	late := time.Now().Add(indexLate)
	calm := time.NewTimer(indexCalm)
	defer calm.Stop()
	for {
		select {
		case <-s.wrote:
			calm.Reset(max(0, min(indexCalm, time.Until(late))))
		case <-calm.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (s *Store) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// indexSome indexes one batch and reports whether there is more.
func (s *Store) indexSome(ctx context.Context) (more bool, err error) {
	// Most commits leave nothing to index, and then nothing is written either.
	var waits int
	if err := one(ctx, s.read(), []any{&waits}, "SELECT EXISTS (SELECT 1 FROM unindexed)"); err != nil || waits == 0 {
		return false, err
	}
	answer := make(chan bool, 1)
	err = s.perform(&command{ctx: ctx, quiet: true, do: func(tx *Tx) error {
		more, err := tx.indexSome()
		select {
		case <-answer: // the first of two runs
		default:
		}
		answer <- more
		return err
	}})
	if err != nil {
		return false, err
	}
	return <-answer, nil
}

type unindexedRow struct {
	id, chat  int64
	big, body string
	row       model.Row
}

func (tx *Tx) indexSome() (more bool, err error) {
	ctx := context.Background()
	var list []unindexedRow
	size := 0
	full := errors.New("the batch is full")
	err = each(ctx, tx, func(r *sql.Rows) error {
		if len(list) == indexRows || size > indexBytes {
			return full
		}
		var u unindexedRow
		if err := r.Scan(&u.id, &u.chat, &u.row.ID, &u.big, &u.body); err != nil {
			return err
		}
		size += len(u.body)
		list = append(list, u)
		return nil
	}, `SELECT u.id, u.chat, u.item_id, r.big, r.item FROM unindexed u
CROSS JOIN rows r ON r.chat = u.chat AND r.item_id = u.item_id ORDER BY u.id LIMIT 129`)
	if err != nil && !errors.Is(err, full) {
		return false, err
	}
	more = errors.Is(err, full) || len(list) == indexRows
	for done := 0; len(list) > 0; list = list[1:] {
		if done > indexBytes { // large texts stand apart from their row
			return true, nil
		}
		u := &list[0]
		text, err := searchableRow(ctx, tx, u.chat, u.big, u.body, &u.row)
		if err != nil {
			text = "" // a damaged row is not found; it must not keep the others from it
		}
		done += len(text)
		if err := tx.indexDocument(u.chat, u.row.ID, text); err != nil {
			return false, err
		}
		if err := tx.exec("DELETE FROM unindexed WHERE id = ?", u.id); err != nil {
			return false, err
		}
	}
	return more, nil
}

// indexDocument puts the text of a row into the index in place of an earlier one.
func (tx *Tx) indexDocument(chat int64, itemID, text string) error {
	var id int64
	err := one(context.Background(), tx, []any{&id}, "SELECT id FROM documents WHERE chat = ? AND item_id = ?", chat, itemID)
	known := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	switch {
	case text == "" && !known:
		return nil
	case text == "":
		return tx.exec("DELETE FROM documents WHERE id = ?", id)
	case known:
		if err := tx.exec("DELETE FROM search WHERE rowid = ?", id); err != nil {
			return err
		}
	default:
		st, err := tx.stmt("INSERT INTO documents(chat, item_id) VALUES(?,?)")
		if err != nil {
			return err
		}
		res, err := st.ExecContext(context.Background(), chat, itemID)
		if err != nil {
			return err
		}
		if id, err = res.LastInsertId(); err != nil {
			return err
		}
	}
	return tx.exec("INSERT INTO search(rowid, text) VALUES(?,?)", id, text)
}

// searchableRow reads an item, with the shown part of what is kept apart, and
// returns its text for the index.
func searchableRow(ctx context.Context, q querier, chat int64, big, body string, row *model.Row) (string, error) {
	id := row.ID
	if err := json.Unmarshal([]byte(body), &row.Item); err != nil {
		return "", err
	}
	row.ID = id
	sizes, err := parseSizes(big)
	if err != nil {
		return "", err
	}
	if len(sizes) > 0 {
		if err := fillRow(ctx, q, row, chat, sizes, false); err != nil {
			return "", err
		}
	}
	return searchable(&row.Item), nil
}

// Indexed waits until everything that is stored now can be found.
func (s *Store) Indexed(ctx context.Context) error {
	for {
		more, err := s.indexSome(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// Unindexed counts the rows that are not in the index yet, up to 10000.
func (s *Store) Unindexed(ctx context.Context) (n int, err error) {
	err = one(ctx, s.read(), []any{&n}, "SELECT COUNT(*) FROM (SELECT 1 FROM unindexed LIMIT 10000)")
	return n, err
}
