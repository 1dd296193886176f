package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/whippletree-app/whippletree/backend/git"
)

// maxVisited bounds one walk.
const maxVisited = 500_000

// skipped folders hold what nobody mentions in a prompt, where nothing says what
// is ignored.
var skipped = map[string]bool{".git": true, "node_modules": true, ".hg": true, ".svn": true, "__pycache__": true, ".venv": true}

// list reads what a folder holds: git tells, or a walk finds it. before is an
// earlier listing, or nil.
func list(ctx context.Context, g git.Git, dir string, before *listing, now func() time.Time) (*listing, error) {
	l, err := listGit(ctx, g, dir, before, now)
	var exit *git.ExitError
	switch {
	case err == nil && l.len() > 0:
		return l, nil
	case err != nil && !errors.Is(err, git.ErrNone) && !errors.As(err, &exit):
		return nil, err
	}
	// No repository, no git, one that git refuses, or a folder that is ignored as
	// a whole: what is there can still be mentioned.
	return walk(ctx, dir, before, now)
}

var errEnough = errors.New("enough")

func listGit(ctx context.Context, g git.Git, dir string, before *listing, now func() time.Time) (*listing, error) {
	b := newBuilder().like(before)
	err := g.Stream(ctx, dir, func(r io.Reader) error {
		buf := make([]byte, 0, 64<<10)
		chunk := make([]byte, 64<<10)
		last := ""
		for {
			n, err := r.Read(chunk)
			buf = append(buf, chunk[:n]...)
			for {
				end := bytes.IndexByte(buf, 0)
				if end < 0 {
					break
				}
				// One path comes several times while it is in conflict.
				if path := string(buf[:end]); path != last {
					last = path
					if !b.add(path) {
						return errEnough
					}
				}
				buf = buf[end+1:]
			}
			if len(buf) > 64<<10 {
				return errors.New("git printed a path that is too long")
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return b.done("git", now()), nil
}

// walk finds files breadth first, so that a bound cuts off what lies deep. Links
// are named and not followed.
func walk(ctx context.Context, top string, before *listing, now func() time.Time) (*listing, error) {
	type folder struct {
		rel string // with a slash at the end, "" at the top
		ign *ignore
	}
	b := newBuilder().like(before)
	var unseen *ignore
	queue := []folder{{"", unseen.below(top, "")}}
	visited := 0
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		entries, err := os.ReadDir(filepath.Join(top, filepath.FromSlash(f.rel)))
		if err != nil && f.rel == "" {
			return nil, err
		}
		sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
		for _, e := range entries {
			if visited++; visited > maxVisited {
				b.l.limited = true
				return b.done("walk", now()), nil
			}
			rel := f.rel + e.Name()
			switch {
			case e.IsDir() && skipped[e.Name()], f.ign.ignored(rel, e.IsDir()):
			case e.IsDir():
				ign := f.ign
				if _, err := os.Lstat(filepath.Join(top, filepath.FromSlash(rel), ".git")); err == nil {
					ign = nil // a repository of its own: what is said above it does not count there
				}
				queue = append(queue, folder{rel + "/", ign.below(top, rel+"/")})
			case !b.add(rel):
				return b.done("walk", now()), nil
			}
		}
	}
	return b.done("walk", now()), nil
}
