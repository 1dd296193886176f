package store

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Folder returns the project a folder belonged to when it was last seen;
// ErrNotFound.
func (s *Store) Folder(ctx context.Context, cwd string) (model.Project, error) {
	var p model.Project
	err := one(ctx, s.read(), []any{&p.Root, &p.Name, &p.Worktree}, "SELECT root, name, worktree FROM folders WHERE cwd = ?", cwd)
	return p, err
}

// RememberFolder notes the project of a folder, so that the rows of a removed
// worktree stay with its repository. It does not wait for the disk.
func (s *Store) RememberFolder(cwd string, p model.Project) error {
	return s.Send(func(tx *Tx) error {
		return tx.exec(`INSERT INTO folders(cwd, root, name, worktree) VALUES(?,?,?,?)
ON CONFLICT DO UPDATE SET root = excluded.root, name = excluded.name, worktree = excluded.worktree`, cwd, p.Root, p.Name, p.Worktree)
	}, nil)
}
