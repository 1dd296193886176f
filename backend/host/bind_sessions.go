package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/chats"
)

func (h *Host) bindSessions() {
	s := h.server
	api.HandleConcurrent(s, "sessions.list", func(ctx context.Context, _ *api.Caller, r api.Listing) (api.Sessions, error) {
		h.observed.looked(ctx)
		list, next, total, err := page(h.observed.registry.List(), r, sessionID, sessionMatches)
		return api.Sessions{Sessions: list, Next: next, Total: total}, err
	})
	api.HandleConcurrent(s, "sessions.acknowledge", func(ctx context.Context, _ *api.Caller, r api.SessionRef) (api.None, error) {
		return api.None{}, h.observed.registry.Acknowledge(ctx, r.Key)
	})
	api.HandleConcurrent(s, "sessions.focus", func(ctx context.Context, _ *api.Caller, r api.SessionRef) (api.FocusResult, error) {
		return h.observed.focus(ctx, r.Key)
	})
	h.bindKeeping()
	api.HandleConcurrent(s, "sessions.open", h.openSession)
	api.HandleConcurrent(s, "sessions.stored", h.stored)
	api.HandleConcurrent(s, "sessions.storedFolders", h.storedFolders)
	api.HandleConcurrent(s, "sessions.rows", h.sessionRows)
}

// openSession shows a session that was found as a chat; the same session again
// gives the same chat.
func (h *Host) openSession(ctx context.Context, _ *api.Caller, r api.SessionRef) (api.ChatResult, error) {
	row, ok := h.observed.registry.Session(r.Key)
	if !ok {
		return api.ChatResult{}, &api.Error{Code: api.CodeNotFound, Message: "There is no session " + keyText(r.Key) + ".", Fix: "whippletree ls"}
	}
	if sum, ok := h.chats.Summary(row.ChatID); ok {
		return api.ChatResult{Chat: sum}, nil
	}
	sum, err := h.chats.Create(ctx, chats.CreateRequest{
		ClientID: "session-" + keyText(row.Key), Harness: row.Key.Harness, Kind: agent.KindWorkspace, Cwd: row.Cwd, Title: row.Title,
		Adopt: &agent.Handle{Harness: row.Key.Harness, NativeID: row.Key.ID, Cwd: row.Cwd, Env: row.Env},
	})
	return api.ChatResult{Chat: sum}, err
}
