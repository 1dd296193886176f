package wire

// Kinds of a block.
const (
	KindUser    = "user"
	KindText    = "text"
	KindThought = "thought"
	KindTool    = "tool"
	KindPlan    = "plan"
	KindHelper  = "helper" // a sub-agent
	KindNote    = "note"
)

// States of a tool or helper block.
const (
	StateRunning  = "running"
	StateDone     = "done"
	StateFailed   = "failed"
	StateStopped  = "stopped"
	StateDeclined = "declined"
)

// Block is one piece of the conversation. It is published whole when it
// begins and again, under the same id, when it ends; in between text may be
// appended. Times are epoch milliseconds; EndedAt 0 means still open.
type Block struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Helper    string `json:"helper,omitempty"` // block id of the helper it belongs to
	StartedAt int64  `json:"startedAt"`
	EndedAt   int64  `json:"endedAt,omitempty"`
	ClientID  string `json:"clientId,omitempty"` // of a user block, as it came with the prompt
	Text      string `json:"text,omitempty"`
	State     string `json:"state,omitempty"`
	Title     string `json:"title,omitempty"`
	Role      string `json:"role,omitempty"` // what a helper is
	Tool      *Tool  `json:"tool,omitempty"`
	Steps     []Step `json:"steps,omitempty"`
}

// Step of a plan; State is pending, active or done.
type Step struct {
	Text  string `json:"text"`
	State string `json:"state"`
}

// Tool says what a tool block does; exactly one of the bodies is set.
type Tool struct {
	Name   string    `json:"name"`
	Output string    `json:"output,omitempty"`
	Run    *RunBody  `json:"run,omitempty"`
	Edit   *EditBody `json:"edit,omitempty"`
	Read   *ReadBody `json:"read,omitempty"`
	Ask    *AskBody  `json:"ask,omitempty"`
}

// RunBody is a command line for sh, its folder and, once it ended, its code.
type RunBody struct {
	Command  string `json:"command"`
	Cwd      string `json:"cwd"`
	ExitCode *int   `json:"exitCode,omitempty"`
	Millis   int64  `json:"millis,omitempty"`
}

// EditBody changes a file; Diff is unified. Created marks a new file.
type EditBody struct {
	Path    string `json:"path"`
	Diff    string `json:"diff"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Line    int    `json:"line,omitempty"`
	Created bool   `json:"created,omitempty"`
}

// ReadBody reads lines From to To (1-based) of a file.
type ReadBody struct {
	Path string `json:"path"`
	From int    `json:"from,omitempty"`
	To   int    `json:"to,omitempty"`
}

// AskBody is a question card and, once answered, what was said per question id.
type AskBody struct {
	Questions []Question        `json:"questions"`
	Answers   map[string]string `json:"answers,omitempty"`
}
