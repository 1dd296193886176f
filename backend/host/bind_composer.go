package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/attachments"
	"github.com/whippletree-app/whippletree/backend/files"
	"github.com/whippletree-app/whippletree/backend/model"
)

// readBytes is what one answer holds of a kept file; base64 makes it a third more.
const readBytes = 128 << 10

func (h *Host) bindComposer() {
	h.bindChanges()
	s := h.server
	api.HandleConcurrent(s, "files.find", func(ctx context.Context, _ *api.Caller, r api.FilesRequest) (api.FilesResult, error) {
		if r.Dirs {
			paths, err := files.Folders(r.Cwd, r.Query, r.Limit)
			if err != nil {
				return api.FilesResult{}, notFound("The folder %s cannot be read.", r.Cwd)
			}
			return api.FilesResult{Paths: paths}, nil
		}
		found, err := h.composer.files.Find(ctx, r.Cwd, r.Query, r.Limit, r.Fresh)
		if err != nil {
			return api.FilesResult{}, &api.Error{Code: api.CodeInvalid, Message: "The files of " + r.Cwd + " cannot be listed: " + err.Error() + "."}
		}
		return api.FilesResult{Paths: found.Paths, Total: found.Total, Stale: found.Stale, Limited: found.Limited}, nil
	})
	api.HandleConcurrent(s, "attachments.add", func(_ context.Context, _ *api.Caller, r api.AddAttachment) (api.AttachmentResult, error) {
		if _, ok := h.chats.Summary(r.ChatID); !ok {
			return api.AttachmentResult{}, notFound("There is no such chat.")
		}
		a, err := h.composer.kept.Keep(r.ChatID, attachments.New{Name: r.Name, Mime: r.Mime, Bytes: r.Bytes, Path: r.Path})
		return api.AttachmentResult{Attachment: a}, err
	})
	api.HandleConcurrent(s, "prompts.history", h.history)
	api.HandleConcurrent(s, "chats.usage", func(ctx context.Context, _ *api.Caller, r api.ChatRef) (model.ChatUsage, error) {
		return h.chats.Usage(ctx, r.ChatID)
	})
	api.HandleConcurrent(s, "attachments.read", func(_ context.Context, _ *api.Caller, r api.ReadAttachment) (api.AttachmentContent, error) {
		data, next, size, err := h.composer.kept.Read(r.ChatID, r.ID, r.Offset, readBytes)
		return api.AttachmentContent{Bytes: data, Next: next, Size: size}, err
	})
}

// Bounds of one answer of the history: prompts, and the chats that are looked at.
const (
	maxHistory      = 200
	maxHistoryChats = 100
	maxHistoryBytes = 128 << 10
)

// history lists what was written in the chats of one project, those used last
// first, each text once.
func (h *Host) history(ctx context.Context, _ *api.Caller, r api.PromptsRequest) (api.Prompts, error) {
	root := h.projects.Of(r.Cwd).Root
	if r.ChatID != "" {
		sum, ok := h.chats.Summary(r.ChatID)
		if !ok {
			return api.Prompts{}, notFound("There is no such chat.")
		}
		root = sum.Project.Root
	}
	if r.Limit <= 0 || r.Limit > maxHistory {
		r.Limit = maxHistory
	}
	out := api.Prompts{Prompts: []string{}}
	seen, size := map[string]bool{}, 0
	add := func(chat string) error {
		list, err := h.store.Prompts(ctx, chat, r.Limit)
		for _, text := range list {
			if seen[text] || len(out.Prompts) >= r.Limit || size+len(text) > maxHistoryBytes {
				continue
			}
			seen[text] = true
			size += len(text)
			out.Prompts = append(out.Prompts, text)
		}
		return err
	}
	// The chat's own come first, whatever was used meanwhile.
	if r.ChatID != "" {
		if err := add(r.ChatID); err != nil {
			return out, err
		}
	}
	looked := 0
	for _, c := range h.chats.List() {
		if c.ID == r.ChatID || c.Project.Root != root || len(out.Prompts) >= r.Limit || looked >= maxHistoryChats {
			continue
		}
		looked++
		if err := add(c.ID); err != nil {
			return out, err
		}
	}
	return out, nil
}
