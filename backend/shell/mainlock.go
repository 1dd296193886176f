package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrOpen says that the window is open already, in another process.
var ErrOpen = errors.New("the window is open already")

// WindowLock is held by the process that shows a window, so that two starts in
// the same moment open one. The kernel drops it when the process dies: a file
// left behind stops nobody.
type WindowLock struct{ file *os.File }

// LockWindow takes the lock of the window id below dir; ErrOpen when another
// process holds it.
func LockWindow(dir, id string) (*WindowLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(windowFile(dir, id)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrOpen
		}
		return nil, fmt.Errorf("locking %s: %w", filepath.Base(f.Name()), err)
	}
	return &WindowLock{f}, nil
}

// Unlock lets another process open the window.
func (l *WindowLock) Unlock() { _ = l.file.Close() }
