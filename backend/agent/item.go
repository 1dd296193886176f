package agent

import (
	"encoding/json"
	"time"
)

// ItemType is the discriminator of Item. Closed set.
type ItemType string

const (
	ItemUser       ItemType = "user"
	ItemText       ItemType = "text"
	ItemReasoning  ItemType = "reasoning"
	ItemTool       ItemType = "tool"
	ItemPlan       ItemType = "plan"
	ItemSubagent   ItemType = "subagent"
	ItemCompaction ItemType = "compaction"
	ItemNotice     ItemType = "notice"
	ItemError      ItemType = "error"
)

// ItemState is where a tool, sub-agent or compaction stands.
type ItemState string

const (
	StateRunning   ItemState = "running"
	StateCompleted ItemState = "completed"
	StateFailed    ItemState = "failed"
	StateCanceled  ItemState = "canceled"
	StateDeclined  ItemState = "declined"
)

// Open reports whether an item in this state may still change by itself.
func (s ItemState) Open() bool { return s == StateRunning }

// ToolKind classifies a tool call; Detail is typed by it.
type ToolKind string

const (
	ToolRead     ToolKind = "read"
	ToolEdit     ToolKind = "edit"
	ToolWrite    ToolKind = "write"
	ToolExecute  ToolKind = "execute"
	ToolSearch   ToolKind = "search"
	ToolFetch    ToolKind = "fetch"
	ToolThink    ToolKind = "think"
	ToolMCP      ToolKind = "mcp"
	ToolTask     ToolKind = "task"
	ToolQuestion ToolKind = "question"
	ToolOther    ToolKind = "other"
)

// Item is one timeline row with a stable id. It is a closed union on Type; the
// fields a type does not name stay zero. ID is unique in its chat (<= LimitID
// UTF-16 units); the same id again replaces the row. ParentID names the
// sub-agent item it belongs to.
//
//	user {Text, Attachments?, ClientID?, NativeID?}   text {Text}   reasoning {Text}
//	tool {CallID, Name, Server?, Tool, Title, State, Detail, Output?, Locations?, Cancelable?}
//	plan {Entries}   subagent {AgentType, Title, State, Handle?}
//	compaction {State, Trigger?, TokensBefore?, Text?}   notice {Level, Text}   error {Reason, Text}
//
// Text injected by an agent (reminders, task notes) is never a user row. A text
// or reasoning row that ended with an empty Text was taken back (a stream that
// broke and is said again under another id); it is not shown. So is any row with
// TakenBack (the running row of a compaction whose lasting one has another id).
type Item struct {
	ID       string   `json:"id"`
	Type     ItemType `json:"type"`
	ParentID string   `json:"parentId,omitempty"`
	// At, StartedAt and EndedAt are epoch milliseconds; 0 is unknown.
	At        int64 `json:"at"`
	StartedAt int64 `json:"startedAt,omitempty"`
	EndedAt   int64 `json:"endedAt,omitempty"`

	Text        string       `json:"text,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	ClientID    string       `json:"clientId,omitempty"`
	NativeID    string       `json:"nativeId,omitempty"`

	CallID     string     `json:"callId,omitempty"`
	Name       string     `json:"name,omitempty"`
	Server     string     `json:"server,omitempty"`
	Tool       ToolKind   `json:"kind,omitempty"`
	Title      string     `json:"title,omitempty"`
	State      ItemState  `json:"state,omitempty"`
	Detail     *Detail    `json:"detail,omitempty"`
	Output     string     `json:"output,omitempty"`
	OutputSize int        `json:"outputSize,omitempty"` // whole size in bytes when Output was cut; the host sets it
	Locations  []Location `json:"locations,omitempty"`
	Cancelable bool       `json:"cancelable,omitempty"`

	Entries []PlanEntry `json:"entries,omitempty"`

	AgentType string  `json:"agentType,omitempty"`
	Handle    *Handle `json:"handle,omitempty"`

	Trigger      string `json:"trigger,omitempty"`
	TokensBefore int    `json:"tokensBefore,omitempty"`

	Level  Level  `json:"level,omitempty"`
	Reason string `json:"reason,omitempty"`

	TakenBack bool `json:"takenBack,omitempty"`

	// Truncated marks an answer that the agent cut off (a dropped stream that
	// was accepted as final).
	Truncated bool `json:"truncated,omitempty"`
}

// Level of a notice.
type Level string

const (
	LevelInfo    Level = "info"
	LevelWarning Level = "warning"
)

// PlanEntry is one step of a plan; Status is pending, active or done.
type PlanEntry struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

// Location is a place in a file that a tool touched; Line is 1-based, 0 unknown.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// Attachment goes with a prompt. Exactly one of Bytes and Path is set. Kind is
// image, file or text; Size in bytes. ID names what the host keeps of it.
type Attachment struct {
	ID    string `json:"id,omitempty"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Mime  string `json:"mime,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
	Path  string `json:"path,omitempty"`
	Size  int64  `json:"size,omitempty"`
}

// Detail is the typed body of a tool row: exactly one member is set, matching
// the item's ToolKind. Unknown carries what fits none; it never replaces a
// typed one.
type Detail struct {
	Execute  *ExecuteDetail  `json:"execute,omitempty"`
	Edit     *EditDetail     `json:"edit,omitempty"`
	Write    *WriteDetail    `json:"write,omitempty"`
	Read     *ReadDetail     `json:"read,omitempty"`
	Search   *SearchDetail   `json:"search,omitempty"`
	Fetch    *FetchDetail    `json:"fetch,omitempty"`
	Task     *TaskDetail     `json:"task,omitempty"`
	MCP      *MCPDetail      `json:"mcp,omitempty"`
	Question *QuestionDetail `json:"question,omitempty"`
	Unknown  *UnknownDetail  `json:"unknown,omitempty"`
}

type ExecuteDetail struct {
	Command    string `json:"command"`
	Cwd        string `json:"cwd,omitempty"`
	ExitCode   *int   `json:"exitCode,omitempty"`
	DurationMs int64  `json:"durationMs,omitempty"`
	Background bool   `json:"background,omitempty"`
}

// EditDetail holds either Diff (unified) or Old and New; Added and Removed
// count lines, StartLine is 1-based.
type EditDetail struct {
	Path      string `json:"path"`
	Diff      string `json:"diff,omitempty"`
	Old       string `json:"old,omitempty"`
	New       string `json:"new,omitempty"`
	Added     int    `json:"added"`
	Removed   int    `json:"removed"`
	StartLine int    `json:"startLine,omitempty"`
}

type WriteDetail struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Created bool   `json:"created"`
}

type ReadDetail struct {
	Path string `json:"path"`
	From int    `json:"from,omitempty"`
	To   int    `json:"to,omitempty"`
}

type SearchDetail struct {
	Query   string `json:"query"`
	Scope   string `json:"scope,omitempty"`
	Matches *int   `json:"matches,omitempty"`
	Files   *int   `json:"files,omitempty"`
}

type FetchDetail struct {
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
}

type TaskDetail struct {
	Agent  string `json:"agent"`
	Prompt string `json:"prompt,omitempty"`
}

type MCPDetail struct {
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input,omitempty"`
}

type QuestionDetail struct {
	Questions []Question        `json:"questions"`
	Answers   map[string]string `json:"answers,omitempty"`
}

type UnknownDetail struct {
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
}

// Open reports whether the item can still change by itself.
func (it *Item) Open() bool {
	switch it.Type {
	case ItemTool, ItemSubagent, ItemCompaction:
		return it.State.Open()
	case ItemText, ItemReasoning:
		return it.EndedAt == 0
	}
	return false
}

// Hidden reports whether nobody shows the row: the agent took it back.
func (it *Item) Hidden() bool {
	written := it.Type == ItemText || it.Type == ItemReasoning
	return it.TakenBack || written && it.EndedAt != 0 && it.Text == "" && !it.Truncated
}

// CloseAt ends an open item at the end of its turn: running becomes state
// (completed items stay as they are), and an unfinished text gets its end.
func (it *Item) CloseAt(state ItemState, at time.Time) {
	if !it.Open() {
		return
	}
	if it.State.Open() {
		it.State = state
	}
	it.EndedAt = max(at.UnixMilli(), it.StartedAt) // never before it began
}
