package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/export"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// bindKeeping binds what finds, writes out and removes chats.
func (h *Host) bindKeeping() {
	s := h.server
	api.HandleConcurrent(s, "search.find", h.search)
	out := &export.Exporter{Source: h.store, Version: h.o.Version, Now: h.o.Now, AgentName: func(harness string) string {
		x, _, _ := h.harnesses.Harness(harness)
		return x.Identity.DisplayName
	}}
	api.HandleConcurrent(s, "chats.export", func(ctx context.Context, _ *api.Caller, r api.ExportRequest) (api.ExportResult, error) {
		if r.Cursor == "" {
			// What is still being written is stored first.
			if _, _, err := h.chats.Rows(ctx, r.ChatID, 0, 0, 1); err != nil {
				return api.ExportResult{}, err
			}
		}
		c, err := out.Chunk(ctx, r.ChatID, r.Format, r.Cursor)
		if errors.Is(err, export.ErrRequest) {
			err = &api.Error{Code: api.CodeInvalid, Message: err.Error()}
		}
		return api.ExportResult{Name: c.Name, Mime: c.Mime, Text: c.Text, Next: c.Next}, err
	})
	api.HandleConcurrent(s, "chats.removal", h.removal)
	api.HandleConcurrent(s, "chats.removed", func(ctx context.Context, _ *api.Caller, _ api.None) (api.RemovedChats, error) {
		list, err := h.store.RemovedChats(ctx, 500)
		return api.RemovedChats{Removed: fit(list)}, err
	})
	api.HandleConcurrent(s, "chats.forgetRemoved", func(ctx context.Context, _ *api.Caller, _ api.None) (api.None, error) {
		return api.None{}, h.store.ForgetRemoved(ctx)
	})
	api.HandleConcurrent(s, "sessions.preview", h.preview)
}

// titlesFound is how many chats a search names by their titles.
const titlesFound = 20

func (h *Host) search(ctx context.Context, _ *api.Caller, r api.SearchRequest) (api.SearchResult, error) {
	q := store.Search{Text: r.Text, ChatID: r.ChatID, Harness: r.Harness, Cwd: r.Cwd, Cursor: r.Cursor, Limit: r.Limit}
	var got store.Found
	var err error
	res := api.SearchResult{}
	switch r.In {
	case "", "chats":
		got, err = h.store.Search(ctx, q)
	case "sessions":
		if res.Off = !h.settings.Values().Search.Sessions; res.Off {
			res.Hits = []model.SearchHit{}
			return res, nil
		}
		if r.Cursor == "" {
			res.Reading = !h.texts.short(ctx)
		}
		got, err = h.store.SearchTranscripts(ctx, q)
	default:
		return res, &api.Error{Code: api.CodeInvalid, Message: "One searches in chats or sessions, not in " + r.In + "."}
	}
	var bad *store.QueryError
	if errors.As(err, &bad) {
		return res, &api.Error{Code: api.CodeInvalid, Message: bad.Error()}
	}
	if err != nil {
		return res, err
	}
	res.Hits, res.Next = fit(got.Hits), got.Next
	if n := len(res.Hits); n < len(got.Hits) {
		res.Next = got.Hits[n-1].Cursor // the rest comes with the next page
	}
	if r.Cursor == "" && r.In != "sessions" {
		res.Waiting, err = h.store.Unindexed(ctx)
		if r.ChatID == "" {
			res.Titles = h.titled(r)
		}
	}
	return res, err
}

// titled are the chats whose title or folder has the text.
func (h *Host) titled(r api.SearchRequest) []model.ChatSummary {
	find := strings.ToLower(strings.TrimSpace(r.Text))
	list := slices.DeleteFunc(h.chats.List(), func(c model.ChatSummary) bool {
		return !strings.Contains(strings.ToLower(c.Title), find) && !strings.Contains(strings.ToLower(c.Cwd), find) ||
			r.Harness != "" && c.Harness != r.Harness ||
			r.Cwd != "" && c.Cwd != r.Cwd && !strings.HasPrefix(c.Cwd, strings.TrimSuffix(r.Cwd, "/")+"/")
	})
	return fit(list[:min(len(list), titlesFound)])
}

// removal says what removing a chat would do.
func (h *Host) removal(ctx context.Context, _ *api.Caller, r api.ChatRef) (api.Removal, error) {
	sum, ok := h.chats.Summary(r.ChatID)
	if !ok {
		return api.Removal{}, notFound("There is no such chat.")
	}
	rows, _, err := h.store.CountRows(ctx, r.ChatID)
	if err != nil {
		return api.Removal{}, err
	}
	res := api.Removal{
		Chat: sum, Rows: rows, Queued: sum.Queued, Waiting: sum.Waiting, Running: sum.Turn != model.TurnIdle,
		InTerminal: sum.Hand.State == model.HandMirror,
	}
	for _, b := range store.Backups(h.store.Path()) {
		if b.At >= sum.CreatedAt {
			res.Backups = filepath.Dir(b.Path)
		}
	}
	if sum.Handle == nil || sum.Kind == agent.KindConfined {
		return res, nil
	}
	res.AgentSession = sum.Handle.NativeID
	if f, err := h.store.StoredByID(ctx, sum.Handle.Harness, sum.Handle.NativeID); err == nil {
		if _, err := os.Stat(f.Path); err == nil {
			res.AgentFile = f.Path
		}
	}
	return res, nil
}
