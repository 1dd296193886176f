package processes

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

type exitWatcher struct {
	mu     sync.Mutex
	closed bool
	open   map[*os.File]struct{}
	done   sync.WaitGroup
}

func (w *exitWatcher) init() { w.open = map[*os.File]struct{}{} }

func (w *exitWatcher) watch(id Identity, ended func()) (func(), error) {
	f, err := openPidfd(id)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		_ = f.Close()
		return nil, os.ErrClosed
	}
	w.open[f] = struct{}{}
	w.done.Add(1)
	w.mu.Unlock()
	go func() {
		defer w.done.Done()
		err := waitPidfd(f)
		w.mu.Lock()
		_, ours := w.open[f]
		delete(w.open, f)
		w.mu.Unlock()
		_ = f.Close()
		if ours && err == nil {
			ended()
		}
	}()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, ours := w.open[f]; ours {
			delete(w.open, f)
			_ = f.Close()
		}
	}, nil
}

func (w *exitWatcher) close() {
	w.mu.Lock()
	w.closed = true
	for f := range w.open {
		delete(w.open, f)
		_ = f.Close()
	}
	w.mu.Unlock()
	w.done.Wait()
}

// openPidfd pins a process and then checks that it pinned the right one.
func openPidfd(id Identity) (*os.File, error) {
	f, err := openPidfdAny(id.Pid)
	if err != nil {
		return nil, err
	}
	if !id.Alive() {
		_ = f.Close()
		return nil, ErrGone
	}
	return f, nil
}

func openPidfdAny(pid int) (*os.File, error) {
	if pid <= 0 {
		return nil, ErrGone
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.EINVAL) { // before Linux 5.10
		if fd, err = unix.PidfdOpen(pid, 0); err == nil {
			err = unix.SetNonblock(fd, true)
		}
	}
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil, ErrGone
		}
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// waitPidfd waits in the Go netpoller, without a thread, until the process
// has ended; it fails when f is closed.
func waitPidfd(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var pollErr error
	err = raw.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(p, 0)
			if err == unix.EINTR {
				continue
			}
			pollErr = err
			return err != nil || n > 0
		}
	})
	if err != nil {
		return err
	}
	return pollErr
}
