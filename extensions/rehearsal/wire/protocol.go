package wire

// ProtocolVersion is what initialize must ask for.
const ProtocolVersion = 1

// Release is the version of the program.
const Release = "1.0.0"

// Names of requests (host to agent).
const (
	DoInitialize = "initialize"
	DoPrompt     = "prompt"
	DoInterrupt  = "interrupt"
	DoSteer      = "steer"
	DoAnswer     = "answer"
	DoSet        = "set"
	DoUsage      = "usage"
	DoRelease    = "release" // lets a stream go on that --hold stopped
	DoShutdown   = "shutdown"
)

// Names of events (agent to host).
const (
	EventBlock    = "block"
	EventAppend   = "append"
	EventAsk      = "ask"
	EventWithdraw = "withdraw"
	EventTurn     = "turn"
	EventTitle    = "title"
	EventSettings = "settings"
	EventUsage    = "usage"
	EventDelivery = "delivery"
)

// Error codes of a reply.
const (
	CodeBadRequest = "bad_request"
	CodeBusy       = "busy"
	CodeNoTurn     = "no_turn"
	CodeUnknown    = "unknown" // no such request, model, mode ...
	CodeSession    = "session" // the session cannot be opened
)

// Request is one line to the agent. ID is chosen by the host, above 0, and
// comes back in the reply.
type Request struct {
	ID       int64             `json:"id"`
	Do       string            `json:"do"`
	Version  int               `json:"version,omitempty"`  // initialize
	Text     string            `json:"text,omitempty"`     // prompt, steer
	ClientID string            `json:"clientId,omitempty"` // prompt, steer
	Files    []File            `json:"files,omitempty"`    // prompt
	AskID    string            `json:"askId,omitempty"`    // answer
	OptionID string            `json:"optionId,omitempty"` // answer
	Comment  string            `json:"comment,omitempty"`  // answer
	Answers  map[string]Choice `json:"answers,omitempty"`  // answer, by question id
	Canceled bool              `json:"canceled,omitempty"` // answer: nobody decided
	Settings *Settings         `json:"settings,omitempty"` // set
}

// File goes with a prompt; only its name and size matter to a rehearsal.
type File struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Size int64  `json:"size"`
}

// Message is one line from the agent: a reply (Reply names the request and ID
// is its id) or an event (Event set). A line with neither is noise: the id of
// some JSON log cannot complete a request.
type Message struct {
	Reply string `json:"reply,omitempty"`
	ID    int64  `json:"id,omitempty"`
	Error *Error `json:"error,omitempty"`
	Hello *Hello `json:"hello,omitempty"` // reply to initialize

	Event    string    `json:"event,omitempty"`
	Block    *Block    `json:"block,omitempty"`
	BlockID  string    `json:"blockId,omitempty"` // append
	Text     string    `json:"text,omitempty"`    // append, title
	Ask      *Ask      `json:"ask,omitempty"`
	AskID    string    `json:"askId,omitempty"` // withdraw
	Turn     *Turn     `json:"turn,omitempty"`
	Settings *Settings `json:"settings,omitempty"`
	Usage    *Usage    `json:"usage,omitempty"` // event, reply to usage
	ClientID string    `json:"clientId,omitempty"`
	Delivery string    `json:"delivery,omitempty"` // accepted, completed, discarded
}

// Error of a reply; Text is for a person.
type Error struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func (e *Error) Error() string { return e.Text }

// Hello answers initialize.
type Hello struct {
	Version  int          `json:"version"`
	Program  string       `json:"program"`
	Release  string       `json:"release"`
	Pid      int          `json:"pid"`
	Session  string       `json:"session,omitempty"` // empty: nothing is kept
	Resumed  bool         `json:"resumed,omitempty"`
	Settings Settings     `json:"settings"`
	Models   []Selectable `json:"models"`
	Modes    []Selectable `json:"modes"`
	Thinking []Selectable `json:"thinking"`
	Commands []Command    `json:"commands"`
}

// Selectable is one model, mode or thinking level. Tier is set for modes.
type Selectable struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	About   string `json:"about,omitempty"`
	Tier    string `json:"tier,omitempty"`
	Default bool   `json:"default,omitempty"`
}

// Command that may begin a prompt, without its slash.
type Command struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Hint  string `json:"hint,omitempty"`
}

// Settings in force; an empty member is unchanged.
type Settings struct {
	Model    string `json:"model,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Thinking string `json:"thinking,omitempty"`
}

// Turn states, origins and outcomes.
const (
	TurnStarted = "started"
	TurnEnded   = "ended"

	OriginPrompt = "prompt"
	OriginAgent  = "agent"

	OutcomeCompleted = "completed"
	OutcomeFailed    = "failed"
	OutcomeStopped   = "stopped"
)

// Turn begins or ends; Reason and Text say why it failed.
type Turn struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Origin  string `json:"origin"`
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Text    string `json:"text,omitempty"`
}

// Kinds of an ask.
const (
	AskTool     = "tool"
	AskPlan     = "plan"
	AskQuestion = "question"
)

// Ask is a request that only a person may answer.
type Ask struct {
	ID        string     `json:"id"`
	BlockID   string     `json:"blockId,omitempty"`
	Kind      string     `json:"kind"`
	Title     string     `json:"title"`
	About     string     `json:"about,omitempty"`
	Options   []Option   `json:"options"`
	Questions []Question `json:"questions,omitempty"`
	Plan      string     `json:"plan,omitempty"`
	FromMode  string     `json:"fromMode,omitempty"`
	ToMode    string     `json:"toMode,omitempty"`
	Tool      *Tool      `json:"tool,omitempty"`
}

// Option of an ask. Means is allow_once, allow_always, reject_once or other;
// Reach once or session.
type Option struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	Means   string `json:"means"`
	Reach   string `json:"reach"`
	About   string `json:"about,omitempty"`
	Comment bool   `json:"comment,omitempty"`
}

// Question on a card. Without choices it wants free text.
type Question struct {
	ID      string           `json:"id"`
	Header  string           `json:"header,omitempty"`
	Text    string           `json:"text"`
	Choices []QuestionChoice `json:"choices,omitempty"`
	Multi   bool             `json:"multi,omitempty"`
	Free    bool             `json:"free,omitempty"` // own words allowed
	Hint    string           `json:"hint,omitempty"`
	Skip    bool             `json:"skip,omitempty"` // may be skipped
}

type QuestionChoice struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	About string `json:"about,omitempty"`
}

// Answer to an ask. Canceled: nobody decided, the turn stops.
type Answer struct {
	OptionID string
	Comment  string
	Choices  map[string]Choice
	Canceled bool
}

// Choice is the answer to one question: ids, own words, or skipped.
type Choice struct {
	IDs     []string `json:"ids,omitempty"`
	Own     string   `json:"own,omitempty"`
	Skipped bool     `json:"skipped,omitempty"`
}

// Usage is made up from the lengths of the texts; a rehearsal costs nothing.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning,omitempty"`
	Context    int `json:"context"`
	ContextMax int `json:"contextMax"`
}
