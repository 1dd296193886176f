package agentkit

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// CodeWatchLimited is the diagnostic code for a system limit that keeps a
// directory from being watched (case R02).
const CodeWatchLimited = "watch-limited"

// Watcher is the one file system watcher of the host, shared by all harnesses.
// It watches directories only. It costs nothing while nothing happens: no
// timer runs, except while the system refuses further watches (then the
// affected directories are looked at every [WatcherOptions.Poll]).
type Watcher struct {
	o      WatcherOptions
	notify *fsnotify.Watcher
	done   chan struct{}
	ended  chan struct{}

	mu      sync.Mutex
	dirs    map[string]*watchedDir // directories known to the system's watcher
	watches map[*Watch]struct{}
	limited map[*Watch]dirPrint // watches that fell back to looking
	polling bool
	closed  bool
	cause   error // why nothing can be watched at all
}

type watchedDir struct{ users map[*Watch]struct{} }

// WatcherOptions has useful zero values.
type WatcherOptions struct {
	// Poll is how often a directory is looked at that cannot be watched
	// (default 2 s).
	Poll time.Duration
	// Diagnostic is told about limits, at most once per directory. It must
	// return quickly. Nil: dropped.
	Diagnostic func(code, message string)
	// AddError stands in for the system's answer in tests; nil means none.
	AddError func(dir string) error
}

// NewWatcher starts the watcher. It always works: where the system gives no
// watcher at all, directories are looked at instead.
func NewWatcher(o WatcherOptions) *Watcher {
	if o.Poll <= 0 {
		o.Poll = 2 * time.Second
	}
	w := &Watcher{
		o: o, done: make(chan struct{}), ended: make(chan struct{}),
		dirs: map[string]*watchedDir{}, watches: map[*Watch]struct{}{}, limited: map[*Watch]dirPrint{},
	}
	n, err := fsnotify.NewWatcher()
	if err != nil {
		w.cause = err
		close(w.ended)
		return w
	}
	w.notify = n
	go w.run()
	return w
}

// Close ends all watches and waits.
func (w *Watcher) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		<-w.ended
		return nil
	}
	w.closed = true
	close(w.done)
	w.mu.Unlock()
	var err error
	if w.notify != nil {
		err = w.notify.Close()
	}
	<-w.ended
	return err
}

// Watch is one directory of interest. Changes are collected and merged until
// they are taken, so that a burst costs one wake-up and bounded memory.
type Watch struct {
	w    *Watcher
	dir  string
	wake chan struct{}

	// guarded by w.mu
	at      string // the directory being watched: dir, or its nearest existing parent
	changed map[string]struct{}
	rescan  bool
	told    bool
	closed  bool
}

// maxChanged bounds the collected paths; beyond it a rescan is asked for.
const maxChanged = 1024

// Watch begins to watch dir, which need not exist: its appearance is reported
// as a rescan. The first wake-up comes at once and asks for a rescan, so that
// listing after watching misses nothing.
func (w *Watcher) Watch(dir string) *Watch {
	x := &Watch{w: w, dir: filepath.Clean(dir), wake: make(chan struct{}, 1), changed: map[string]struct{}{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches[x] = struct{}{}
	w.attach(x)
	x.rescan = true
	x.signal()
	return x
}

// Wake is signalled when there is something to take.
func (x *Watch) Wake() <-chan struct{} { return x.wake }

// Take returns the changed paths in the directory (absolute, no order) since
// the last call. rescan means that anything may have changed.
func (x *Watch) Take() (paths []string, rescan bool) {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	rescan, x.rescan = x.rescan, false
	for p := range x.changed {
		paths = append(paths, p)
	}
	clear(x.changed)
	return paths, rescan
}

// Close ends the watch; it is idempotent.
func (x *Watch) Close() {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	if x.closed {
		return
	}
	x.closed = true
	x.w.detach(x)
	delete(x.w.watches, x)
	delete(x.w.limited, x)
}

func (x *Watch) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *Watch) note(path string) {
	if x.rescan {
		x.signal()
		return
	}
	if len(x.changed) >= maxChanged {
		clear(x.changed)
		x.rescan = true
	} else {
		x.changed[path] = struct{}{}
	}
	x.signal()
}

// attach watches x.dir or, while it does not exist, the nearest parent that
// does. Called with w.mu held.
func (w *Watcher) attach(x *Watch) {
	for {
		target := nearest(x.dir)
		if w.add(target, x) {
			x.at = target
			// The directory may have appeared between looking and watching.
			if now := nearest(x.dir); now != target {
				w.detach(x)
				continue
			}
			delete(w.limited, x)
		} else {
			x.at = ""
		}
		return
	}
}

func nearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}

func (w *Watcher) add(dir string, x *Watch) bool {
	if d := w.dirs[dir]; d != nil {
		d.users[x] = struct{}{}
		return true
	}
	err := w.cause
	if err == nil && w.o.AddError != nil {
		err = w.o.AddError(dir)
	}
	if err == nil {
		err = w.notify.Add(dir)
	}
	if err == nil {
		w.dirs[dir] = &watchedDir{users: map[*Watch]struct{}{x: {}}}
		return true
	}
	if w.closed {
		return false
	}
	w.fallBack(x, err)
	return false
}

func (w *Watcher) detach(x *Watch) {
	d := w.dirs[x.at]
	if d == nil {
		return
	}
	delete(d.users, x)
	if len(d.users) == 0 {
		delete(w.dirs, x.at)
		if w.notify != nil && !w.closed {
			_ = w.notify.Remove(x.at) // already gone is fine
		}
	}
	x.at = ""
}

func (w *Watcher) run() {
	defer close(w.ended)
	for {
		select {
		case ev, ok := <-w.notify.Events:
			if !ok {
				return
			}
			w.event(ev)
		case err, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			w.failure(err)
		}
	}
}

func (w *Watcher) event(ev fsnotify.Event) {
	if ev.Op == fsnotify.Chmod {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	path := filepath.Clean(ev.Name)
	if d := w.dirs[path]; d != nil && ev.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
		// The watched directory itself went away or was moved: the system's
		// watch is dead or follows the moved one. Begin again by name.
		delete(w.dirs, path)
		_ = w.notify.Remove(path)
		for x := range d.users {
			x.at = ""
			w.attach(x)
			x.rescan = true
			x.signal()
		}
		return
	}
	d := w.dirs[filepath.Dir(path)]
	if d == nil {
		return
	}
	for x := range d.users {
		if x.at == x.dir {
			x.note(path)
			continue
		}
		// Waiting for the directory to appear: only its own way matters.
		if ev.Op&(fsnotify.Create|fsnotify.Rename) != 0 && within(x.dir, path) {
			w.detach(x)
			w.attach(x)
			if x.at == x.dir {
				x.rescan = true
				x.signal()
			}
		}
	}
}

func within(dir, parent string) bool {
	return dir == parent || len(dir) > len(parent) && dir[:len(parent)] == parent && dir[len(parent)] == filepath.Separator
}

// failure handles a lost event: everybody looks again.
func (w *Watcher) failure(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(err, fsnotify.ErrEventOverflow) && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EMFILE) {
		return
	}
	for x := range w.watches {
		x.rescan = true
		x.signal()
	}
}

// fallBack looks at the directory of x from time to time. Called with w.mu held.
func (w *Watcher) fallBack(x *Watch, err error) {
	if _, on := w.limited[x]; on {
		return
	}
	w.limited[x] = printOf(x.dir)
	if !x.told && w.o.Diagnostic != nil {
		x.told = true
		w.o.Diagnostic(CodeWatchLimited, limitText(err))
	}
	if w.polling {
		return
	}
	w.polling = true
	time.AfterFunc(w.o.Poll, w.poll)
}

func limitText(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return "the system's limit of watched folders is reached; changes are noticed later. " +
			"Raise it: sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"
	}
	return "a folder cannot be watched; changes are noticed later: " + err.Error()
}

// poll runs only while some directory could not be watched.
func (w *Watcher) poll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.limited) == 0 {
		w.polling = false
		return
	}
	for x, before := range w.limited {
		if now := printOf(x.dir); now != before {
			w.limited[x] = now
			x.rescan = true
			x.signal()
		}
		if w.cause == nil { // perhaps there is room again
			delete(w.limited, x)
			told := x.told
			w.attach(x)
			x.told = told
			if x.at != "" {
				x.rescan = true
				x.signal()
			}
		}
	}
	time.AfterFunc(w.o.Poll, w.poll)
}

// dirPrint is a cheap summary of a directory's content.
type dirPrint struct {
	n           int
	size, mtime int64
}

// maxPrinted bounds the work of one look.
const maxPrinted = 4096

func printOf(dir string) dirPrint {
	f, err := os.Open(dir)
	if err != nil {
		return dirPrint{}
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxPrinted)
	p := dirPrint{n: len(entries)}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			p.size += info.Size()
			p.mtime += info.ModTime().UnixNano() // the order of the listing does not matter
		}
	}
	return p
}
