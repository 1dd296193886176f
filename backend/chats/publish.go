package chats

import (
	"path/filepath"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Topics and event types as backend/api names them; a test compares both.
const (
	topicChats     = "chats"
	topicChat      = "chat:"
	topicApprovals = "approvals"

	eventUpsert     = "upsert"
	eventRemove     = "remove"
	eventChat       = "chat"
	eventRow        = "row"
	eventAppend     = "append"
	eventRemoveRows = "removeRows"
	eventQueue      = "queue"
	eventApproval   = "approval"
	eventUsage      = "usage"
	eventCatalog    = "catalog"
	eventTurn       = "turn"
	eventPulse      = "pulse"
	eventNotice     = "notice"
)

type (
	// Appended, Removed, RemovedRows and TurnChanged have the shape of the types
	// of the same name in backend/api.
	Appended struct {
		ID   string `json:"id"`
		At   int    `json:"at"`
		Text string `json:"text"`
	}
	Removed struct {
		IDs []string `json:"ids"`
	}
	RemovedRows struct {
		From int64 `json:"from"`
	}
	TurnChanged struct {
		Turn   int64            `json:"turn"`
		Origin agent.TurnOrigin `json:"origin"`
		State  model.TurnState  `json:"state"`
		At     int64            `json:"at"`
		End    *agent.TurnEnd   `json:"end,omitempty"`
	}
)

func (c *chat) publish(typ string, data any) { c.m.o.Publisher.Publish(c.topic, typ, data) }

func base(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}
