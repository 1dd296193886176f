package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/api"
)

// bindAgentOfChat gives handlers to the methods that ask a chat's agent about
// itself or about one row.
func (h *Host) bindAgentOfChat() {
	s := h.server
	api.HandleConcurrent(s, "chats.rewindPreview", func(ctx context.Context, _ *api.Caller, r api.RewindRequest) (api.RewindPreview, error) {
		p, err := h.chats.PreviewRewind(ctx, r.ChatID, r.ItemID)
		return api.RewindPreview(p), err
	})
	api.HandleConcurrent(s, "chats.status", func(ctx context.Context, _ *api.Caller, r api.ChatRef) (api.StatusResult, error) {
		st, err := h.chats.Status(ctx, r.ChatID)
		res := api.StatusResult{Live: st.Inspection != nil, Status: st.Inspection}
		if res.Live {
			res.Agent = &st.Agent
		}
		return res, err
	})
	api.HandleConcurrent(s, "chats.cancelItem", func(ctx context.Context, _ *api.Caller, r api.ItemRef) (api.None, error) {
		return api.None{}, h.chats.CancelItem(ctx, r.ChatID, r.ItemID)
	})
}
