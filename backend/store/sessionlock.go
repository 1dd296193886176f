package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// SessionLock keeps hosts with different homes from writing to one session: a
// locked file per (harness, native id) in one directory of the user. The kernel
// ends it with the process; a file that is only there means nothing.
type SessionLock struct {
	f    *os.File
	path string
}

// LockedError says who holds a session; Holder is what that host wrote, empty
// when it cannot be read.
type LockedError struct {
	Holder string
	Pid    int
}

func (e *LockedError) Error() string {
	if e.Pid == 0 {
		return "another Whippletree writes to this session"
	}
	return fmt.Sprintf("another Whippletree (process %d, %s) writes to this session", e.Pid, e.Holder)
}

type lockNote struct {
	Harness string `json:"harness"`
	ID      string `json:"id"`
	Holder  string `json:"holder"`
	Pid     int    `json:"pid"`
}

// LockSession takes the lock in dir (created with mode 0700) without waiting.
// LockedError when another process, or this one, has it.
func LockSession(dir, harness, nativeID, holder string) (*SessionLock, error) {
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("the folder of session locks: %w", err)
	}
	sum := sha256.Sum256([]byte(harness + "\x00" + nativeID))
	path := filepath.Join(dir, hex.EncodeToString(sum[:16])+".lock")
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("the session lock: %w", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			note := readNote(f)
			_ = f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, &LockedError{Holder: note.Holder, Pid: note.Pid}
			}
			return nil, fmt.Errorf("the session lock: %w", err)
		}
		// The file may have been removed between opening and locking: then this
		// lock excludes nobody.
		mine, err := f.Stat()
		if err == nil {
			if there, serr := os.Stat(path); serr != nil || !os.SameFile(mine, there) {
				_ = f.Close()
				continue
			}
			err = f.Truncate(0)
		}
		if err == nil {
			note, _ := json.Marshal(lockNote{Harness: harness, ID: nativeID, Holder: holder, Pid: os.Getpid()})
			_, err = f.WriteAt(note, 0)
		}
		if err != nil && !errors.Is(err, unix.ENOSPC) { // the note is for people only
			_ = f.Close()
			return nil, fmt.Errorf("the session lock: %w", err)
		}
		return &SessionLock{f: f, path: path}, nil
	}
}

func readNote(f *os.File) (n lockNote) {
	b, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, 0, 4096), 4096))
	if err == nil {
		_ = json.Unmarshal(b, &n)
	}
	return n
}

// Close gives the session up and removes the file. It is idempotent.
func (l *SessionLock) Close() error {
	if l.f == nil {
		return nil
	}
	err := os.Remove(l.path) // while the lock is held: nobody else can have it
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, l.f.Close())
	l.f = nil
	return err
}
