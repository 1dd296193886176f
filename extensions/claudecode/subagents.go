package claudecode

import (
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// launched is what a call says that started a sub-agent, or sent one on that had
// finished, and did not wait for it.
type launched struct {
	Async   bool   `json:"isAsync"`
	AgentID string `json:"agentId"`
	Resumed string `json:"resumedAgentId"`
}

// keepRunning leaves the row of a background sub-agent open at the answer that
// it was started; its note brings the end. A message that sends a finished one on
// becomes a row of that agent.
func (rs *rows) keepRunning(it *agent.Item, call block, raw json.RawMessage) bool {
	var l launched
	if it.State != agent.StateCompleted || lenient(raw, &l) != nil {
		return false
	}
	switch {
	case it.Type == agent.ItemSubagent && l.Async:
		rs.agents[l.AgentID] = *it
	case call.Name == "SendMessage" && l.Resumed != "":
		was := rs.agents[l.Resumed]
		*it = agent.Item{
			ID: it.ID, ParentID: it.ParentID, Type: agent.ItemSubagent, At: it.At, StartedAt: it.StartedAt,
			AgentType: or(was.AgentType, "general-purpose"), Title: or(was.Title, "Agent"),
		}
		it.Detail = &agent.Detail{Task: &agent.TaskDetail{Agent: it.AgentType, Prompt: parseInput(call.Input).Message}}
	default:
		return false
	}
	it.State, it.Output, it.EndedAt = agent.StateRunning, "", 0
	it.Cancelable = rs.tasks[it.ID] != ""
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
	it.EndedAt, it.Cancelable = at, false
	rs.emit(it)
}

// lost ends the sub-agents that die with their process.
func (rs *rows) lost(at int64) {
	for id := range rs.background {
		rs.stopped(note{ToolUseID: id, Status: "killed"}, at)
	}
}
