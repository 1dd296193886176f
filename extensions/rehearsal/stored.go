package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// headBytes is how much of a session file is read for its row in a list.
const headBytes = 64 << 10

type storedFile struct {
	id    string
	path  string
	mtime int64 // nanoseconds
	size  int64
}

// Stored implements [agent.Importer]. The cursor is the last file's time and
// id.
func (k *kit) Stored(ctx context.Context, cwd, cursor string, limit int) ([]agent.StoredSession, string, error) {
	home := k.home(nil)
	files, err := storedFiles(home)
	if err != nil {
		return nil, "", err
	}
	if cursor != "" {
		at, id, ok := strings.Cut(cursor, " ")
		mtime, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil {
			return nil, "", errors.New("the cursor is not one of this list")
		}
		files = slices.DeleteFunc(files, func(f storedFile) bool { return !f.after(mtime, id) })
	}
	list := []agent.StoredSession{}
	for i, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		if s, ok := k.stored(home, f); ok && (cwd == "" || s.Handle.Cwd == cwd) {
			list = append(list, s)
		}
		if len(list) == limit && i < len(files)-1 {
			return list, strconv.FormatInt(f.mtime, 10) + " " + f.id, nil
		}
	}
	return list, "", nil
}

func (f storedFile) after(mtime int64, id string) bool {
	return f.mtime < mtime || f.mtime == mtime && f.id > id
}

func storedFiles(home wire.Home) ([]storedFile, error) {
	dir, err := os.ReadDir(home.Transcripts())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []storedFile
	for _, e := range dir {
		id, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok || !wire.ValidSession(id) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, storedFile{id, filepath.Join(home.Transcripts(), e.Name()), info.ModTime().UnixNano(), info.Size()})
		}
	}
	slices.SortFunc(files, func(a, b storedFile) int {
		return cmp.Or(cmp.Compare(b.mtime, a.mtime), strings.Compare(a.id, b.id))
	})
	return files, nil
}

// stored reads the head of a file: folder, title and model stand there.
func (k *kit) stored(home wire.Home, f storedFile) (agent.StoredSession, bool) {
	s := agent.StoredSession{UpdatedAt: f.mtime / 1e6, Size: f.size}
	cwd := ""
	err := agentkit.FirstLines(f.path, headBytes, func(l agentkit.Line) bool {
		rec, ok := wire.ParseRecord(l.Data)
		if !ok {
			return true
		}
		if rec.Type == wire.RecordSession {
			cwd = rec.Cwd
		}
		if rec.Title != "" {
			s.Title = cut(rec.Title, agent.LimitTitle)
		}
		if rec.Settings != nil {
			s.Model = rec.Settings.Model
		}
		return cwd == "" || s.Title == "" || s.Model == ""
	})
	if err != nil || !filepath.IsAbs(cwd) {
		return s, false
	}
	s.Handle = k.handle(home, f.id, cwd)
	return s, true
}
