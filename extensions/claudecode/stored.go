package claudecode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// storedList lists the program's transcripts out of the host's index.
func storedList(h *agentkit.Host, index agentkit.Index) *agentkit.StoredList {
	return &agentkit.StoredList{
		Harness: harnessID, Index: index,
		Files: func(ctx context.Context) ([]agentkit.StoredFile, error) {
			var files []agentkit.StoredFile
			var err error
			for _, home := range homes(h) {
				if files, err = transcripts(ctx, home, files); err != nil {
					return nil, err
				}
			}
			return files, nil
		},
		Reader: func() func(agentkit.StoredFile, agentkit.Indexed) (agentkit.Indexed, error) {
			r := newFactsReader()
			return func(f agentkit.StoredFile, known agentkit.Indexed) (agentkit.Indexed, error) {
				return indexed(h, r, f, known)
			}
		},
	}
}

// indexed reads what the index keeps of a transcript.
func indexed(h *agentkit.Host, r *factsReader, f agentkit.StoredFile, known agentkit.Indexed) (agentkit.Indexed, error) {
	now := h.Time()
	x := agentkit.Indexed{Stamp: f.Stamp}
	var what facts
	var err error
	if had, ok := loadFacts(&known); ok {
		what, x.Tail, err = r.readOn(f.Path, f.Stamp.Size, had, known.Tail, now)
	} else {
		what, x.Stamp, x.Tail, err = r.read(f.Path, now)
	}
	if err != nil {
		return x, err
	}
	return entryOf(h, f.ID, f.Home, x, &what), nil
}

// entryOf makes the row of a list out of the facts.
func entryOf(h *agentkit.Host, id, home string, x agentkit.Indexed, f *facts) agentkit.Indexed {
	f.lastPrompt()
	x.Facts = f.save()
	x.Listed = f.Spoken
	updated := f.Updated
	if updated == 0 { // no record tells
		updated = min(x.Stamp.Mtime/1_000_000, h.Time().UnixMilli())
	}
	x.Session = agent.StoredSession{
		Handle:    agent.Handle{Harness: harnessID, NativeID: id, Cwd: f.Cwd, Env: homeEnv(h, home)},
		Title:     or(f.name("", false), "Session "+id[:min(8, len(id))]),
		UpdatedAt: updated, Size: x.Stamp.Size, Model: f.Model, StartedAt: f.Began, First: f.First,
		LastTurn: f.Turn, LastTurnEndedAt: f.TurnEnd, SkippedLines: f.Skipped, ClockOdd: f.Odd,
	}
	if f.Last != f.First {
		x.Session.Last = f.Last
	}
	return x
}

// transcripts lists the files of a home that hold a session. No file is opened.
func transcripts(ctx context.Context, home string, files []agentkit.StoredFile) ([]agentkit.StoredFile, error) {
	folders, err := os.ReadDir(projectsDir(home))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the stored sessions cannot be listed: %w", err)
	}
	for _, folder := range folders {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !folder.IsDir() {
			continue
		}
		dir := filepath.Join(projectsDir(home), folder.Name())
		d, err := os.Open(dir)
		if err != nil {
			continue // removed meanwhile, or not ours to read
		}
		names, _ := d.ReadDir(-1) // what there is of it
		_ = d.Close()
		for _, e := range names {
			id, isTranscript := strings.CutSuffix(e.Name(), ".jsonl")
			// Older versions put the transcripts of sub-agents here.
			if !isTranscript || strings.HasPrefix(id, "agent-") || checkID(id) != nil {
				continue
			}
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			files = append(files, agentkit.StoredFile{Path: dir + string(filepath.Separator) + e.Name(), ID: id, Home: home, Stamp: agentkit.StampOf(info)})
		}
	}
	return files, nil
}

// Stored lists conversations on disk, newest first, out of the index. Without a
// host that keeps one, the disk is looked at for the first page.
func (h *handover) Stored(ctx context.Context, cwd, cursor string, limit int) ([]agent.StoredSession, string, error) {
	list := h.list()
	if cursor == "" && h.host.Index == nil {
		if err := list.Check(ctx, nil); err != nil {
			return nil, "", err
		}
	}
	return list.Page(ctx, cwd, cursor, limit)
}

// CheckStored implements [agent.StoredChecker].
func (h *handover) CheckStored(ctx context.Context, progress func()) error {
	return h.list().Check(ctx, progress)
}

// StoredFolders implements [agent.StoredChecker].
func (h *handover) StoredFolders(ctx context.Context) ([]agent.StoredFolder, error) {
	return h.list().Index.Folders(ctx, harnessID)
}

func (h *handover) list() *agentkit.StoredList {
	if h.host.Index != nil {
		return storedList(h.host, h.host.Index)
	}
	return storedList(h.host, &h.memory)
}

var _ agent.StoredChecker = (*handover)(nil)
