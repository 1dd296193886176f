package claudecode

import (
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// launched is what a call says that started a sub-agent and did not wait for it.
type launched struct {
	Async   bool   `json:"isAsync"`
	AgentID string `json:"agentId"`
}

// keepRunning leaves the row of a background sub-agent open at the answer that
// it was started; its note brings the end.
func (rs *rows) keepRunning(it *agent.Item, raw json.RawMessage) bool {
	var l launched
	if it.Type != agent.ItemSubagent || it.State != agent.StateCompleted || lenient(raw, &l) != nil || !l.Async {
		return false
	}
	it.State, it.Output, it.EndedAt = agent.StateRunning, "", 0
	rs.background[it.ID] = *it
	return true
}

// note is the program's word that a background sub-agent stopped.
type note struct {
	ToolUseID string `json:"tool_use_id"`
	Status    string `json:"status"`
	Summary   string `json:"summary"`
	IsReport  bool   `json:"summary_is_report"`
}

// noted reads the note that the transcript keeps as if the user had written it.
func (r *record) noted() (note, bool) {
	if r.Type != "user" || r.Origin == nil || r.Origin.Kind != "task-notification" {
		return note{}, false
	}
	text := plainText(r.Message.Content)
	n := note{
		ToolUseID: between(text, "<tool-use-id>", "</tool-use-id>"), Status: between(text, "<status>", "</status>"),
		Summary: between(text, "<result>", "</result>"), IsReport: true,
	}
	return n, n.ToolUseID != ""
}

// stopped ends the row of a background sub-agent. It may be sent on later; that
// is not shown, its row keeps its first end.
func (rs *rows) stopped(n note, at int64) {
	it, ok := rs.background[n.ToolUseID]
	if !ok {
		return
	}
	delete(rs.background, n.ToolUseID)
	switch n.Status {
	case "completed":
		it.State = agent.StateCompleted
	case "failed":
		it.State = agent.StateFailed
	default: // killed, stopped
		it.State = agent.StateCanceled
	}
	if n.IsReport {
		it.Output = n.Summary
	}
	it.EndedAt = at
	rs.emit(it)
}

// lost ends the sub-agents that die with their process.
func (rs *rows) lost(at int64) {
	for id := range rs.background {
		rs.stopped(note{ToolUseID: id, Status: "killed"}, at)
	}
}
