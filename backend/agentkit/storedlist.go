package agentkit

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// StoredFile is a file on disk that may hold a session, before anything of it is
// read.
type StoredFile struct {
	Path string
	// ID is the session's, Home the data folder of the agent that it is in.
	ID, Home string
	Stamp    Stamp
}

// StoredList lists an agent's sessions on disk out of an index. A file is opened
// only when it does not stand as the index knows it.
type StoredList struct {
	Harness string
	Index   Index
	// Files lists what is on disk: a walk that opens no file.
	Files func(ctx context.Context) ([]StoredFile, error)
	// Reader makes what reads a file; each is used by one goroutine. known is what
	// is remembered of the file, zero when nothing is. A file that cannot be read
	// is left out until it changes.
	Reader func() func(f StoredFile, known Indexed) (Indexed, error)
}

// How many files are read before the index is told: few at first, so that a list
// has something to show.
const (
	firstBatch = 64
	laterBatch = 1024
)

// Check brings the index to what is on disk, the newest files first. progress,
// which may be nil, is called after each part that the index took. One check
// runs at a time.
func (l *StoredList) Check(ctx context.Context, progress func()) error {
	known := map[string]Stamp{}
	var recall error
	var both sync.WaitGroup
	both.Go(func() {
		recall = l.Index.Stamps(ctx, l.Harness, func(path string, s Stamp) { known[path] = s })
	})
	files, err := l.Files(ctx)
	both.Wait()
	if err = errors.Join(err, recall); err != nil {
		return err
	}
	type work struct {
		StoredFile
		seen bool
	}
	var changed []work
	for _, f := range files {
		s, seen := known[f.Path]
		if !seen || s != f.Stamp {
			changed = append(changed, work{f, seen})
		}
		delete(known, f.Path)
	}
	if len(known) > 0 {
		gone := make([]string, 0, len(known))
		for path := range known {
			gone = append(gone, path)
		}
		if err := l.Index.Remove(ctx, l.Harness, gone...); err != nil {
			return err
		}
	}
	slices.SortFunc(changed, func(a, b work) int { return cmp.Compare(b.Stamp.Mtime, a.Stamp.Mtime) })

	// What was read is given to the index while the next part is read.
	var put sync.WaitGroup
	var failed error
	for size := firstBatch; len(changed) > 0; size = laterBatch {
		part := changed[:min(size, len(changed))]
		changed = changed[len(part):]
		results := make([]Indexed, len(part))
		var wg sync.WaitGroup
		workers := min(runtime.GOMAXPROCS(0), 4, 1+len(part)/16)
		for w := range workers {
			wg.Go(func() {
				read := l.Reader()
				for i := w; i < len(part) && ctx.Err() == nil; i += workers {
					f := part[i]
					var before Indexed
					if f.seen {
						before, _, _ = l.Index.Known(ctx, l.Harness, f.Path) // without it the file is read anew
					}
					x, err := read(f.StoredFile, before)
					if err != nil { // gone meanwhile, or not ours to read
						x = Indexed{Stamp: f.Stamp}
					}
					x.Harness, x.Path = l.Harness, f.Path
					results[i] = x
				}
			})
		}
		wg.Wait()
		put.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if failed != nil {
			return failed
		}
		put.Go(func() {
			if failed = l.Index.Put(ctx, results...); failed == nil && progress != nil {
				progress()
			}
		})
	}
	put.Wait()
	return failed
}

// Page lists sessions, newest first, at most limit (50 when it is not set). cwd
// limits it to one folder, also under its real name.
func (l *StoredList) Page(ctx context.Context, cwd, cursor string, limit int) ([]agent.StoredSession, string, error) {
	q := StoredQuery{Harness: l.Harness, Cursor: cursor, Limit: limit}
	if limit <= 0 {
		q.Limit = 50
	}
	if cwd != "" {
		q.Cwds = []string{cwd}
		if real, err := filepath.EvalSymlinks(cwd); err == nil && real != cwd {
			q.Cwds = append(q.Cwds, real)
		}
	}
	return l.Index.Page(ctx, q)
}
