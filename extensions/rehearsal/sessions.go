package rehearsal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// source reports live rehearsals from their registry: one watch per data
// folder, one exit watch per process, nothing else.
type source struct{ *kit }

// Start implements [agent.SessionSource].
func (s *source) Start(ctx context.Context, start agent.SourceStart) error {
	if !slices.Contains(start.Harnesses, ID) {
		<-ctx.Done()
		return nil
	}
	roots := start.Roots
	if len(roots) == 0 {
		roots = []string{string(s.home(nil))}
	}
	w := &watching{kit: s.kit, to: start.Publisher, entries: map[string]*entry{}}
	defer w.close()
	var watches []*agentkit.Watch
	for _, root := range roots {
		x := s.Watcher.Watch(wire.Home(root).Sessions())
		defer x.Close()
		watches = append(watches, x)
	}
	w.first(roots, watches)
	var all sync.WaitGroup
	for i, x := range watches {
		all.Go(func() { w.follow(ctx, wire.Home(roots[i]).Sessions(), x) })
	}
	all.Wait()
	return nil
}

// entry is one believed registry file. Seq orders the entries of one session.
type entry struct {
	claim
	snap agent.Snapshot
	stop func()
	seq  int
}

// watching is the state of one run of the source. Everything is published
// under the lock, so that order of publication is order of change.
type watching struct {
	*kit
	to agent.Publisher

	mu      sync.Mutex
	entries map[string]*entry // by path
	seq     int
	closed  bool
}

// first publishes what is there as one reset.
func (w *watching) first(roots []string, watches []*agentkit.Watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, root := range roots {
		watches[i].Take()
		for _, p := range listed(wire.Home(root).Sessions()) {
			w.load(p)
		}
	}
	best := map[string]*entry{}
	for _, e := range w.entries {
		if b := best[e.snap.ID]; b == nil || b.seq < e.seq {
			best[e.snap.ID] = e
		}
	}
	list := []agent.Snapshot{}
	var rest []agent.Snapshot
	for _, e := range best {
		if len(list) < agent.LimitResetSessions {
			list = append(list, e.snap)
		} else {
			rest = append(rest, e.snap)
		}
	}
	w.to.Reset(list)
	if len(rest) > 0 {
		w.to.Upsert(rest...)
	}
}

func (w *watching) follow(ctx context.Context, dir string, x *agentkit.Watch) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.Wake():
		}
		paths, rescan := x.Take()
		w.mu.Lock()
		if rescan {
			paths = listed(dir)
			for p := range w.entries {
				if filepath.Dir(p) == dir && !slices.Contains(paths, p) {
					paths = append(paths, p)
				}
			}
		}
		for _, p := range paths {
			w.changed(p)
		}
		w.mu.Unlock()
	}
}

func listed(dir string) (paths []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		if entryName.MatchString(e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// load reads one entry; with w.mu held. A new process gets an exit watch.
func (w *watching) load(path string) *entry {
	if w.closed || !entryName.MatchString(filepath.Base(path)) {
		return nil
	}
	c, err := readClaim(path)
	if err != nil {
		if !errors.Is(err, errStale) && !errors.Is(err, os.ErrNotExist) {
			w.to.Diagnostic("registry-entry-unreadable", "A live registry entry of Rehearsal is skipped: "+plain(err))
		}
		return nil
	}
	e := w.entries[path]
	if e != nil && e.id != c.id {
		e.stop()
		delete(w.entries, path)
		e = nil
	}
	if e == nil {
		stop, err := w.Exits.Watch(c.id, func() { w.ended(path, c) })
		if err != nil {
			return nil // it ended while we looked
		}
		e = &entry{stop: stop}
		w.entries[path] = e
	}
	w.seq++
	e.claim, e.snap, e.seq = c, snapshot(c), w.seq
	return e
}

// plain keeps paths out of a diagnostic.
func plain(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// changed publishes one entry's change; with w.mu held.
func (w *watching) changed(path string) {
	var before *entry
	if e := w.entries[path]; e != nil {
		c := *e
		before = &c
	}
	e := w.load(path)
	switch {
	case e == nil && before != nil:
		w.drop(path)
		w.left(before.snap.ID)
	case e != nil:
		if before != nil && before.snap.ID != e.snap.ID {
			w.left(before.snap.ID)
		}
		w.to.Upsert(e.snap)
	}
}

func (w *watching) drop(path string) {
	if e := w.entries[path]; e != nil {
		e.stop()
		delete(w.entries, path)
	}
}

// left removes a session, unless another process holds it too: then that one
// is what there is to see.
func (w *watching) left(id string) {
	var other *entry
	for _, e := range w.entries {
		if e.snap.ID == id && (other == nil || other.seq < e.seq) {
			other = e
		}
	}
	if other == nil {
		w.to.Remove(ID, id)
		return
	}
	w.to.Upsert(other.snap)
}

// ended is called by the exit watch: no file tells of a kill.
func (w *watching) ended(path string, c claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.entries[path]; !w.closed && e != nil && e.id == c.id {
		id := e.snap.ID
		delete(w.entries, path)
		w.left(id)
	}
}

func (w *watching) close() {
	w.mu.Lock()
	w.closed = true
	entries := w.entries
	w.entries = map[string]*entry{}
	w.mu.Unlock()
	for _, e := range entries {
		e.stop()
	}
}
