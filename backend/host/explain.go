package host

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/attachments"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/settings"
	"github.com/whippletree-app/whippletree/backend/store"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// explain gives an error of a domain its code, text and fix.
func explain(err error) *api.Error {
	var chat *chats.Error
	var invalid *settings.InvalidError
	var attached *attachments.InvalidError
	switch {
	case errors.As(err, &chat):
		return &api.Error{Code: string(chat.Code), Message: chat.Message, Fix: chat.Fix, Issues: chat.Issues}
	case errors.As(err, &invalid):
		return &api.Error{Code: api.CodeInvalid, Message: invalid.Error(), Issues: invalid.Issues}
	case errors.As(err, &attached):
		return &api.Error{Code: api.CodeInvalid, Message: attached.Reason}
	case errors.Is(err, attachments.ErrNotFound):
		return &api.Error{Code: api.CodeNotFound, Message: "The attachment is not there any more."}
	case errors.Is(err, syscall.ENOSPC):
		return &api.Error{Code: api.CodeStorageFull, Message: "The disk is full: nothing was kept.", Fix: "df -h"}
	case errors.Is(err, store.ErrNotFound):
		return &api.Error{Code: api.CodeNotFound, Message: "It does not exist (any more)."}
	case errors.Is(err, terminals.ErrClosed):
		return &api.Error{Code: api.CodeNotFound, Message: "The terminal is closed."}
	case errors.Is(err, store.ErrFull):
		return &api.Error{Code: api.CodeStorageFull, Message: err.Error(), Fix: "df -h"}
	case errors.Is(err, store.ErrConflict):
		return &api.Error{Code: api.CodeConflict, Message: "It was changed meanwhile."}
	}
	return nil
}

func notFound(format string, args ...any) *api.Error {
	return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf(format, args...)}
}
