package agent

import "encoding/json"

// ApprovalKind is what is being asked. Closed set.
type ApprovalKind string

const (
	ApprovalTool     ApprovalKind = "tool"
	ApprovalPlan     ApprovalKind = "plan"
	ApprovalQuestion ApprovalKind = "question"
	ApprovalMode     ApprovalKind = "mode"
)

// OptionKind says what an option means; it never decides for a person.
type OptionKind string

const (
	OptionAllowOnce    OptionKind = "allow_once"
	OptionAllowAlways  OptionKind = "allow_always"
	OptionRejectOnce   OptionKind = "reject_once"
	OptionRejectAlways OptionKind = "reject_always"
	OptionOther        OptionKind = "other"
)

// Option is one of the agent's answers, in its order and words. Reach is
// once, session or always; SavedAt says where an "always" is kept.
type Option struct {
	ID            string     `json:"id"`
	Label         string     `json:"label"`
	Kind          OptionKind `json:"kind"`
	Description   string     `json:"description,omitempty"`
	Reach         string     `json:"reach"`
	SavedAt       string     `json:"savedAt,omitempty"`
	AllowsComment bool       `json:"allowsComment,omitempty"`
}

// Approval is a request the agent made and a person must answer.
type Approval struct {
	ID          string       `json:"id"`
	ItemID      string       `json:"itemId,omitempty"` // the tool row it belongs to
	Kind        ApprovalKind `json:"kind"`
	Title       string       `json:"title"`
	Description string       `json:"description,omitempty"`
	Options     []Option     `json:"options"`
	Questions   []Question   `json:"questions,omitempty"`
	Plan        *PlanText    `json:"plan,omitempty"`
	ModeChange  *ModeChange  `json:"modeChange,omitempty"`
	Preview     *Preview     `json:"preview,omitempty"`
	// Acknowledges: the agent confirms that it received an answer.
	Acknowledges bool `json:"acknowledges,omitempty"`
}

type PlanText struct {
	Text string `json:"text"`
}

type ModeChange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Preview is all that decides: the whole command, its folder, the diff, files.
type Preview struct {
	Command string          `json:"command,omitempty"`
	Cwd     string          `json:"cwd,omitempty"`
	Diff    string          `json:"diff,omitempty"`
	Path    string          `json:"path,omitempty"`
	Files   []string        `json:"files,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
}

// Question is one of possibly several on a card.
type Question struct {
	ID          string           `json:"id"`
	Header      string           `json:"header,omitempty"`
	Text        string           `json:"text"`
	Options     []QuestionOption `json:"options"`
	Multi       bool             `json:"multi,omitempty"`
	AllowOther  bool             `json:"allowOther,omitempty"`
	Placeholder string           `json:"placeholder,omitempty"`
	Skippable   bool             `json:"skippable,omitempty"`
}

type QuestionOption struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// ApprovalAnswer is what goes back to the agent. Canceled is set when the turn
// was stopped, the request withdrawn or the chat closed; it is never a "no".
type ApprovalAnswer struct {
	OptionID string                    `json:"optionId,omitempty"`
	Comment  string                    `json:"comment,omitempty"`
	Answers  map[string]QuestionAnswer `json:"answers,omitempty"` // by question id
	Canceled bool                      `json:"canceled,omitempty"`
}

// AnsweredElsewhere is the cause with which a provider cancels the context of an
// Approval call whose request an agent's own server took an answer for from
// somebody else: a terminal that is attached to it, proved, or nobody knows who.
type AnsweredElsewhere struct {
	Terminal bool
}

func (a *AnsweredElsewhere) Error() string {
	if a.Terminal {
		return "answered in the agent's terminal"
	}
	return "answered by somebody else"
}

// QuestionAnswer holds the chosen option ids, or Other text, or Skipped.
type QuestionAnswer struct {
	OptionIDs []string `json:"optionIds,omitempty"`
	Other     string   `json:"other,omitempty"`
	Skipped   bool     `json:"skipped,omitempty"`
}
