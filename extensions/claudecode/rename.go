package claudecode

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Rename gives the session a title: the program keeps it in the transcript
// (custom-title), where its own list and a resume find it.
func (s *session) Rename(ctx context.Context, title string) error {
	if s.launch.confined {
		return failure("A confined chat keeps no session of Claude Code that could have a title.")
	}
	_, err := s.control(ctx, map[string]any{"subtype": "rename_session", "title": cutTitle(title)})
	return err
}

var _ agent.Renamer = (*session)(nil)
