package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/git"
)

// Options of a Finder. Git is needed; zero values of the others are useful.
type Options struct {
	Git git.Git
	// StaleAfter is how old a listing may be before a newer one is made beside the
	// answer (2 s); ForgetAfter how long an unused one is kept (10 min); ListBound
	// how long making one may take (60 s).
	StaleAfter, ForgetAfter, ListBound time.Duration
	Now                                func() time.Time
}

// maxRoots bounds how many folders are known at once.
const maxRoots = 4

// MaxFound bounds one answer.
const MaxFound = 200

// Finder answers which files of a folder fit what a person typed. All methods are
// safe for concurrent use.
type Finder struct {
	o      Options
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	roots  map[string]*root
	forget *time.Timer
	closed bool
}

type root struct {
	known  *listing
	making *making // nil when none is made
	used   time.Time
}

type making struct {
	done chan struct{}
	l    *listing
	err  error
}

// Found is one answer: paths relative to the folder, with slashes, the best
// first; a folder ends with a slash. Total counts what is listed, Stale says that
// a newer listing is being made, Limited that the folder holds more.
type Found struct {
	Paths   []string
	Total   int
	Stale   bool
	Limited bool
}

// New makes a Finder; Close ends it.
func New(o Options) *Finder {
	for d, v := range map[*time.Duration]time.Duration{&o.StaleAfter: 2 * time.Second, &o.ForgetAfter: 10 * time.Minute, &o.ListBound: time.Minute} {
		if *d == 0 {
			*d = v
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &Finder{o: o, roots: map[string]*root{}}
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
	return f
}

// Close ends what is being listed and waits for it.
func (f *Finder) Close() {
	f.mu.Lock()
	f.closed = true
	f.roots = map[string]*root{}
	if f.forget != nil {
		f.forget.Stop()
	}
	f.mu.Unlock()
	f.cancel(errors.New("the host is being stopped"))
	f.work.Wait()
}

// Find returns at most limit files and folders below dir whose path has the
// letters of query in order. The first question about a folder waits for its
// listing; later ones are answered from what is known, and with fresh they wait
// for a newer listing.
func (f *Finder) Find(ctx context.Context, dir, query string, limit int, fresh bool) (Found, error) {
	if !filepath.IsAbs(dir) {
		return Found{}, fmt.Errorf("the folder %q is not an absolute path", dir)
	}
	dir = filepath.Clean(dir)
	if limit <= 0 || limit > MaxFound {
		limit = MaxFound
	}
	known, run, err := f.ask(dir, fresh)
	if err != nil {
		return Found{}, err
	}
	if known == nil || fresh && run != nil {
		select {
		case <-run.done:
		case <-ctx.Done():
			return Found{}, context.Cause(ctx)
		}
		if run.err != nil && known == nil {
			return Found{}, run.err
		}
		if run.err == nil {
			known, run = run.l, nil
		}
	}
	out := Found{Total: known.len(), Stale: run != nil, Limited: known.limited, Paths: []string{}}
	// What was removed since the listing is left out.
	for _, i := range known.find(strings.TrimPrefix(query, "./"), limit+8) {
		path := known.path(i)
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path))); err == nil && len(out.Paths) < limit {
			out.Paths = append(out.Paths, path)
		}
	}
	return out, nil
}

// ask returns the known listing and the one that is being made, one of which is
// not nil.
func (f *Finder) ask(dir string, fresh bool) (*listing, *making, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil, context.Canceled
	}
	now := f.o.Now()
	r := f.roots[dir]
	if r == nil {
		f.makeRoom()
		r = &root{}
		f.roots[dir] = r
	}
	r.used = now
	f.forgetLater()
	if r.making == nil && (r.known == nil || fresh || now.Sub(r.known.at) > f.o.StaleAfter || now.Before(r.known.at)) {
		run := &making{done: make(chan struct{})}
		r.making = run
		f.work.Add(1)
		go f.make(dir, r, run)
	}
	return r.known, r.making, nil
}

func (f *Finder) make(dir string, r *root, run *making) {
	defer f.work.Done()
	ctx, cancel := context.WithTimeoutCause(f.ctx, f.o.ListBound, fmt.Errorf("the files of %s were not listed within %s", dir, f.o.ListBound))
	defer cancel()
	f.mu.Lock()
	before := r.known
	f.mu.Unlock()
	run.l, run.err = list(ctx, f.o.Git, dir, before, f.o.Now)
	f.mu.Lock()
	r.making = nil
	if run.err == nil {
		r.known = run.l
	} else if r.known == nil && f.roots[dir] == r {
		delete(f.roots, dir)
	}
	f.mu.Unlock()
	close(run.done)
}

// makeRoom forgets the folder that was not used for longest.
func (f *Finder) makeRoom() {
	if len(f.roots) < maxRoots {
		return
	}
	oldest := ""
	for dir, r := range f.roots {
		if oldest == "" || r.used.Before(f.roots[oldest].used) {
			oldest = dir
		}
	}
	delete(f.roots, oldest)
}

// forgetLater drops all listings once nobody asked for a while: one deadline that
// each question puts off.
func (f *Finder) forgetLater() {
	if f.forget != nil {
		f.forget.Reset(f.o.ForgetAfter)
		return
	}
	f.forget = time.AfterFunc(f.o.ForgetAfter, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for dir, r := range f.roots {
			if r.making == nil {
				delete(f.roots, dir)
			}
		}
	})
}

// Folders lists the folders directly below one whose name has the letters of
// query, for a folder picker. Links to folders count.
func Folders(dir, query string, limit int) ([]string, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("the folder %q is not an absolute path", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if limit <= 0 || limit > MaxFound {
		limit = MaxFound
	}
	b := newBuilder()
	for _, e := range entries {
		if !e.IsDir() {
			if e.Type()&os.ModeSymlink == 0 {
				continue
			}
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err != nil || !info.IsDir() {
				continue
			}
		}
		b.add(e.Name())
	}
	l := b.done("", time.Time{})
	out := []string{}
	if query == "" { // by name
		for i := range min(l.len(), limit) {
			out = append(out, l.path(i))
		}
		return out, nil
	}
	for _, i := range l.find(query, limit) {
		out = append(out, l.path(i))
	}
	return out, nil
}
