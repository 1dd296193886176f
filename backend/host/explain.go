package host

import (
	"errors"
	"fmt"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/settings"
	"github.com/whippletree-app/whippletree/backend/store"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// explain gives an error of a domain its code, text and fix.
func explain(err error) *api.Error {
	var chat *chats.Error
	var invalid *settings.InvalidError
	switch {
	case errors.As(err, &chat):
		return &api.Error{Code: string(chat.Code), Message: chat.Message, Fix: chat.Fix, Issues: chat.Issues}
	case errors.As(err, &invalid):
		return &api.Error{Code: api.CodeInvalid, Message: invalid.Error(), Issues: invalid.Issues}
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
