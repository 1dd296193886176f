package claudecode

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// record is one complete message as the structured mode prints it and as the
// transcript keeps it; the two differ in the case of some names only. Rows are
// made from records alone, so that both give the same rows.
type record struct {
	Type       string `json:"type"`
	Subtype    string `json:"subtype"`
	UUID       string `json:"uuid"`
	ParentUUID string `json:"parentUuid"`
	// LogicalParent continues the chain over a compaction.
	LogicalParent string  `json:"logicalParentUuid"`
	Timestamp     string  `json:"timestamp"`
	Message       message `json:"message"`

	IsMeta           bool    `json:"isMeta"`
	IsSidechain      bool    `json:"isSidechain"`
	IsReplay         bool    `json:"isReplay"`
	IsSynthetic      bool    `json:"isSynthetic"`
	IsCompactSummary bool    `json:"isCompactSummary"`
	IsAPIError       bool    `json:"isApiErrorMessage"`
	RowSource        string  `json:"rowSource"`
	Origin           *origin `json:"origin"`

	ParentToolUseID string `json:"parent_tool_use_id"` // structured mode
	AgentID         string `json:"agentId"`            // transcript
	BlockIndex      *int   `json:"apiBlockIndex"`      // transcript

	ToolUseResult  json.RawMessage `json:"toolUseResult"`   // transcript
	ToolUseResult2 json.RawMessage `json:"tool_use_result"` // structured mode
	ResultMeta     []resultMeta    `json:"tool_result_meta"`
	Decision       *decision       `json:"permissionDecision"` // transcript
	DenialKind     string          `json:"toolDenialKind"`     // transcript

	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Version   string `json:"version"`

	Attachment *attachment `json:"attachment"` // transcript

	// Content is what a local command printed (transcript, type system).
	Content json.RawMessage `json:"content"`

	// side records of the transcript
	LeafUUID       string `json:"leafUuid"`
	Rewound        bool   `json:"rewound"` // LeafUUID is where the conversation goes on, "" at its beginning
	LastPrompt     string `json:"lastPrompt"`
	CustomTitle    string `json:"customTitle"`
	AITitle        string `json:"aiTitle"`
	PermissionMode string `json:"permissionMode"`
	Error          any    `json:"error"`

	CompactMetadata *compactMetadata `json:"compactMetadata"`
	Compact2        *compactMetadata `json:"compact_metadata"`
}

// attachment is what the program adds to a turn; a queued_command is what was
// said while the turn ran.
type attachment struct {
	Type       string          `json:"type"`
	Prompt     json.RawMessage `json:"prompt"`
	SourceUUID string          `json:"source_uuid"`
}

type origin struct {
	Kind string `json:"kind"`
}

type decision struct {
	Decision string `json:"decision"`
	Source   string `json:"source"`
}

type resultMeta struct {
	ID               string    `json:"id"`
	NonExecutionKind string    `json:"non_execution_kind"`
	Decision         *decision `json:"permission_decision"`
}

type compactMetadata struct {
	Trigger    string `json:"trigger"`
	PreTokens  int    `json:"preTokens"`
	PreTokens2 int    `json:"pre_tokens"`
}

type message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Model      string          `json:"model"`
	Content    json.RawMessage `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      *usage          `json:"usage"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

// block is one content block of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    *struct {
		MediaType string `json:"media_type"`
	} `json:"source"`
}

func parseRecord(data []byte) (record, error) {
	var r record
	err := lenient(data, &r)
	return r, err
}

// lenient decodes JSON. A member of another type than expected is left out and
// the rest is kept: a newer version must not tear a chain or end a chat.
func lenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return nil
	}
	return err
}

// blocks reads a content that is a text or a list of blocks.
func blocks(content json.RawMessage) []block {
	if len(content) == 0 {
		return nil
	}
	if content[0] == '"' {
		var text string
		if json.Unmarshal(content, &text) != nil {
			return nil
		}
		return []block{{Type: "text", Text: text}}
	}
	var list []block
	if json.Unmarshal(content, &list) != nil {
		return nil
	}
	return list
}

// plainText joins the texts of a content.
func plainText(content json.RawMessage) string {
	var parts []string
	for _, b := range blocks(content) {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "image":
			parts = append(parts, "[image]")
		}
	}
	return strings.Join(parts, "\n")
}

func (r *record) result() json.RawMessage {
	if len(r.ToolUseResult) > 0 {
		return r.ToolUseResult
	}
	return r.ToolUseResult2
}

// refusal says why the tool of a result did not run: "declined" by a person
// or rule, "interrupted" with its turn, "" when it ran.
func (r *record) refusal(toolUseID string) string {
	kind, d := r.DenialKind, r.Decision
	for _, m := range r.ResultMeta {
		if m.ID == toolUseID {
			if m.NonExecutionKind != "" {
				kind = m.NonExecutionKind
			}
			if m.Decision != nil {
				d = m.Decision
			}
		}
	}
	switch {
	case d != nil && d.Decision == "reject":
		return "declined"
	case kind == "user-rejected" || kind == "user-interrupted" || kind == "interrupted":
		return "interrupted"
	case kind != "":
		return "declined"
	}
	return ""
}

func (r *record) at() int64 {
	t, err := time.Parse(time.RFC3339Nano, r.Timestamp)
	if err != nil {
		return 0
	}
	return t.UnixMilli()
}

// synthetic marks a message that the program wrote, not a model.
func (r *record) synthetic() bool { return r.Message.Model == "<synthetic>" }

const interruptedPrefix = "[Request interrupted by user"

// prompt returns what a person wrote; ok is false for results, reminders and
// whatever else the program puts into the user's mouth.
func (r *record) prompt() (text string, images int, ok bool) {
	if r.Type != "user" || r.IsMeta || r.IsCompactSummary || r.IsSynthetic ||
		r.RowSource == "harness" || (r.Origin != nil && r.Origin.Kind != "" && r.Origin.Kind != "human") {
		return "", 0, false
	}
	var parts []string
	for _, b := range blocks(r.Message.Content) {
		switch b.Type {
		case "tool_result":
			return "", 0, false
		case "image", "document":
			images++
		case "text":
			if t, mine := typed(b.Text); mine {
				parts = append(parts, t)
			}
		}
	}
	text = strings.Join(parts, "\n")
	return text, images, text != "" || images > 0
}

// injected begin the texts that the program writes as if they were the user's.
var injected = []string{
	interruptedPrefix, "<task-notification>", "<local-command-stdout>", "<local-command-stderr>",
	"<local-command-caveat>", "<system-reminder>", "<bash-stdout>", "<bash-stderr>", "<ide_opened_file>",
	"<ide_selection>", "<command-message>", "Caveat: The messages below were generated by the user while running",
}

// typed undoes the wrapping of a slash command and of a shell line, and
// refuses what nobody typed.
func typed(text string) (string, bool) {
	t := strings.TrimSpace(text)
	if name := between(t, "<command-name>", "</command-name>"); name != "" {
		if !strings.HasPrefix(name, "/") {
			name = "/" + name
		}
		if args := between(t, "<command-args>", "</command-args>"); args != "" {
			name += " " + args
		}
		return name, true
	}
	if line := between(t, "<bash-input>", "</bash-input>"); line != "" {
		return "!" + line, true
	}
	for _, p := range injected {
		if strings.HasPrefix(t, p) {
			return "", false
		}
	}
	return text, t != ""
}

func between(s, open, end string) string {
	_, rest, ok := strings.Cut(s, open)
	if !ok {
		return ""
	}
	in, _, ok := strings.Cut(rest, end)
	if !ok {
		return ""
	}
	return strings.TrimSpace(in)
}

// interrupted reports the program's note that the turn was stopped.
func (r *record) interrupted() bool {
	if r.Type != "user" {
		return false
	}
	for _, b := range blocks(r.Message.Content) {
		if b.Type == "text" && strings.HasPrefix(b.Text, interruptedPrefix) {
			return true
		}
	}
	return false
}

// answers reports whether the record holds the result of a tool.
func (r *record) answers() bool {
	for _, b := range blocks(r.Message.Content) {
		if b.Type == "tool_result" {
			return true
		}
	}
	return false
}
