package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// The index of stored sessions. What a list sorts and looks for stands apart from
// what it shows, so that comparing thousands of files with the disk reads few
// pages.
const indexStep = `
DROP TABLE stored;
CREATE TABLE stored (
  k INTEGER PRIMARY KEY,
  harness TEXT NOT NULL,
  path TEXT NOT NULL,
  native_id TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  listed INTEGER NOT NULL,
  cwd TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE(path, harness)
) STRICT;
CREATE INDEX stored_updated ON stored(harness, updated_at DESC, k DESC) WHERE listed = 1;
CREATE INDEX stored_cwd ON stored(harness, cwd, updated_at DESC, k DESC) WHERE listed = 1;

CREATE TABLE stored_body (
  k INTEGER PRIMARY KEY,
  read_to INTEGER NOT NULL,
  before BLOB NOT NULL,
  session TEXT NOT NULL,
  facts BLOB NOT NULL
) STRICT;
CREATE TRIGGER stored_removed AFTER DELETE ON stored BEGIN
  DELETE FROM stored_body WHERE k = OLD.k;
END;
`

// StoredFile is one entry of the index of stored sessions: which file it was read
// from, how the file stood then, so that an unchanged one is never read again,
// and where reading continues when it grew. Times are epoch milliseconds, Mtime
// nanoseconds.
type StoredFile struct {
	Harness string
	Path    string
	Size    int64
	Mtime   int64
	Inode   uint64
	// ReadTo is the offset behind the last record that was read, Before the bytes
	// that stand before it.
	ReadTo int64
	Before []byte
	// Hidden entries are known files that hold no conversation.
	Hidden  bool
	Session agent.StoredSession
	// Facts are the harness's own.
	Facts []byte
}

// Same reports whether a file still stands as it was read.
func (f StoredFile) Same(size, mtime int64, inode uint64) bool {
	return f.Size == size && f.Mtime == mtime && f.Inode == inode
}

// PutStored creates or replaces entries.
func (s *Store) PutStored(ctx context.Context, files ...StoredFile) error {
	bodies := make([]string, len(files))
	for i, f := range files {
		body, err := json.Marshal(f.Session)
		if err != nil {
			return err
		}
		bodies[i] = string(body)
	}
	return s.Do(ctx, func(tx *Tx) error {
		for len(files) > 0 {
			n := len(files)
			if n >= storedRows {
				n = storedRows
			} else {
				n = 1
			}
			if err := tx.putStored(files[:n], bodies[:n]); err != nil {
				return err
			}
			files, bodies = files[n:], bodies[n:]
		}
		return nil
	})
}

// storedRows is how many entries one statement takes.
const storedRows = 32

func (tx *Tx) putStored(files []StoredFile, bodies []string) error {
	heads, rest := make([]any, 0, 9*len(files)), make([]any, 0, 5*len(files))
	at := make(map[[2]string]int, len(files))
	for i, f := range files {
		h := f.Session.Handle
		if f.Harness == "" {
			f.Harness = h.Harness
		}
		at[[2]string{f.Harness, f.Path}] = i
		heads = append(heads, f.Harness, f.Path, h.NativeID, f.Size, f.Mtime, int64(f.Inode), bit(!f.Hidden), h.Cwd, f.Session.UpdatedAt)
	}
	err := each(context.Background(), tx, func(r *sql.Rows) error {
		var k int64
		var key [2]string
		if err := r.Scan(&k, &key[0], &key[1]); err != nil {
			return err
		}
		i := at[key]
		rest = append(rest, k, files[i].ReadTo, blob(files[i].Before), bodies[i], blob(files[i].Facts))
		return nil
	}, "INSERT INTO stored(harness, path, native_id, size, mtime, inode, listed, cwd, updated_at) VALUES"+tuples(9, len(files))+`
ON CONFLICT DO UPDATE SET native_id = excluded.native_id, size = excluded.size, mtime = excluded.mtime, inode = excluded.inode,
listed = excluded.listed, cwd = excluded.cwd, updated_at = excluded.updated_at RETURNING k, harness, path`, heads...)
	if err != nil {
		return err
	}
	return tx.exec("INSERT OR REPLACE INTO stored_body(k, read_to, before, session, facts) VALUES"+tuples(5, len(rest)/5), rest...)
}

func tuples(columns, rows int) string {
	one := ", (?" + strings.Repeat(", ?", columns-1) + ")"
	return strings.Repeat(one, rows)[1:]
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// blob is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// RemoveStored forgets files.
func (s *Store) RemoveStored(ctx context.Context, harness string, paths ...string) error {
	return s.Do(ctx, func(tx *Tx) error {
		for _, p := range paths {
			if err := tx.exec("DELETE FROM stored WHERE path = ? AND harness = ?", p, harness); err != nil {
				return err
			}
		}
		return nil
	})
}

// EachStamp calls visit with how every known file of a harness stood, one at a
// time: nothing is kept in memory. It holds a reader while it runs.
func (s *Store) EachStamp(ctx context.Context, harness string, visit func(path string, size, mtime int64, inode uint64)) error {
	var path sql.RawBytes
	return each(ctx, s.read(), func(r *sql.Rows) error {
		var size, mtime, inode int64
		if err := r.Scan(&path, &size, &mtime, &inode); err != nil {
			return err
		}
		visit(string(path), size, mtime, uint64(inode))
		return nil
	}, "SELECT path, size, mtime, inode FROM stored WHERE harness = ?", harness)
}

const storedColumns = "SELECT s.k, s.harness, s.path, s.size, s.mtime, s.inode, s.listed, b.read_to, b.before, b.session, b.facts FROM stored s JOIN stored_body b ON b.k = s.k "

// StoredByPath returns the entry of one file; ErrNotFound.
func (s *Store) StoredByPath(ctx context.Context, harness, path string) (StoredFile, error) {
	return oneStored(ctx, s.read(), "WHERE s.path = ? AND s.harness = ?", path, harness)
}

// StoredByID returns the newest entry of a session; ErrNotFound.
func (s *Store) StoredByID(ctx context.Context, harness, nativeID string) (StoredFile, error) {
	return oneStored(ctx, s.read(), "WHERE s.listed = 1 AND s.harness = ? AND s.native_id = ? ORDER BY s.updated_at DESC LIMIT 1", harness, nativeID)
}

// CountStored counts the sessions of a harness (or of all, "").
func (s *Store) CountStored(ctx context.Context, harness string) (n int, err error) {
	err = one(ctx, s.read(), []any{&n}, "SELECT COUNT(*) FROM stored WHERE listed = 1 AND (? = '' OR harness = ?)", harness, harness)
	return n, err
}

// ListStored returns a page of a harness's stored sessions, newest first. cwds
// limit it to these folders when there are any. next is the cursor of the
// following page, "" at the end.
func (s *Store) ListStored(ctx context.Context, harness string, cwds []string, cursor string, limit int) (list []agent.StoredSession, next string, err error) {
	list = []agent.StoredSession{}
	at, k, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	query, args := storedColumns+"WHERE s.listed = 1 AND s.harness = ?", []any{harness}
	if len(cwds) > 0 {
		query += " AND s.cwd IN (?" + strings.Repeat(", ?", len(cwds)-1) + ")"
		for _, c := range cwds {
			args = append(args, c)
		}
	}
	if cursor != "" {
		query, args = query+" AND (s.updated_at, s.k) < (?, ?)", append(args, at, k)
	}
	var lastAt, lastK int64
	err = each(ctx, s.read(), func(r *sql.Rows) error {
		f, k, err := scanStored(r)
		if err != nil {
			return err
		}
		if len(list) == limit {
			next = strconv.FormatInt(lastAt, 36) + "." + strconv.FormatInt(lastK, 36)
			return nil
		}
		list, lastAt, lastK = append(list, f.Session), f.Session.UpdatedAt, k
		return nil
	}, query+" ORDER BY s.updated_at DESC, s.k DESC LIMIT ?", append(args, limit+1)...)
	return list, next, err
}

// StoredFolders lists the folders of a harness's stored sessions, the one that was
// used last first.
func (s *Store) StoredFolders(ctx context.Context, harness string) ([]agent.StoredFolder, error) {
	var list []agent.StoredFolder
	err := each(ctx, s.read(), func(r *sql.Rows) error {
		var f agent.StoredFolder
		err := r.Scan(&f.Cwd, &f.Sessions, &f.UpdatedAt)
		list = append(list, f)
		return err
	}, "SELECT cwd, COUNT(*), MAX(updated_at) FROM stored WHERE listed = 1 AND harness = ? GROUP BY cwd ORDER BY 3 DESC, cwd", harness)
	return list, err
}

// ErrBadCursor says that a cursor is none of the list of stored sessions.
var ErrBadCursor = errors.New("the cursor is none of the list of stored sessions")

func parseCursor(c string) (at, k int64, err error) {
	if c == "" {
		return 0, 0, nil
	}
	a, b, ok := strings.Cut(c, ".")
	if at, err = strconv.ParseInt(a, 36, 64); err == nil {
		k, err = strconv.ParseInt(b, 36, 64)
	}
	if !ok || err != nil {
		return 0, 0, fmt.Errorf("%q: %w", c, ErrBadCursor)
	}
	return at, k, nil
}

func scanStored(r *sql.Rows) (f StoredFile, k int64, err error) {
	var body string
	var inode int64
	var listed int
	if err := r.Scan(&k, &f.Harness, &f.Path, &f.Size, &f.Mtime, &inode, &listed, &f.ReadTo, &f.Before, &body, &f.Facts); err != nil {
		return f, 0, err
	}
	f.Inode, f.Hidden = uint64(inode), listed == 0
	return f, k, json.Unmarshal([]byte(body), &f.Session)
}

func oneStored(ctx context.Context, q querier, where string, args ...any) (StoredFile, error) {
	var f StoredFile
	found := false
	err := each(ctx, q, func(r *sql.Rows) (err error) {
		found = true
		f, _, err = scanStored(r)
		return err
	}, storedColumns+where, args...)
	if err == nil && !found {
		err = ErrNotFound
	}
	return f, err
}
