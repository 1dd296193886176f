package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func (h *Host) bindHandoff() {
	s := h.server
	api.HandleConcurrent(s, "handoff.preview", func(context.Context, *api.Caller, api.ChatRef) (model.HandoffPreview, error) {
		return model.HandoffPreview{}, unsupported("Chats cannot be handed over.")
	})
	api.HandleConcurrent(s, "handoff.toTerminal", func(context.Context, *api.Caller, api.HandoffRequest) (api.HandoffResult, error) {
		return api.HandoffResult{}, unsupported("Chats cannot be handed over.")
	})
	api.HandleConcurrent(s, "handoff.takeBack", func(context.Context, *api.Caller, api.TakeBack) (api.HandResult, error) {
		return api.HandResult{}, unsupported("Chats cannot be handed over.")
	})
}
