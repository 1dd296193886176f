package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
)

// bindAgentOfChat gives handlers to the methods that ask an agent about itself:
// that of a chat, or what chats of it may have as options.
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
	api.Handle(s, "harnesses.options", func(_ context.Context, _ *api.Caller, r api.HarnessRef) (api.SchemaResult, error) {
		a, _, ok := h.harnesses.Harness(r.Harness)
		if !ok {
			return api.SchemaResult{}, notFound("There is no agent %q.", r.Harness)
		}
		tells, ok := a.Provider.(agent.OptionsTeller)
		if !ok {
			return api.SchemaResult{}, &api.Error{Code: api.CodeUnsupported, Message: a.Identity.DisplayName + " has no options of its own."}
		}
		return api.SchemaResult{Schema: tells.OptionsSchema()}, nil
	})
	api.HandleConcurrent(s, "chats.cancelItem", func(ctx context.Context, _ *api.Caller, r api.ItemRef) (api.None, error) {
		return api.None{}, h.chats.CancelItem(ctx, r.ChatID, r.ItemID)
	})
}
