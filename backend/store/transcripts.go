package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Transcript is the text of a session that is no chat of ours, for the search.
// Size and UpdatedAt say how the session stood when it was read.
type Transcript struct {
	Harness, NativeID string
	Title, Cwd        string
	Size, UpdatedAt   int64
}

// PutTranscript stores the text of a session in place of what was read of it
// before. The items are those of the conversation; what cannot be found by is
// left out.
func (s *Store) PutTranscript(ctx context.Context, t Transcript, items []agent.Item) error {
	return s.perform(&command{ctx: ctx, quiet: true, do: func(tx *Tx) error {
		if err := tx.exec("DELETE FROM transcripts WHERE harness = ? AND native_id = ?", t.Harness, t.NativeID); err != nil {
			return err
		}
		if err := tx.exec("INSERT INTO transcripts(harness, native_id, title, cwd, size, updated_at) VALUES(?,?,?,?,?,?)",
			t.Harness, t.NativeID, t.Title, t.Cwd, t.Size, t.UpdatedAt); err != nil {
			return err
		}
		return tx.addSaid(t.Harness, t.NativeID, items)
	}})
}

// AddTranscript stores more of a session that PutTranscript began.
func (s *Store) AddTranscript(ctx context.Context, harness, nativeID string, items []agent.Item) error {
	return s.perform(&command{ctx: ctx, quiet: true, do: func(tx *Tx) error { return tx.addSaid(harness, nativeID, items) }})
}

func (tx *Tx) addSaid(harness, nativeID string, items []agent.Item) error {
	ctx := context.Background()
	var k int64
	if err := one(ctx, tx, []any{&k}, "SELECT k FROM transcripts WHERE harness = ? AND native_id = ?", harness, nativeID); err != nil {
		return err
	}
	st, err := tx.stmt("INSERT INTO said(transcript, item_id, type, tool, at, text) VALUES(?,?,?,?,?,?)")
	if err != nil {
		return err
	}
	for i := range items {
		it := &items[i]
		text := searchable(it)
		if text == "" {
			continue
		}
		res, err := st.ExecContext(ctx, k, it.ID, string(it.Type), string(it.Tool), it.At, text)
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		if err := tx.exec("INSERT INTO said_search(rowid, text) VALUES(?,?)", id, text); err != nil {
			return err
		}
	}
	return nil
}

// Transcripts calls visit with every session whose text is stored.
func (s *Store) Transcripts(ctx context.Context, visit func(Transcript)) error {
	return each(ctx, s.read(), func(r *sql.Rows) error {
		var t Transcript
		err := r.Scan(&t.Harness, &t.NativeID, &t.Title, &t.Cwd, &t.Size, &t.UpdatedAt)
		if err == nil {
			visit(t)
		}
		return err
	}, "SELECT harness, native_id, title, cwd, size, updated_at FROM transcripts")
}

// RemoveTranscript forgets the text of a session.
func (s *Store) RemoveTranscript(ctx context.Context, harness, nativeID string) error {
	return s.perform(&command{ctx: ctx, quiet: true, do: func(tx *Tx) error {
		return tx.exec("DELETE FROM transcripts WHERE harness = ? AND native_id = ?", harness, nativeID)
	}})
}

// SearchTranscripts is Search in the sessions whose text is stored. One that is a
// chat by now is left out: its rows are found there.
func (s *Store) SearchTranscripts(ctx context.Context, r Search) (Found, error) {
	p, err := newPage(r)
	if err != nil {
		return Found{}, err
	}
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return Found{}, err
	}
	q := connReader{conn: conn, stmts: map[string]*sql.Stmt{}}
	defer q.close()
	p.q = q
	ids, args := "SELECT id FROM said WHERE id < ? ORDER BY id DESC", []any{p.before}
	if p.query.match != "" {
		ids = "SELECT rowid FROM said_search WHERE said_search MATCH ? AND rowid < ? ORDER BY rowid DESC"
		args = []any{p.query.match, p.before}
	}
	err = p.run(ctx, ids, args, p.saidRow)
	return p.found, err
}

func (p *page) saidRow(ctx context.Context, id int64) error {
	var h model.SearchHit
	var key model.SessionKey
	var text string
	var ours bool
	err := one(ctx, p.q, []any{&key.Harness, &key.ID, &h.Title, &h.Cwd, &h.ItemID, &h.Type, &h.Tool, &h.At, &text, &ours},
		`SELECT t.harness, t.native_id, t.title, t.cwd, s.item_id, s.type, s.tool, s.at, s.text,
EXISTS (SELECT 1 FROM chats c WHERE c.harness = t.harness AND c.native_id = t.native_id)
FROM said s JOIN transcripts t ON t.k = s.transcript WHERE s.id = ?`, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || ours || p.Harness != "" && key.Harness != p.Harness || p.Cwd != "" && !within(h.Cwd, p.Cwd) {
		return err
	}
	var ok bool
	if h.Text, h.Marks, ok = p.query.look(text); !ok {
		return nil
	}
	h.Key, h.Agent = &key, key.Harness
	h.Cursor = cursorOf(p.at)
	p.found.Hits = append(p.found.Hits, h)
	return nil
}
