package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func unsupported(what string) *api.Error {
	return &api.Error{Code: api.CodeUnsupported, Message: what}
}

func (o *observed) list() []model.Session { return nil }

func (h *Host) bindSessions() {
	s := h.server
	api.Handle(s, "sessions.list", func(context.Context, *api.Caller, api.None) (api.Sessions, error) {
		return api.Sessions{Sessions: fit(h.observed.list())}, nil
	})
	api.Handle(s, "sessions.acknowledge", func(context.Context, *api.Caller, api.SessionRef) (api.None, error) {
		return api.None{}, unsupported("Sessions are not observed.")
	})
	api.HandleConcurrent(s, "sessions.focus", func(context.Context, *api.Caller, api.SessionRef) (api.FocusResult, error) {
		return api.FocusResult{}, unsupported("Sessions are not observed.")
	})
	api.HandleConcurrent(s, "sessions.open", func(context.Context, *api.Caller, api.SessionRef) (api.ChatResult, error) {
		return api.ChatResult{}, unsupported("Sessions are not observed.")
	})
	api.HandleConcurrent(s, "sessions.stored", h.stored)
}

// stored lists conversations on disk, newest first. The cursor is the harness's
// own when one is named; all of them together have one page each.
func (h *Host) stored(ctx context.Context, _ *api.Caller, r api.StoredRequest) (api.StoredResult, error) {
	if r.Limit <= 0 || r.Limit > 200 {
		r.Limit = 50
	}
	res := api.StoredResult{Sessions: []agent.StoredSession{}}
	for _, x := range h.harnesses.list {
		imp, ok := x.Handover.(agent.Importer)
		if !ok {
			imp, ok = x.Provider.(agent.Importer)
		}
		if !ok || (r.Harness != "" && r.Harness != x.Identity.Harness) {
			continue
		}
		list, next, err := imp.Stored(ctx, r.Cwd, r.Cursor, r.Limit)
		if err != nil {
			if r.Harness != "" {
				return res, err
			}
			h.log.Warn("stored sessions", "harness", x.Identity.Harness, "err", err)
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
