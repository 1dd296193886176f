package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/attachments"
	"github.com/whippletree-app/whippletree/backend/files"
)

// readBytes is what one answer holds of a kept file; base64 makes it a third more.
const readBytes = 128 << 10

func (h *Host) bindComposer() {
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
	api.HandleConcurrent(s, "attachments.read", func(_ context.Context, _ *api.Caller, r api.ReadAttachment) (api.AttachmentContent, error) {
		data, next, size, err := h.composer.kept.Read(r.ChatID, r.ID, r.Offset, readBytes)
		return api.AttachmentContent{Bytes: data, Next: next, Size: size}, err
	})
}
