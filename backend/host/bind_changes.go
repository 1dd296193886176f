package host

import (
	"context"
	"errors"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/changes"
	"github.com/whippletree-app/whippletree/backend/git"
	"github.com/whippletree-app/whippletree/backend/model"
)

func (h *Host) bindChanges() {
	s := h.server
	sum := func(all bool) func(context.Context, *api.Caller, api.ChangesRequest) (api.Changes, error) {
		return func(ctx context.Context, _ *api.Caller, r api.ChangesRequest) (api.Changes, error) {
			of, err := h.changesOf(r.ChatID, r.Turn)
			if err != nil {
				return api.Changes{}, err
			}
			if all {
				of.Turn = -1
			} else {
				of.Turn = r.Turn
			}
			got, err := changes.Files(ctx, h.store, of)
			return api.Changes{Cwd: of.Cwd, Files: orEmpty(got.Files), Added: got.Added, Removed: got.Removed, Total: got.Total, Limited: got.Limited}, err
		}
	}
	api.HandleConcurrent(s, "changes.turn", sum(false))
	api.HandleConcurrent(s, "changes.chat", sum(true))
	api.HandleConcurrent(s, "changes.diff", func(ctx context.Context, _ *api.Caller, r api.DiffRequest) (api.DiffResult, error) {
		of, err := h.changesOf(r.ChatID, r.Turn)
		if err != nil {
			return api.DiffResult{}, err
		}
		list, next, err := changes.Pieces(ctx, h.store, of, r.Path, r.Cursor)
		return api.DiffResult{Pieces: orEmpty(list), Next: next}, err
	})
	api.HandleConcurrent(s, "changes.git", func(ctx context.Context, _ *api.Caller, r api.GitRequest) (model.GitStatus, error) {
		of, err := h.changesOf(r.ChatID, 0)
		if err != nil {
			return model.GitStatus{}, err
		}
		if of.Cwd == "" {
			return model.GitStatus{Files: []model.GitFile{}, Why: "A confined chat has no folder."}, nil
		}
		got, err := changes.Status(ctx, h.composer.git, of.Cwd)
		return got, gitError(err)
	})
	api.HandleConcurrent(s, "changes.gitDiff", func(ctx context.Context, _ *api.Caller, r api.GitDiffRequest) (api.GitDiff, error) {
		of, err := h.changesOf(r.ChatID, 0)
		if err != nil {
			return api.GitDiff{}, err
		}
		diff, next, size, why, err := changes.GitDiff(ctx, h.composer.git, of.Cwd, model.GitFile{Path: r.Path, From: r.From, Kind: r.Kind}, r.Offset)
		return api.GitDiff{Diff: diff, Next: next, Size: size, Why: why}, gitError(err)
	})
}

// changesOf names a chat's folder; turn 0 means all turns.
func (h *Host) changesOf(chat string, turn int64) (changes.Of, error) {
	sum, ok := h.chats.Summary(chat)
	if !ok {
		return changes.Of{}, notFound("There is no such chat.")
	}
	if turn == 0 {
		turn = -1
	}
	return changes.Of{ChatID: chat, Cwd: sum.Cwd, Turn: turn}, nil
}

func gitError(err error) error {
	var exit *git.ExitError
	switch {
	case errors.Is(err, changes.ErrPath):
		return &api.Error{Code: api.CodeInvalid, Message: "The path does not lie in the repository."}
	case errors.As(err, &exit):
		return &api.Error{Code: api.CodeUnavailable, Message: "git failed: " + exit.Error() + ".", Fix: "git status"}
	}
	return err
}
