package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/whippletree-app/whippletree/backend/api"
)

// Bounds of one look for files.
const (
	maxVisited = 50_000
	maxFound   = 200
)

// skipped folders hold what nobody mentions in a prompt.
var skipped = map[string]bool{".git": true, "node_modules": true, ".hg": true, ".svn": true, "__pycache__": true, ".venv": true}

var errEnough = errors.New("enough")

// findFiles lists paths below a folder, relative to it, whose letters contain
// the query's in order; the best match first. Links are not followed.
func findFiles(ctx context.Context, r api.FilesRequest) ([]string, error) {
	if !filepath.IsAbs(r.Cwd) {
		return nil, &api.Error{Code: api.CodeInvalid, Message: "The folder is not an absolute path."}
	}
	if r.Limit <= 0 || r.Limit > maxFound {
		r.Limit = maxFound
	}
	if r.Dirs {
		return folders(r)
	}
	type hit struct {
		path  string
		score int
	}
	var hits []hit
	visited := 0
	err := filepath.WalkDir(r.Cwd, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not offered
		}
		if visited++; visited > maxVisited || ctx.Err() != nil {
			return errEnough
		}
		if d.IsDir() {
			if path != r.Cwd && skipped[d.Name()] {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(r.Cwd, path)
		if err != nil {
			return nil
		}
		if score, ok := match(rel, r.Query); ok {
			hits = append(hits, hit{rel, score})
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score < hits[j].score })
	var out []string
	for _, x := range hits[:min(len(hits), r.Limit)] {
		out = append(out, x.path)
	}
	return out, nil
}

// folders lists the folders directly below one.
func folders(r api.FilesRequest) ([]string, error) {
	list, err := os.ReadDir(r.Cwd)
	if err != nil {
		return nil, notFound("The folder %s cannot be read.", r.Cwd)
	}
	var out []string
	for _, d := range list {
		if _, ok := match(d.Name(), r.Query); ok && d.IsDir() && len(out) < r.Limit {
			out = append(out, d.Name())
		}
	}
	return out, nil
}

// match scores a path, lower is better: a query found whole in the name, then
// whole in the path, then letter by letter.
func match(path, query string) (score int, ok bool) {
	if query == "" {
		return len(path), true
	}
	p, q := strings.ToLower(path), strings.ToLower(query)
	switch name := filepath.Base(p); {
	case strings.HasPrefix(name, q):
		return len(p), true
	case strings.Contains(name, q):
		return 10_000 + len(p), true
	case strings.Contains(p, q):
		return 20_000 + len(p), true
	}
	rest := p
	for _, c := range q {
		i := strings.IndexRune(rest, c)
		if i < 0 {
			return 0, false
		}
		rest = rest[i+len(string(c)):]
	}
	return 30_000 + len(p), true
}
