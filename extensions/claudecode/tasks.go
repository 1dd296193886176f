package claudecode

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// taskStarted is the program's word that something runs apart from the turn.
type taskStarted struct {
	TaskID    string `json:"task_id"`
	ToolUseID string `json:"tool_use_id"`
}

// started remembers by which id the program ends what a call has started, and
// offers that on its row.
func (s *session) started(t taskStarted) {
	if t.TaskID == "" || t.ToolUseID == "" {
		return
	}
	s.mu.Lock()
	s.tasks[t.ToolUseID] = t.TaskID
	s.mu.Unlock()
	s.rows.tasks[t.ToolUseID] = t.TaskID
	if open := s.rows.tools[t.ToolUseID]; open != nil && open.Type == agent.ItemSubagent {
		it := *open
		it.Cancelable = true
		s.rows.tools[t.ToolUseID] = &it
		s.rows.emit(it)
	}
}

func (s *session) stopped(n note) {
	s.mu.Lock()
	delete(s.tasks, n.ToolUseID)
	s.mu.Unlock()
	delete(s.rows.tasks, n.ToolUseID)
	s.rows.stopped(n, s.host.Time().UnixMilli())
}

// CancelItem ends one sub-agent; the program says so before it answers.
func (s *session) CancelItem(ctx context.Context, itemID string) error {
	s.mu.Lock()
	task := s.tasks[itemID]
	s.mu.Unlock()
	if task == "" {
		return failure("This does not run any more, or cannot be stopped by itself. Stop the turn instead.")
	}
	_, err := s.control(ctx, map[string]any{"subtype": "stop_task", "task_id": task})
	return err
}

var _ agent.ItemCanceler = (*session)(nil)
