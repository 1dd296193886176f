package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/store"
)

// storedIndex is the index of stored sessions that harnesses work with, in the
// database.
type storedIndex struct{ store *store.Store }

func (x storedIndex) Stamps(ctx context.Context, harness string, visit func(string, agentkit.Stamp)) error {
	return x.store.EachStamp(ctx, harness, func(path string, size, mtime int64, inode uint64) {
		visit(path, agentkit.Stamp{Size: size, Mtime: mtime, Inode: inode})
	})
}

func (x storedIndex) Known(ctx context.Context, harness, path string) (agentkit.Indexed, bool, error) {
	f, err := x.store.StoredByPath(ctx, harness, path)
	if errors.Is(err, store.ErrNotFound) {
		return agentkit.Indexed{}, false, nil
	}
	return agentkit.Indexed{
		Harness: f.Harness, Path: f.Path, Stamp: agentkit.Stamp{Size: f.Size, Mtime: f.Mtime, Inode: f.Inode},
		Tail:   agentkit.TailState{Offset: f.ReadTo, Inode: f.Inode, Before: f.Before},
		Listed: !f.Hidden, Session: f.Session, Facts: f.Facts,
	}, err == nil, err
}

func (x storedIndex) Put(ctx context.Context, files ...agentkit.Indexed) error {
	list := make([]store.StoredFile, 0, len(files))
	for _, f := range files {
		list = append(list, store.StoredFile{
			Harness: f.Harness, Path: f.Path, Size: f.Stamp.Size, Mtime: f.Stamp.Mtime, Inode: f.Stamp.Inode,
			ReadTo: f.Tail.Offset, Before: f.Tail.Before, Hidden: !f.Listed, Session: f.Session, Facts: f.Facts,
		})
	}
	return x.store.PutStored(ctx, list...)
}

func (x storedIndex) Remove(ctx context.Context, harness string, paths ...string) error {
	return x.store.RemoveStored(ctx, harness, paths...)
}

func (x storedIndex) Page(ctx context.Context, q agentkit.StoredQuery) ([]agent.StoredSession, string, error) {
	list, next, err := x.store.ListStored(ctx, q.Harness, q.Cwds, q.Cursor, q.Limit)
	if errors.Is(err, store.ErrBadCursor) {
		err = agentkit.ErrBadCursor
	}
	return list, next, err
}

func (x storedIndex) Folders(ctx context.Context, harness string) ([]agent.StoredFolder, error) {
	return x.store.StoredFolders(ctx, harness)
}

// checks compares the index of stored sessions with the disk, when somebody asks
// for a list: one comparison of a harness at a time.
type checks struct {
	host *Host

	mu      sync.Mutex
	running map[string]*check
	// whole says that a comparison went to its end since the host started.
	whole map[string]bool
}

type check struct {
	// some is closed when the index has something to show, all at the end.
	some, all chan struct{}
	once      sync.Once
}

func newChecks(h *Host) *checks {
	return &checks{host: h, running: map[string]*check{}, whole: map[string]bool{}}
}

// begin starts a comparison unless one is running.
func (c *checks) begin(harness string, what agent.StoredChecker) *check {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.running[harness]; x != nil {
		return x
	}
	x := &check{some: make(chan struct{}), all: make(chan struct{})}
	if c.host.ctx.Err() != nil {
		close(x.some)
		close(x.all)
		return x
	}
	c.running[harness] = x
	c.host.wg.Go(func() {
		began := time.Now()
		err := what.CheckStored(c.host.ctx, func() { x.once.Do(func() { close(x.some) }) })
		c.mu.Lock()
		delete(c.running, harness)
		c.whole[harness] = c.whole[harness] || err == nil
		c.mu.Unlock()
		x.once.Do(func() { close(x.some) })
		close(x.all)
		if err != nil && c.host.ctx.Err() == nil {
			c.host.log.Warn("stored sessions", "harness", harness, "err", err)
		}
		c.host.log.Debug("stored sessions were compared with the disk", "harness", harness, "took", time.Since(began))
	})
	return x
}

// waitSome bounds how long a list waits for its first rows when nothing is known.
const waitSome = 5 * time.Second

// importer is a harness that lists stored sessions.
type importer struct {
	harness string
	agent.Importer
}

// importers are those of one harness, or of all. An agent that the settings made
// of another has no sessions of its own.
func (h *Host) importers(harness string) []importer {
	var list []importer
	all := h.harnesses.builtinAndMade()
	if x, ok := pick(all, harness); ok && x.Extends != "" {
		harness = x.Extends
	}
	for _, x := range all {
		imp, ok := x.Handover.(agent.Importer)
		if !ok {
			imp, ok = x.Provider.(agent.Importer)
		}
		if ok && x.Extends == "" && (harness == "" || harness == x.Identity.Harness) {
			list = append(list, importer{x.Identity.Harness, imp})
		}
	}
	return list
}

// compare brings a harness's index to what is on disk, in the background. It
// waits for the first rows when nothing is known, and for all with fresh. It
// reports whether it is still at it.
func (h *Host) compare(ctx context.Context, x importer, fresh, empty bool) (checking bool, err error) {
	what, ok := x.Importer.(agent.StoredChecker)
	if !ok {
		return false, nil
	}
	c := h.checks.begin(x.harness, what)
	var until <-chan struct{}
	switch {
	case fresh:
		until = c.all
	case empty:
		until = c.some
	}
	if until != nil {
		bound := time.NewTimer(waitSome)
		defer bound.Stop()
		late := bound.C
		if fresh {
			late = nil
		}
		select {
		case <-until:
		case <-late:
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case <-h.ctx.Done():
			return false, context.Cause(h.ctx)
		}
	}
	select {
	case <-c.all:
		return false, nil
	default:
		return true, nil
	}
}

// stored lists conversations on disk, newest first. The cursor is the harness's
// own when one is named; all of them together have one page each. The first page
// has the disk looked at meanwhile.
func (h *Host) stored(ctx context.Context, _ *api.Caller, r api.StoredRequest) (api.StoredResult, error) {
	if r.Limit <= 0 || r.Limit > 200 {
		r.Limit = 50
	}
	res := api.StoredResult{Sessions: []agent.StoredSession{}}
	for _, x := range h.importers(r.Harness) {
		list, next, err := h.storedOf(ctx, x, r, &res.Checking)
		if short := fit(list); err == nil && len(short) < len(list) { // the cursor is that of what fits
			list, next, err = x.Stored(ctx, r.Cwd, r.Cursor, len(short))
		}
		if err != nil {
			if r.Harness != "" {
				return res, err
			}
			h.log.Warn("stored sessions", "harness", x.harness, "err", err)
			continue
		}
		res.Sessions = append(res.Sessions, list...)
		if r.Harness != "" {
			res.Next = next
		}
	}
	res.Sessions = fit(res.Sessions)
	return res, nil
}

func (h *Host) storedOf(ctx context.Context, x importer, r api.StoredRequest, checking *bool) ([]agent.StoredSession, string, error) {
	if r.Cursor == "" && r.Fresh {
		if _, err := h.compare(ctx, x, true, false); err != nil {
			return nil, "", err
		}
	}
	list, next, err := x.Stored(ctx, r.Cwd, r.Cursor, r.Limit)
	if err != nil || r.Cursor != "" || r.Fresh {
		return list, next, err
	}
	empty := len(list) == 0 && !h.checks.seen(x.harness)
	still, err := h.compare(ctx, x, false, empty)
	*checking = *checking || still
	if err == nil && empty {
		return x.Stored(ctx, r.Cwd, r.Cursor, r.Limit)
	}
	return list, next, err
}

func (c *checks) seen(harness string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.whole[harness]
}

// storedFolders lists the folders that stored sessions were held in, with their
// projects.
func (h *Host) storedFolders(ctx context.Context, _ *api.Caller, r api.StoredRequest) (api.StoredFolders, error) {
	res := api.StoredFolders{Folders: []api.StoredFolder{}}
	for _, x := range h.importers(r.Harness) {
		what, ok := x.Importer.(agent.StoredChecker)
		if !ok {
			continue
		}
		list, err := what.StoredFolders(ctx)
		if err != nil {
			return res, err
		}
		empty := len(list) == 0 && !h.checks.seen(x.harness)
		still, err := h.compare(ctx, x, r.Fresh, empty)
		if err != nil {
			return res, err
		}
		res.Checking = res.Checking || still
		if empty || r.Fresh {
			if list, err = what.StoredFolders(ctx); err != nil {
				return res, err
			}
		}
		for _, f := range list {
			res.Folders = append(res.Folders, api.StoredFolder{
				Harness: x.harness, Cwd: f.Cwd, Project: h.projects.Of(f.Cwd), Sessions: f.Sessions, UpdatedAt: f.UpdatedAt,
			})
		}
	}
	slices.SortStableFunc(res.Folders, func(a, b api.StoredFolder) int { return int(min(max(b.UpdatedAt-a.UpdatedAt, -1), 1)) })
	res.Folders = fit(res.Folders)
	return res, nil
}
