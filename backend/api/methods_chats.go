package api

import (
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// chats.*

// Chats are ordered by their last use, newest first. One that is used while
// somebody pages moves to the front: it may come twice, none is left out.
type Chats struct {
	Chats []model.ChatSummary `json:"chats"`
	Next  string              `json:"next,omitempty"`
	Total int                 `json:"total,omitempty"` // of all pages
}

// CreateChat is idempotent by ClientID. Cwd empty makes a confined chat.
type CreateChat struct {
	ClientID string                     `json:"clientId"`
	Harness  string                     `json:"harness"`
	Kind     agent.Kind                 `json:"kind,omitempty"`
	Cwd      string                     `json:"cwd,omitempty"`
	Title    string                     `json:"title,omitempty"`
	Model    string                     `json:"model,omitempty"`
	Mode     string                     `json:"mode,omitempty"`
	Thinking string                     `json:"thinking,omitempty"`
	Features map[string]json.RawMessage `json:"features,omitempty"`
	Options  json.RawMessage            `json:"options,omitempty"`
	// Adopt opens an existing session (found running or stored).
	Adopt *agent.Handle `json:"adopt,omitempty"`
	// Prompt is sent at once.
	Prompt string `json:"prompt,omitempty"`
}

type ChatRef struct {
	ChatID string `json:"chatId"`
}

type ChatResult struct {
	Chat model.ChatSummary `json:"chat"`
}

// RowsRequest pages upwards: at most Limit rows before Before (0 = the tail).
type RowsRequest struct {
	ChatID string `json:"chatId"`
	Before int64  `json:"before,omitempty"`
	After  int64  `json:"after,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

type RowsResult struct {
	Rows  []model.Row `json:"rows"`
	Total int64       `json:"total"`
}

// ContentRequest fetches a chunk of what was too large for a row. Field is
// text, output, diff or content; at most 192 KiB a call.
type ContentRequest struct {
	ChatID string `json:"chatId"`
	ItemID string `json:"itemId"`
	Field  string `json:"field"`
	Offset int64  `json:"offset,omitempty"`
}

type ContentResult struct {
	Text string `json:"text"`
	Next int64  `json:"next,omitempty"` // 0 = end
	Size int64  `json:"size"`
}

// SendPrompt queues when a turn runs or the session is mirrored. How is "" or
// queue; steer gives it to the running turn; now stops and replaces it.
type SendPrompt struct {
	ChatID      string             `json:"chatId"`
	ClientID    string             `json:"clientId"`
	Text        string             `json:"text"`
	Attachments []agent.Attachment `json:"attachments,omitempty"`
	How         string             `json:"how,omitempty"`
}

type SendResult struct {
	State model.QueueState `json:"state"`
	Turn  int64            `json:"turn,omitempty"`
	Note  string           `json:"note,omitempty"`
}

type StopResult struct {
	Turn  model.TurnState `json:"turn"`
	Error string          `json:"error,omitempty"`
}

type ChatSetting struct {
	ChatID string          `json:"chatId"`
	Name   string          `json:"name"` // model, mode, thinking, title, archived, autoMode, feature:<id>
	Value  json.RawMessage `json:"value"`
}

type SettingResult struct {
	Chat   model.ChatSummary `json:"chat"`
	Notice *agent.Notice     `json:"notice,omitempty"`
}

type QueueEdit struct {
	ChatID   string `json:"chatId"`
	ClientID string `json:"clientId"`
	Text     string `json:"text,omitempty"`
	// Before moves the entry before another one; "" with Move = to the end.
	Move   bool   `json:"move,omitempty"`
	Before string `json:"before,omitempty"`
	Remove bool   `json:"remove,omitempty"`
	Retry  bool   `json:"retry,omitempty"` // a failed or unknown one
}

type QueueResult struct {
	Queue []model.QueueEntry `json:"queue"`
}

// RewindRequest goes back to before a message of the person's. What is
// conversation ("" too), files or both.
type RewindRequest struct {
	ChatID string `json:"chatId"`
	ItemID string `json:"itemId"`
	What   string `json:"what,omitempty"`
}

// RewindPreview is what going back would do, for the question before it. Rows
// counts what leaves the conversation; Conversation false: it cannot go back
// (WhyNot). Files is absent when the agent cannot put files back.
type RewindPreview struct {
	Conversation bool              `json:"conversation"`
	WhyNot       string            `json:"whyNot,omitempty"`
	Rows         int64             `json:"rows"`
	Files        *agent.FileRewind `json:"files,omitempty"`
}

// ItemRef names one row of a chat.
type ItemRef struct {
	ChatID string `json:"chatId"`
	ItemID string `json:"itemId"`
}

// StatusResult is what the agent of a chat says of itself. Live false: none runs,
// and none is started to be asked.
type StatusResult struct {
	Live   bool              `json:"live"`
	Agent  *agent.AgentInfo  `json:"agent,omitempty"`
	Status *agent.Inspection `json:"status,omitempty"`
}

// approvals.*

type Approvals struct {
	Approvals []model.ApprovalCard `json:"approvals"`
}

type AnswerApproval struct {
	ChatID     string               `json:"chatId,omitempty"` // may be left out when ApprovalID is unique
	ApprovalID string               `json:"approvalId"`
	Revision   int64                `json:"revision,omitempty"` // refused when the card changed
	Answer     agent.ApprovalAnswer `json:"answer"`
	// Remember makes a rule of our own of it: the same command or path of the same
	// tool is then allowed once each time, in this project (ApprovalCard.remember).
	Remember bool `json:"remember,omitempty"`
}

// AnswerResult: Won is false when another answer came first; Card tells which.
type AnswerResult struct {
	Won  bool               `json:"won"`
	Card model.ApprovalCard `json:"card"`
}

// trust.*

type TrustCheck struct {
	Harness string `json:"harness"`
	Cwd     string `json:"cwd"`
}

// TrustGrant: State is trusted or untrusted (project sources stay off).
type TrustGrant struct {
	Cwd   string `json:"cwd"`
	State string `json:"state"`
}

// handoff.*

type HandoffRequest struct {
	ChatID string `json:"chatId"`
	// Place is app (a tab here) or the id of a terminal app; "" = default.
	Place string `json:"place,omitempty"`
	// When: now (idle only), afterTurn, stop (stop and continue). With afterTurn and
	// a running turn the answer comes at once: hand.pending says what will happen,
	// handoff.withdraw takes it back.
	When string `json:"when,omitempty"`
	// Open=false releases and only prints the command.
	PrintOnly bool `json:"printOnly,omitempty"`
}

type HandoffResult struct {
	Hand       model.Hand `json:"hand"`
	TerminalID string     `json:"terminalId,omitempty"`
	Printed    string     `json:"printed,omitempty"`
}

// TakeBack waits for nothing: it takes the session back when it is free. Force
// asks the terminal's agent to exit first (the dialog said so).
type TakeBack struct {
	ChatID string `json:"chatId"`
	Force  bool   `json:"force,omitempty"`
}

type HandResult struct {
	Hand model.Hand `json:"hand"`
}
