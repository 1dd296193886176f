package claudecode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// storedFile is one transcript on disk, before anything of it is read.
type storedFile struct {
	path  string
	id    string
	mtime int64 // nanoseconds
	size  int64
}

func (f storedFile) cursor() string { return strconv.FormatInt(f.mtime, 10) + "." + f.id }

// Stored lists conversations on disk, newest change first. Only the page that
// is returned is read, and of each its ends.
func (h *handover) Stored(ctx context.Context, cwd, cursor string, limit int) ([]agent.StoredSession, string, error) {
	config := configDir(h.host, nil)
	files, err := storedFiles(config, cwd)
	if err != nil {
		return nil, "", err
	}
	if cursor != "" {
		at, id, ok := strings.Cut(cursor, ".")
		mtime, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil || checkID(id) != nil {
			return nil, "", errors.New("this is no cursor of the list of stored sessions")
		}
		after := storedFile{id: id, mtime: mtime}
		from, _ := slices.BinarySearchFunc(files, after, newestFirst)
		for from < len(files) && newestFirst(files[from], after) <= 0 {
			from++
		}
		files = files[from:]
	}
	if limit <= 0 {
		limit = 50
	}
	list := []agent.StoredSession{}
	for i, f := range files {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		sum, err := summarize(f.path, h.host.Time())
		if err != nil || !sum.spoken || (cwd != "" && !samePath(sum.cwd, cwd)) {
			continue
		}
		updated := sum.updated
		if updated == 0 {
			updated = f.mtime / 1_000_000
		}
		list = append(list, agent.StoredSession{
			Handle:    handleFor(h.host, f.id, sum.cwd, nil),
			Title:     or(sum.name("", false), "Session "+f.id[:min(8, len(f.id))]),
			UpdatedAt: updated, Size: f.size, Model: sum.model,
		})
		if len(list) == limit && i+1 < len(files) {
			return list, f.cursor(), nil
		}
	}
	return list, "", nil
}

func newestFirst(a, b storedFile) int {
	switch {
	case a.mtime > b.mtime:
		return -1
	case a.mtime < b.mtime:
		return 1
	}
	return strings.Compare(a.id, b.id)
}

func storedFiles(config, cwd string) ([]storedFile, error) {
	var dirs []string
	if cwd != "" {
		dirs = []string{filepath.Join(projectsDir(config), slug(cwd))}
	} else {
		entries, err := os.ReadDir(projectsDir(config))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the stored sessions cannot be listed: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, filepath.Join(projectsDir(config), e.Name()))
			}
		}
	}
	var files []storedFile
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // removed meanwhile, or not ours to read
		}
		for _, e := range entries {
			id, isTranscript := strings.CutSuffix(e.Name(), ".jsonl")
			if !isTranscript || checkID(id) != nil {
				continue
			}
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			files = append(files, storedFile{filepath.Join(dir, e.Name()), id, info.ModTime().UnixNano(), info.Size()})
		}
	}
	slices.SortFunc(files, newestFirst)
	return files, nil
}

func samePath(a, b string) bool {
	if a == b {
		return true
	}
	ra, err1 := filepath.EvalSymlinks(a)
	rb, err2 := filepath.EvalSymlinks(b)
	return err1 == nil && err2 == nil && ra == rb
}
