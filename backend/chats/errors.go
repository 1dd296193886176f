package chats

import (
	"errors"
	"fmt"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// Code is the stable word of an Error; the API carries it as it is.
type Code string

const (
	CodeInvalid     Code = "invalid"
	CodeNotFound    Code = "not_found"
	CodeUnavailable Code = "unavailable"
	CodeNotAllowed  Code = "not_allowed"
	CodeConflict    Code = "conflict"
	CodeTrustNeeded Code = "trust_needed"
	CodeNotOwner    Code = "not_owner"
	CodeBusy        Code = "busy"
	CodeUnsupported Code = "unsupported"
	CodeStorageFull Code = "storage_full"
	CodeInternal    Code = "internal"
)

// Error is what a call of this package fails with. Message is for a person and
// has the reason, Fix the command that helps. Trust is set with
// CodeTrustNeeded.
type Error struct {
	Code    Code
	Message string
	Fix     string
	Issues  []agent.Issue
	Trust   *model.TrustQuestion
	cause   error
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, ErrBusy) match every error of that code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// One value per code, to compare with errors.Is.
var (
	ErrInvalid     = &Error{Code: CodeInvalid}
	ErrNotFound    = &Error{Code: CodeNotFound}
	ErrUnavailable = &Error{Code: CodeUnavailable}
	ErrNotAllowed  = &Error{Code: CodeNotAllowed}
	ErrConflict    = &Error{Code: CodeConflict}
	ErrTrustNeeded = &Error{Code: CodeTrustNeeded}
	ErrNotOwner    = &Error{Code: CodeNotOwner}
	ErrBusy        = &Error{Code: CodeBusy}
	ErrUnsupported = &Error{Code: CodeUnsupported}
	ErrStorageFull = &Error{Code: CodeStorageFull}
)

// Fail makes an Error; package handoff uses it for its own refusals.
func Fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// typed gives an error of the store its code.
func typed(err error) error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.Is(err, store.ErrFull):
		return &Error{Code: CodeStorageFull, Message: "The disk is full, nothing was accepted. Free some space and send it again.", Fix: "df -h", cause: err}
	case errors.Is(err, store.ErrNotFound):
		return &Error{Code: CodeNotFound, Message: "There is no such thing in this chat any more.", cause: err}
	case errors.Is(err, store.ErrConflict):
		return &Error{Code: CodeConflict, Message: "It was changed meanwhile.", cause: err}
	}
	return &Error{Code: CodeInternal, Message: "It could not be stored: " + err.Error(), cause: err}
}
