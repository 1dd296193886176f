package processes

import (
	"sync"
	"time"
)

// Ways a StartWatcher learns of new processes, as `doctor` names them.
const (
	PathConnector = "connector" // the kernel says so
	PathHints     = "hints"     // one bounded scan per hint
)

// hintGap is the least time between two scans: a storm of hints costs at most
// four scans a second.
const hintGap = 250 * time.Millisecond

// StartWatcher tells of processes that started a program (exec); one that
// execs again is told again. It runs
// nothing while nothing happens and has no timer of its own but the one-shot
// that spreads scans.
type StartWatcher struct {
	started func([]Identity)
	path    string
	hint    chan struct{}
	quit    chan struct{}
	events  eventStream
	done    sync.WaitGroup
	known   map[int]seen // by the scanning goroutine
}

// seen is a process as a scan found it. A scan may come between its fork and
// its exec; with another name it is told again.
type seen struct {
	id   Identity
	comm string
}

// NewStartWatcher starts one. started is called from one goroutine at a time
// with processes that were alive just before; it should return soon. The
// first scan only learns what is there already.
func NewStartWatcher(started func([]Identity)) *StartWatcher {
	return newStartWatcher(started, openEventStream)
}

func newStartWatcher(started func([]Identity), open func() (eventStream, error)) *StartWatcher {
	w := &StartWatcher{started: started, path: PathHints, hint: make(chan struct{}, 1), quit: make(chan struct{})}
	pids := make(chan []int)
	if events, err := open(); err == nil {
		w.path, w.events = PathConnector, events
		w.done.Add(1)
		go func() {
			defer w.done.Done()
			w.receive(pids)
		}()
	}
	if w.path == PathHints {
		w.scan(false)
	}
	w.done.Add(1)
	go func() {
		defer w.done.Done()
		w.run(pids)
	}()
	return w
}

// Path names the way in use.
func (w *StartWatcher) Path() string { return w.path }

// Hint says that a process may have started: something forked below a
// terminal of ours, a file of an agent changed. It never blocks.
func (w *StartWatcher) Hint() {
	select {
	case w.hint <- struct{}{}:
	default: // one is due already
	}
}

// Close ends the watcher and waits for it.
func (w *StartWatcher) Close() {
	close(w.quit)
	if w.events != nil {
		_ = w.events.Close()
	}
	w.done.Wait()
}

// eventStream is the kernel's stream of process starts.
type eventStream interface {
	// next blocks for the next pids. lost says that some were dropped. It
	// fails when the stream is closed.
	next() (pids []int, lost bool, err error)
	Close() error
}

func (w *StartWatcher) receive(out chan<- []int) {
	for {
		pids, lost, err := w.events.next()
		if err != nil {
			return
		}
		if lost {
			w.Hint()
		}
		if len(pids) == 0 {
			continue
		}
		select {
		case out <- pids:
		case <-w.quit:
			return
		}
	}
}

func (w *StartWatcher) run(pids <-chan []int) {
	var gap <-chan time.Time // running while the last scan is too fresh
	hint := w.hint
	for {
		select {
		case <-w.quit:
			return
		case list := <-pids:
			w.tell(list)
		case <-hint:
			// With the connector nothing is kept between events, so the scan that
			// a lost event asks for tells all that runs; consumers know theirs.
			w.scan(true)
			gap, hint = time.After(hintGap), nil
		case <-gap:
			gap, hint = nil, w.hint
		}
	}
}

func (w *StartWatcher) tell(pids []int) {
	var ids []Identity
	for _, pid := range pids {
		if id, err := Identify(pid); err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		w.started(ids)
	}
}

// scan takes one snapshot and tells what was not in the last one.
func (w *StartWatcher) scan(tell bool) {
	t, err := Snapshot()
	if err != nil {
		return
	}
	now := make(map[int]seen, t.Len())
	var fresh []Identity
	for pid, p := range t.procs {
		if p.Zombie {
			continue
		}
		now[pid] = seen{p.Identity, p.Comm}
		if w.known[pid] != now[pid] {
			fresh = append(fresh, p.Identity)
		}
	}
	w.known = now
	if tell && len(fresh) > 0 {
		w.started(fresh)
	}
}
