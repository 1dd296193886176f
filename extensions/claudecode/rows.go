package claudecode

import (
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// rows turns records into timeline items. Ids come from what both the stream
// and the transcript have: message id and block index for text and reasoning,
// the tool call's id for tools and sub-agents, the record's uuid for the rest.
type rows struct {
	emit func(agent.Item)

	tools  map[string]*agent.Item // by tool_use id, while a result is owed
	inputs map[string]block
	counts map[string]int // blocks seen per message id
	// parents maps a sub-agent's id to the row it belongs to (transcript).
	parents map[string]string
	plan    plan
	planRow string // the plan's row in this turn, "" before it changed
	// background holds the open rows of sub-agents that nobody waits for.
	background map[string]agent.Item
	// agents are the background sub-agents by the program's id of them, and tasks
	// its ids of what runs by the call that started it (structured mode only).
	agents map[string]agent.Item
	tasks  map[string]string
}

func newRows(emit func(agent.Item)) *rows {
	named := func(it agent.Item) {
		if it.ID != "" { // a record without an id cannot be told apart from others
			emit(it)
		}
	}
	return &rows{
		emit: named, tools: map[string]*agent.Item{}, inputs: map[string]block{},
		counts: map[string]int{}, parents: map[string]string{}, background: map[string]agent.Item{},
		agents: map[string]agent.Item{}, tasks: map[string]string{},
	}
}

func blockID(messageID string, index int) string { return messageID + ":" + strconv.Itoa(index) }

// add takes a complete record. index is the position of its first block in
// the message when the stream told it, -1 otherwise.
func (rs *rows) add(r *record, index int) {
	switch r.Type {
	case "assistant":
		rs.assistant(r, index)
	case "user":
		rs.user(r)
	case "attachment":
		rs.queued(r)
	case "system":
		switch r.Subtype {
		case "compact_boundary":
			rs.compaction(r)
		case "local_command":
			rs.printed(r)
		}
	}
}

func (rs *rows) parent(r *record) string {
	if r.ParentToolUseID != "" {
		return r.ParentToolUseID
	}
	if r.AgentID != "" {
		return rs.parents[r.AgentID]
	}
	return ""
}

func (rs *rows) assistant(r *record, index int) {
	if r.synthetic() {
		rs.synthetic(r)
		return
	}
	list := blocks(r.Message.Content)
	if r.BlockIndex != nil {
		index = *r.BlockIndex
	}
	if index < 0 {
		index = rs.counts[r.Message.ID]
	}
	rs.counts[r.Message.ID] = index + len(list)
	for i, b := range list {
		it := agent.Item{ID: blockID(r.Message.ID, index+i), ParentID: rs.parent(r), At: r.at()}
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			it.Type, it.Text, it.EndedAt = agent.ItemText, b.Text, it.At
		case "thinking":
			if b.Thinking == "" {
				continue
			}
			it.Type, it.Text, it.EndedAt = agent.ItemReasoning, b.Thinking, it.At
		case "tool_use", "server_tool_use", "mcp_tool_use":
			rs.call(b, rs.parent(r), it.At)
			continue
		default:
			continue
		}
		rs.emit(it)
	}
}

// call opens (or completes the description of) a tool row.
func (rs *rows) call(b block, parent string, at int64) {
	if b.ID == "" {
		return
	}
	it := toolItem(b)
	it.ParentID, it.At, it.StartedAt = parent, at, at
	if old := rs.tools[b.ID]; old != nil {
		it.At, it.StartedAt = old.At, old.StartedAt
	}
	rs.tools[b.ID] = &it
	rs.inputs[b.ID] = b
	if !planTools[b.Name] {
		rs.emit(it)
	}
}

func (rs *rows) user(r *record) {
	if r.interrupted() {
		if r.ParentToolUseID != "" || r.AgentID != "" || r.IsSidechain { // a sub-agent was ended, nothing else
			rs.closeBelow(rs.parent(r), agent.StateCanceled, r.at())
			return
		}
		rs.closeOpen(agent.StateCanceled, r.at())
		return
	}
	for _, b := range blocks(r.Message.Content) {
		if b.Type == "tool_result" {
			rs.answer(r, b)
		}
	}
	if r.ParentToolUseID != "" || r.AgentID != "" || r.IsSidechain {
		return // a sub-agent's task is in its row
	}
	if n, ok := r.noted(); ok {
		rs.newTurn()
		rs.stopped(n, r.at())
		return
	}
	if text, n, ok := r.prompt(); ok {
		rs.newTurn()
		rs.emit(agent.Item{ID: r.UUID, Type: agent.ItemUser, At: r.at(), Text: text, NativeID: r.UUID, Attachments: images(n)})
	}
}

// queued shows what was said while a turn ran: the stream repeats it as a
// message of the user, the transcript keeps it as an attachment.
func (rs *rows) queued(r *record) {
	a := r.Attachment
	if a == nil || a.Type != "queued_command" || r.IsSidechain || r.AgentID != "" {
		return
	}
	said := record{
		Type: "user", UUID: or(a.SourceUUID, r.UUID), Timestamp: r.Timestamp, IsMeta: r.IsMeta,
		Message: message{Content: a.Prompt},
	}
	if strings.HasPrefix(strings.TrimSpace(plainText(a.Prompt)), "<task-notification>") {
		said.Origin = &origin{Kind: "task-notification"}
	}
	rs.user(&said)
}

// newTurn makes the next change of the plan a row of its own: the rows of an
// ended turn are not touched any more.
func (rs *rows) newTurn() { rs.planRow = "" }

// images stands for the pictures of a prompt; their content is not kept twice.
func images(n int) []agent.Attachment {
	var list []agent.Attachment
	for i := range n {
		list = append(list, agent.Attachment{Kind: "image", Name: "image " + strconv.Itoa(i+1)})
	}
	return list
}

// answer closes a tool row with its result.
func (rs *rows) answer(r *record, b block) {
	open := rs.tools[b.ToolUseID]
	if open == nil {
		return // its call was not seen (a cut transcript)
	}
	it := *open
	it.EndedAt, it.Cancelable = r.at(), false
	it.Output = plainText(b.Content)
	switch refusal := r.refusal(b.ToolUseID); {
	case refusal == "declined":
		it.State = agent.StateDeclined
	case refusal == "interrupted":
		it.State = agent.StateCanceled
	case b.IsError && strings.HasPrefix(it.Output, interruptedPrefix):
		it.State = agent.StateCanceled // a sub-agent that was ended by itself
	case b.IsError:
		it.State = agent.StateFailed
	default:
		it.State = agent.StateCompleted
	}
	call := rs.inputs[b.ToolUseID]
	finish(&it, call, r.result())
	delete(rs.tools, b.ToolUseID)
	delete(rs.inputs, b.ToolUseID)
	if planTools[call.Name] && it.State == agent.StateCompleted {
		if rs.plan.change(call, r.result()) {
			rs.planRow = or(rs.planRow, "plan:"+call.ID)
			rs.emit(rs.plan.item(rs.planRow, it.EndedAt))
		}
		return
	}
	rs.keepRunning(&it, call, r.result())
	rs.emit(it)
}

// closeOpen ends the tool rows that nothing will answer any more.
func (rs *rows) closeOpen(state agent.ItemState, at int64) {
	rs.closeWhere(func(agent.Item) bool { return true }, state, at)
}

// closeBelow ends those of one sub-agent.
func (rs *rows) closeBelow(parent string, state agent.ItemState, at int64) {
	rs.closeWhere(func(it agent.Item) bool { return parent != "" && it.ParentID == parent }, state, at)
}

func (rs *rows) closeWhere(over func(agent.Item) bool, state agent.ItemState, at int64) {
	for id, it := range rs.tools {
		if !over(*it) {
			continue
		}
		closed := *it
		closed.State, closed.EndedAt, closed.Cancelable = state, at, false
		delete(rs.tools, id)
		delete(rs.inputs, id)
		if planTools[it.Name] {
			continue
		}
		rs.emit(closed)
	}
}

func (rs *rows) synthetic(r *record) {
	text := plainText(r.Message.Content)
	if t := strings.TrimSpace(text); t == "" || t == "No response requested." {
		return
	}
	it := agent.Item{ID: r.UUID, ParentID: rs.parent(r), Type: agent.ItemText, At: r.at(), EndedAt: r.at(), Text: text}
	if r.IsAPIError || r.Error != nil {
		it.Type, it.Reason, it.EndedAt = agent.ItemError, "failed", 0
	}
	rs.emit(it)
}

// printed shows what a command of the program itself printed. The stream has
// it as a message of no model, with the same id.
func (rs *rows) printed(r *record) {
	text := plainText(r.Content)
	text = or(between(text, "<local-command-stdout>", "</local-command-stdout>"), between(text, "<local-command-stderr>", "</local-command-stderr>"))
	if text != "" {
		rs.emit(agent.Item{ID: r.UUID, Type: agent.ItemText, At: r.at(), EndedAt: r.at(), Text: text})
	}
}

func (rs *rows) compaction(r *record) {
	it := agent.Item{ID: r.UUID, Type: agent.ItemCompaction, At: r.at(), EndedAt: r.at(), State: agent.StateCompleted}
	m := r.CompactMetadata
	if m == nil {
		m = r.Compact2
	}
	if m != nil {
		it.Trigger, it.TokensBefore = m.Trigger, max(m.PreTokens, m.PreTokens2)
	}
	rs.emit(it)
}
