package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// StoredFile is one entry of the index of stored sessions: which file it was
// read from and how the file stood then, so that an unchanged one is never read
// again. Times are epoch milliseconds, Mtime nanoseconds.
type StoredFile struct {
	Path    string
	Size    int64
	Mtime   int64
	Inode   uint64
	Session agent.StoredSession
}

// Same reports whether a file still stands as it was read.
func (f StoredFile) Same(size, mtime int64, inode uint64) bool {
	return f.Size == size && f.Mtime == mtime && f.Inode == inode
}

// PutStored creates or replaces entries.
func (s *Store) PutStored(ctx context.Context, files ...StoredFile) error {
	return s.Do(ctx, func(tx *Tx) error {
		for _, f := range files {
			body, err := json.Marshal(f.Session)
			if err != nil {
				return err
			}
			h := f.Session.Handle
			if err := tx.exec("INSERT OR REPLACE INTO stored(harness, path, native_id, size, mtime, inode, cwd, updated_at, body) VALUES(?,?,?,?,?,?,?,?,?)",
				h.Harness, f.Path, h.NativeID, f.Size, f.Mtime, int64(f.Inode), h.Cwd, f.Session.UpdatedAt, string(body)); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveStored forgets files.
func (s *Store) RemoveStored(ctx context.Context, harness string, paths ...string) error {
	return s.Do(ctx, func(tx *Tx) error {
		for _, p := range paths {
			if err := tx.exec("DELETE FROM stored WHERE harness = ? AND path = ?", harness, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// EachStored calls visit with every entry of a harness (or of all, ""), one at
// a time: nothing is kept in memory. It holds a reader while it runs.
func (s *Store) EachStored(ctx context.Context, harness string, visit func(StoredFile) error) error {
	return each(ctx, s.read(), func(r *sql.Rows) error {
		f, err := scanStored(r)
		if err != nil {
			return err
		}
		return visit(f)
	}, "SELECT harness, path, size, mtime, inode, body FROM stored WHERE ? = '' OR harness = ?", harness, harness)
}

// StoredByPath returns the entry of one file; ErrNotFound.
func (s *Store) StoredByPath(ctx context.Context, harness, path string) (StoredFile, error) {
	return oneStored(ctx, s.read(), "harness = ? AND path = ?", harness, path)
}

// StoredByID returns the newest entry of a session; ErrNotFound.
func (s *Store) StoredByID(ctx context.Context, harness, nativeID string) (StoredFile, error) {
	return oneStored(ctx, s.read(), "harness = ? AND native_id = ? ORDER BY updated_at DESC LIMIT 1", harness, nativeID)
}

// CountStored counts the entries of a harness (or of all, "").
func (s *Store) CountStored(ctx context.Context, harness string) (n int, err error) {
	err = one(ctx, s.read(), []any{&n}, "SELECT COUNT(*) FROM stored WHERE ? = '' OR harness = ?", harness, harness)
	return n, err
}

// ListStored returns a page of stored sessions, newest first. harness and cwd
// limit it when set. next is the cursor of the following page, "" at the end.
func (s *Store) ListStored(ctx context.Context, harness, cwd, cursor string, limit int) (list []agent.StoredSession, next string, err error) {
	at, h, p, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	query := "SELECT harness, path, size, mtime, inode, body FROM stored WHERE (updated_at, harness, path) < (?, ?, ?)"
	args := []any{at, h, p}
	if cursor == "" {
		query, args = "SELECT harness, path, size, mtime, inode, body FROM stored WHERE 1", nil
	}
	if harness != "" {
		query, args = query+" AND harness = ?", append(args, harness)
	}
	if cwd != "" {
		query, args = query+" AND cwd = ?", append(args, cwd)
	}
	var last StoredFile
	err = each(ctx, s.read(), func(r *sql.Rows) error {
		f, err := scanStored(r)
		if err != nil {
			return err
		}
		if len(list) == limit {
			next = makeCursor(last)
			return nil
		}
		last = f
		list = append(list, f.Session)
		return nil
	}, query+" ORDER BY updated_at DESC, harness DESC, path DESC LIMIT ?", append(args, limit+1)...)
	return list, next, err
}

func makeCursor(f StoredFile) string {
	return strconv.FormatInt(f.Session.UpdatedAt, 36) + "/" + f.Session.Handle.Harness + "/" + f.Path
}

func parseCursor(c string) (at int64, harness, path string, err error) {
	if c == "" {
		return 0, "", "", nil
	}
	parts := strings.SplitN(c, "/", 3)
	if len(parts) != 3 {
		return 0, "", "", fmt.Errorf("the cursor %q is not one of ours", c)
	}
	at, err = strconv.ParseInt(parts[0], 36, 64)
	return at, parts[1], parts[2], err
}

func scanStored(r *sql.Rows) (f StoredFile, err error) {
	var harness, body string
	var inode int64
	if err := r.Scan(&harness, &f.Path, &f.Size, &f.Mtime, &inode, &body); err != nil {
		return f, err
	}
	f.Inode = uint64(inode)
	err = json.Unmarshal([]byte(body), &f.Session)
	return f, err
}

func oneStored(ctx context.Context, q querier, where string, args ...any) (StoredFile, error) {
	var f StoredFile
	found := false
	err := each(ctx, q, func(r *sql.Rows) (err error) {
		found = true
		f, err = scanStored(r)
		return err
	}, "SELECT harness, path, size, mtime, inode, body FROM stored WHERE "+where, args...)
	if err == nil && !found {
		err = ErrNotFound
	}
	return f, err
}
