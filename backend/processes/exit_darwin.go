package processes

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// exitWatcher is one kqueue with one goroutine that is parked in it. The
// goroutine starts with the first watch.
type exitWatcher struct {
	mu      sync.Mutex
	closed  bool
	kq      int
	running bool
	next    uint64
	watches map[int]map[uint64]func() // by pid
	done    sync.WaitGroup
}

// wakeIdent is the user event that ends the goroutine.
const wakeIdent = 1

func (w *exitWatcher) init() { w.watches = map[int]map[uint64]func(){} }

func (w *exitWatcher) start() error {
	kq, err := unix.Kqueue()
	if err != nil {
		return err
	}
	unix.CloseOnExec(kq)
	wake := unix.Kevent_t{Ident: wakeIdent, Filter: unix.EVFILT_USER, Flags: unix.EV_ADD | unix.EV_CLEAR}
	if _, err := unix.Kevent(kq, []unix.Kevent_t{wake}, nil, nil); err != nil {
		_ = unix.Close(kq)
		return err
	}
	w.kq, w.running = kq, true
	w.done.Add(1)
	go w.loop(kq)
	return nil
}

func (w *exitWatcher) loop(kq int) {
	defer w.done.Done()
	defer unix.Close(kq)
	events := make([]unix.Kevent_t, 16)
	for {
		n, err := unix.Kevent(kq, nil, events, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		for _, e := range events[:n] {
			if e.Filter == unix.EVFILT_USER {
				return
			}
			w.mu.Lock()
			ended := w.watches[int(e.Ident)]
			delete(w.watches, int(e.Ident))
			if w.closed {
				ended = nil
			}
			w.mu.Unlock()
			for _, f := range ended {
				f()
			}
		}
	}
}

func (w *exitWatcher) watch(id Identity, ended func()) (func(), error) {
	if id.Pid <= 0 {
		return nil, ErrGone
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, os.ErrClosed
	}
	if !w.running {
		if err := w.start(); err != nil {
			return nil, err
		}
	}
	add := unix.Kevent_t{
		Ident: uint64(id.Pid), Filter: unix.EVFILT_PROC,
		Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT,
	}
	if _, err := unix.Kevent(w.kq, []unix.Kevent_t{add}, nil, nil); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil, ErrGone
		}
		return nil, fmt.Errorf("watch process %d: %w", id.Pid, err)
	}
	if !id.Alive() {
		return nil, ErrGone
	}
	w.next++
	key := w.next
	if w.watches[id.Pid] == nil {
		w.watches[id.Pid] = map[uint64]func(){}
	}
	w.watches[id.Pid][key] = ended
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watches[id.Pid], key)
	}, nil
}

func (w *exitWatcher) close() {
	w.mu.Lock()
	if !w.closed && w.running {
		wake := unix.Kevent_t{Ident: wakeIdent, Filter: unix.EVFILT_USER, Fflags: unix.NOTE_TRIGGER}
		_, _ = unix.Kevent(w.kq, []unix.Kevent_t{wake}, nil, nil)
	}
	w.closed = true
	w.watches = map[int]map[uint64]func(){}
	w.mu.Unlock()
	w.done.Wait()
}
