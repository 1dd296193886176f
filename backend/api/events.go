package api

import (
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Topics. A chat has a topic of its own: TopicChat + id.
const (
	TopicHost      = "host"      // snapshot model.HostInfo
	TopicSessions  = "sessions"  // snapshot []model.Session
	TopicChats     = "chats"     // snapshot []model.ChatSummary
	TopicChat      = "chat:"     // snapshot model.Chat
	TopicTerminals = "terminals" // snapshot []model.Terminal
	TopicApprovals = "approvals" // snapshot []model.ApprovalCard: all open ones
	TopicHarnesses = "harnesses" // snapshot []model.Harness
	TopicSettings  = "settings"  // snapshot model.Settings
	TopicAttention = "attention" // snapshot Attention
)

// Event is one change of a topic. Seq grows by one per topic.
type Event struct {
	Topic string          `json:"topic"`
	Seq   uint64          `json:"seq"`
	Type  string          `json:"type"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// Event types and their Data.
const (
	// Lists (sessions, chats, terminals, approvals, harnesses).
	EventUpsert = "upsert" // one element of the list
	EventRemove = "remove" // Removed
	EventReset  = "reset"  // the whole list anew
	// host, settings, attention: the whole value anew.
	EventValue = "value"
	// host: Raise, for windows.
	EventRaise = "raise"
	// chat:<id>
	EventChat       = "chat"       // model.ChatSummary changed (turn, hand, title, model ...)
	EventRow        = "row"        // model.Row: new or replaced, by id
	EventAppend     = "append"     // Appended
	EventRemoveRows = "removeRows" // RemovedRows (rewind)
	EventQueue      = "queue"      // []model.QueueEntry: whole
	EventApproval   = "approval"   // model.ApprovalCard: new or changed, by id
	EventUsage      = "usage"      // agent.Usage
	EventCatalog    = "catalog"    // agent.Catalog
	EventTurn       = "turn"       // TurnChanged
	EventPulse      = "pulse"      // the agent sent something (drives the working glyph), at most 4 a second
	EventNotice     = "notice"     // agent.Notice that is not a row
	// Any topic: the client fell behind or the topic ended; subscribe anew.
	EventGap = "gap"
)

// Removed names list elements by their id (SessionKey as "harness/id").
type Removed struct {
	IDs []string `json:"ids"`
}

// Appended adds text to a row: to Output of a tool, else to Text. At is the
// length in bytes of the field before it, so that a client can prove that it
// missed nothing.
type Appended struct {
	ID   string `json:"id"`
	At   int    `json:"at"`
	Text string `json:"text"`
}

// RemovedRows says that every row from Seq on is gone.
type RemovedRows struct {
	From int64 `json:"from"`
}

// TurnChanged opens or ends a turn.
type TurnChanged struct {
	Turn   int64            `json:"turn"`
	Origin agent.TurnOrigin `json:"origin"`
	State  model.TurnState  `json:"state"`
	At     int64            `json:"at"`
	End    *agent.TurnEnd   `json:"end,omitempty"`
}
