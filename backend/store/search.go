package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Bounds of one page of a search: how many hits it has at most, and at how many
// items is looked for them.
const (
	searchHits = 200
	searchLook = 3000
	searchNew  = 400 // of those that are not in the index yet
)

// Search says what is searched for. Text is words that must all occur in one
// item, also inside other words, whatever their case; double quotes keep words
// together.
type Search struct {
	Text string
	// Limits, where set.
	ChatID, Harness, Cwd string
	Cursor               string
	Limit                int // at most 200; 0 means 50
}

// Found is one page of hits, newest first.
type Found struct {
	Hits []model.SearchHit
	// Next is the cursor of the following page, "" at the end. A page may have
	// fewer hits than its limit, even none, and a Next: it looked long enough.
	Next string
}

// Search looks for a text in the rows of chats, in the order in which they were
// written, newest first. Words of one or two characters have no entries in the
// index: beside longer words they are looked for in what those find, alone in all
// rows, page by page.
func (s *Store) Search(ctx context.Context, r Search) (Found, error) {
	p, err := newPage(r)
	if err != nil {
		return Found{}, err
	}
	// One connection for all: a search that waited for a second one while it holds
	// the first could wait for ever.
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return Found{}, err
	}
	q := connReader{conn: conn, stmts: map[string]*sql.Stmt{}}
	defer q.close()
	p.q = q
	if r.Cursor == "" {
		if err := p.fresh(ctx); err != nil {
			return Found{}, err
		}
	}
	ids := "SELECT id FROM documents WHERE id < ? ORDER BY id DESC"
	args := []any{p.before}
	switch {
	case p.query.match != "":
		ids = "SELECT rowid FROM search WHERE search MATCH ? AND rowid < ? ORDER BY rowid DESC"
		args = []any{p.query.match, p.before}
	case r.ChatID != "":
		ids = "SELECT id FROM documents WHERE chat = (SELECT k FROM chats WHERE id = ?) AND id < ? ORDER BY id DESC"
		args = []any{r.ChatID, p.before}
	}
	err = p.run(ctx, ids, args, p.row)
	return p.found, err
}

// connReader reads over one connection and prepares each text once: a page asks
// for hundreds of rows.
type connReader struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func (r connReader) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st := r.stmts[query]
	if st == nil {
		var err error
		if st, err = r.conn.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		r.stmts[query] = st
	}
	return st.QueryContext(ctx, args...)
}

func (r connReader) close() {
	for _, st := range r.stmts {
		_ = st.Close()
	}
	_ = r.conn.Close()
}

// page is one page of a search while it is filled.
type page struct {
	Search
	query  query
	q      querier
	before int64
	at     int64 // the entry that is looked at
	found  Found
	seen   map[string]bool // rows that were found before they were indexed
}

func newPage(r Search) (*page, error) {
	q, err := parseQuery(r.Text)
	if err != nil {
		return nil, err
	}
	p := &page{Search: r, query: q, before: 1 << 62, at: 1 << 62, seen: map[string]bool{}}
	p.found.Hits = []model.SearchHit{}
	if p.Limit <= 0 {
		p.Limit = 50
	}
	p.Limit = min(p.Limit, searchHits)
	if r.Cursor != "" {
		if p.before, err = strconv.ParseInt(r.Cursor, 10, 64); err != nil {
			return nil, &QueryError{"The place to go on from is not one of this search."}
		}
	}
	return p, nil
}

var errEnough = errors.New("enough")

// run takes candidates from a statement that gives ids, newest first.
func (p *page) run(ctx context.Context, ids string, args []any, take func(context.Context, int64) error) error {
	looked := 0
	last := int64(0)
	err := each(ctx, p.q, func(r *sql.Rows) error {
		if looked == searchLook || len(p.found.Hits) >= p.Limit {
			p.found.Next = cursorOf(last)
			return errEnough
		}
		looked++
		if err := r.Scan(&last); err != nil {
			return err
		}
		p.at = last
		return take(ctx, last)
	}, ids, args...)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

const selectHit = `SELECT c.id, c.body ->> '$.title', c.harness, c.body ->> '$.cwd', c.archived, r.seq, r.turn, r.chat, r.item_id, r.big, r.item
FROM rows r JOIN chats c ON c.k = r.chat WHERE r.chat = `

// row looks at one entry of the index.
func (p *page) row(ctx context.Context, id int64) error {
	return p.look(ctx, selectHit+"(SELECT chat FROM documents WHERE id = ?1) AND r.item_id = (SELECT item_id FROM documents WHERE id = ?1)", id)
}

// fresh looks at what is not in the index yet.
func (p *page) fresh(ctx context.Context) error {
	type place struct {
		chat int64
		item string
	}
	var list []place
	err := each(ctx, p.q, func(r *sql.Rows) error {
		var x place
		err := r.Scan(&x.chat, &x.item)
		list = append(list, x)
		return err
	}, "SELECT chat, item_id FROM unindexed ORDER BY id DESC LIMIT ?", searchNew)
	if err != nil {
		return err
	}
	for _, x := range list {
		if len(p.found.Hits) == p.Limit {
			break // the rest is indexed before somebody reads so far
		}
		if err := p.look(ctx, selectHit+"? AND r.item_id = ?", x.chat, x.item); err != nil {
			return err
		}
	}
	return nil
}

func (p *page) look(ctx context.Context, query string, args ...any) error {
	var h model.SearchHit
	var chat int64
	var big, body string
	var title, cwd sql.NullString
	var row model.Row
	err := one(ctx, p.q, []any{&h.ChatID, &title, &h.Agent, &cwd, &h.Archived, &h.Seq, &h.Turn, &chat, &row.ID, &big, &body}, query, args...)
	if errors.Is(err, ErrNotFound) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	h.Title, h.Cwd = title.String, cwd.String
	if p.ChatID != "" && h.ChatID != p.ChatID || p.Harness != "" && h.Agent != p.Harness || p.Cwd != "" && !within(h.Cwd, p.Cwd) {
		return nil
	}
	text, err := searchableRow(ctx, p.q, chat, big, body, &row)
	if err != nil {
		return nil //nolint:nilerr // a damaged row is not found
	}
	var ok bool
	if h.Text, h.Marks, ok = p.query.look(text); !ok || p.seen[h.ChatID+"/"+row.ID] {
		return nil
	}
	p.seen[h.ChatID+"/"+row.ID] = true
	h.ItemID, h.Type, h.Tool, h.At = row.ID, row.Type, row.Tool, row.At
	h.Cursor = cursorOf(p.at)
	p.found.Hits = append(p.found.Hits, h)
	return nil
}

// within reports whether a folder is another one or lies in it.
func within(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
}

func cursorOf(id int64) string { return strconv.FormatInt(id, 10) }

// IndexSize is how many bytes the index of the chats takes in the file.
func (s *Store) IndexSize(ctx context.Context) (n int64, err error) {
	err = one(ctx, s.read(), []any{&n}, "SELECT COALESCE(SUM(pgsize), 0) FROM dbstat WHERE aggregate = 1 AND (name LIKE 'search\\_%' ESCAPE '\\' OR name LIKE '%documents%')")
	return n, err
}
