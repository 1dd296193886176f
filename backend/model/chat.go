package model

import "github.com/whippletree-app/whippletree/backend/agent"

// TurnState is where the foreground turn of a chat stands.
type TurnState string

const (
	TurnIdle     TurnState = "idle"
	TurnOpening  TurnState = "opening" // the agent is being started or resumed
	TurnRunning  TurnState = "running"
	TurnStopping TurnState = "stopping"
)

// HandState is where the ownership of a chat's session stands (HANDOFF.md).
type HandState string

const (
	HandApp         HandState = "app" // ours, nothing special
	HandReleasing   HandState = "releasing"
	HandMirror      HandState = "mirror"
	HandReattaching HandState = "reattaching"
	HandUnclear     HandState = "unclear"
)

// ChatSummary is a row of the chats list.
type ChatSummary struct {
	ID        string         `json:"id"`
	Title     string         `json:"title"`
	Harness   string         `json:"harness"`
	Provider  string         `json:"provider"`
	Kind      agent.Kind     `json:"kind"`
	Cwd       string         `json:"cwd"`
	Project   Project        `json:"project"`
	Handle    *agent.Handle  `json:"handle,omitempty"`
	Aliases   []string       `json:"aliases,omitempty"`
	Turn      TurnState      `json:"turn"`
	State     SessionState   `json:"state"`
	TurnSince int64          `json:"turnSince,omitempty"`
	Hand      Hand           `json:"hand"`
	Model     string         `json:"model,omitempty"`
	Mode      string         `json:"mode,omitempty"`
	Thinking  string         `json:"thinking,omitempty"`
	Waiting   int            `json:"waiting"` // open approvals
	Queued    int            `json:"queued"`
	Unread    bool           `json:"unread,omitempty"`
	LastEnd   *agent.TurnEnd `json:"lastEnd,omitempty"`
	CreatedAt int64          `json:"createdAt"`
	UpdatedAt int64          `json:"updatedAt"`
	Archived  bool           `json:"archived,omitempty"`
}

// Hand is the ownership of the session as the banner shows it.
type Hand struct {
	State     HandState        `json:"state"`
	Ownership *agent.Ownership `json:"ownership,omitempty"`
	Place     *Place           `json:"place,omitempty"`
	Since     int64            `json:"since,omitempty"`
	Branches  []agent.Branch   `json:"branches,omitempty"`
	Note      string           `json:"note,omitempty"` // what happened, why not
	// Pending is a hand-over that waits for the end of the running turn. The state
	// is still app; it can be withdrawn.
	Pending *PendingHand `json:"pending,omitempty"`
	// Launched is the agent that the app started in a terminal, once it is known: a
	// later host of ours must not take it for nobody while it asks for a login.
	Launched *Launched `json:"launched,omitempty"`
}

// PendingHand is what happens when the turn has ended.
type PendingHand struct {
	Place     string `json:"place,omitempty"` // app or the id of a terminal app
	Label     string `json:"label,omitempty"` // of the place, for people
	PrintOnly bool   `json:"printOnly,omitempty"`
	Since     int64  `json:"since"`
}

// Launched names one process for ever (processes.Identity).
type Launched struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot,omitempty"`
}

// Chat is all a window needs to show one chat at its tail.
type Chat struct {
	ChatSummary
	Agent     agent.AgentInfo `json:"agent"`
	Abilities []agent.Ability `json:"abilities"`
	Catalog   *agent.Catalog  `json:"catalog,omitempty"`
	Usage     *agent.Usage    `json:"usage,omitempty"`
	Items     []Row           `json:"items"` // the tail, in order
	First     int64           `json:"first"` // seq of Items[0]; > 1: older ones exist
	Total     int64           `json:"total"`
	Queue     []QueueEntry    `json:"queue"`
	Approvals []ApprovalCard  `json:"approvals"`
	AutoMode  *AutoMode       `json:"autoMode,omitempty"`
	Trust     string          `json:"trust,omitempty"` // trusted, untrusted
	Silent    int64           `json:"silentSince,omitempty"`
	Stopping  *Stopping       `json:"stopping,omitempty"`
}

// StopStep is how far a stop has got.
type StopStep string

const (
	StopAsked  StopStep = "asked"  // the agent was asked to stop
	StopOwed   StopStep = "owed"   // it refused: Stop asks again
	StopEnding StopStep = "ending" // it did not stop in time: its processes are being ended
	StopStuck  StopStep = "stuck"  // they could not be ended: Stop tries again
	// StopShared: it did not stop in time, and its server is not ended for one
	// chat. Stop asks again; chats.restartServer ends the server and what Ends says.
	StopShared StopStep = "shared"
)

// Stopping tells of a stop that is not done yet. Nothing is sent meanwhile.
type Stopping struct {
	Step StopStep `json:"step"`
	At   int64    `json:"at"` // since when it is this step
	// EndsAt is when its processes are ended unless it stops before; 0: they are not.
	EndsAt int64    `json:"endsAt,omitempty"`
	Error  string   `json:"error,omitempty"` // why it did not stop
	Ends   []string `json:"ends,omitempty"`  // with shared: what a restart of the server ends
}

// Row is an item with its place in the chat: Seq starts at 1 and never changes.
// Turn numbers the turns from 1; 0 is before the first.
type Row struct {
	agent.Item
	Seq  int64 `json:"seq"`
	Turn int64 `json:"turn"`
	// Provisional rows are not settled yet (streaming).
	Provisional bool `json:"provisional,omitempty"`
	// Via is terminal when the row was written elsewhere.
	Via string `json:"via,omitempty"`
	// Cut holds the whole size in bytes of every field that is shortened here
	// (text, output, diff ...); chats.content serves the whole.
	Cut map[string]int64 `json:"cut,omitempty"`
}

// QueueState is where a queued prompt stands; unknown needs a look-up in the
// agent's transcript and is shown.
type QueueState string

const (
	QueueQueued   QueueState = "queued"
	QueueSending  QueueState = "sending"
	QueueAccepted QueueState = "accepted"
	QueueFailed   QueueState = "failed"
	QueueUnknown  QueueState = "unknown"
)

// QueueEntry is one prompt waiting its turn, durable until accepted.
type QueueEntry struct {
	ClientID    string             `json:"clientId"`
	Text        string             `json:"text"`
	Attachments []agent.Attachment `json:"attachments,omitempty"`
	State       QueueState         `json:"state"`
	Error       string             `json:"error,omitempty"`
	At          int64              `json:"at"`
	Steer       bool               `json:"steer,omitempty"`
	// Cut is the whole size of Text in bytes where it is shortened here; such an
	// entry cannot be changed, only moved and taken out.
	Cut int `json:"cut,omitempty"`
}

// CardState is the moment of an approval card.
type CardState string

const (
	CardOpen              CardState = "open"
	CardSent              CardState = "sent"
	CardConfirmed         CardState = "confirmed"
	CardUnconfirmed       CardState = "unconfirmed"
	CardWithdrawn         CardState = "withdrawn"
	CardAnsweredElsewhere CardState = "answeredElsewhere"
	CardRefused           CardState = "refused"
)

// ApprovalCard is an approval with its life. Revision grows when the request
// changes: a card of another revision is a new card.
type ApprovalCard struct {
	agent.Approval
	ChatID   string           `json:"chatId"`
	Turn     int64            `json:"turn"`
	At       int64            `json:"at"`
	Revision int64            `json:"revision"`
	State    CardState        `json:"state"`
	Answer   *RecordedAnswer  `json:"answer,omitempty"`
	Refused  []RefusedAttempt `json:"refused,omitempty"`
	// Earlier are answers that were not acknowledged and then given anew; each of
	// them may be the one that the agent got.
	Earlier []RecordedAnswer `json:"earlier,omitempty"`
	// Elsewhere is set when it cannot be answered here.
	Elsewhere *Place `json:"elsewhere,omitempty"`
	// Remember is the rule that an answer with AnswerApproval.remember makes; nil
	// when none can be made of it.
	Remember *RuleOffer `json:"remember,omitempty"`
}

// RecordedAnswer is the one answer that won.
type RecordedAnswer struct {
	agent.ApprovalAnswer
	Label string `json:"label,omitempty"`
	By    string `json:"by"` // window, cli, rule, auto, terminal
	Where string `json:"where,omitempty"`
	At    int64  `json:"at"`
	// Rule is the id of the rule of ours that answered, or that this answer made.
	Rule string `json:"rule,omitempty"`
}

// RuleOffer says what "always in this project" would cover: exactly this command
// or path, for this tool; OptionID is what the agent gets each time.
type RuleOffer struct {
	Project  string `json:"project"` // its root
	Tool     string `json:"tool"`
	Pattern  string `json:"pattern"`
	OptionID string `json:"optionId"`
}

// RefusedAttempt is an answer that was not taken, with who tried.
type RefusedAttempt struct {
	Who   string `json:"who"`
	Where string `json:"where"`
	At    int64  `json:"at"`
}

// AutoMode is the visible automatic mode of a chat.
type AutoMode struct {
	On      bool  `json:"on"`
	Answers int   `json:"answers"`
	Since   int64 `json:"since"`
}

// HandoffPreview is what the dialog shows before anything happens.
type HandoffPreview struct {
	Command agent.Command `json:"command"`
	Printed string        `json:"printed"` // quoted once, for copying
	Lost    []string      `json:"lost,omitempty"`
	Places  []PlaceChoice `json:"places"`
	CanNow  bool          `json:"canNow"`
	Why     string        `json:"why,omitempty"`
	Running bool          `json:"running"`
}

// PlaceChoice is one terminal a chat can go to: app (a tab here) or a name.
type PlaceChoice struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	Default bool   `json:"default,omitempty"`
}
