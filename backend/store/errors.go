package store

import (
	"errors"
	"fmt"
	"strings"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrFull: the disk is full; nothing was stored, reading goes on.
	ErrFull = errors.New("the disk is full: nothing can be stored until some space is freed")
	// ErrNotFound: there is no such chat, row, entry or card.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the id is in use for something else, or the value changed.
	ErrConflict = errors.New("conflict")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// NewerError says that the database was written by a newer version.
type NewerError struct {
	Path string
	Have int // format of the file
	Know int // newest format this program knows
	// Backup is a copy from before the newer version changed the format, "" when
	// there is none that this program can read.
	Backup string
}

func (e *NewerError) Error() string {
	text := fmt.Sprintf("the database %s has format %d, written by a newer Whippletree; this one knows formats up to %d and leaves it untouched. "+
		"Install the newer version again, or start with another WHIPPLETREE_HOME", e.Path, e.Have, e.Know)
	if e.Backup != "" {
		text += fmt.Sprintf(". How it was before the newer version came is kept in %s", e.Backup)
	}
	return text
}

// ErrNewer matches every NewerError with errors.Is.
var ErrNewer = errors.New("database of a newer version")

func (e *NewerError) Is(target error) bool { return target == ErrNewer }

// DamagedError says that the file is no database of ours.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the database %s cannot be read (%v). It was left as it is; to start with an empty one: mv '%s' '%s.damaged'",
		e.Path, e.Err, strings.ReplaceAll(e.Path, "'", `'\''`), strings.ReplaceAll(e.Path, "'", `'\''`))
}

func (e *DamagedError) Unwrap() error { return e.Err }

// code returns SQLite's primary result code, 0 for other errors.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func isFull(err error) bool {
	return errors.Is(err, ErrFull) || code(err) == sqlite3.SQLITE_FULL
}
