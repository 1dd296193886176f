package model

import "github.com/whippletree-app/whippletree/backend/agent"

// SearchHit is one place where everything that was searched for stands. It lies
// in a chat of ours (ChatID, Seq, Turn) or in a session of somebody else (Key).
type SearchHit struct {
	ChatID string         `json:"chatId,omitempty"`
	Key    *SessionKey    `json:"key,omitempty"`
	Title  string         `json:"title"`
	Agent  string         `json:"harness"`
	Cwd    string         `json:"cwd"`
	ItemID string         `json:"itemId"`
	Seq    int64          `json:"seq,omitempty"`
	Turn   int64          `json:"turn,omitempty"`
	Type   agent.ItemType `json:"type"`
	Tool   agent.ToolKind `json:"kind,omitempty"`
	At     int64          `json:"at,omitempty"`
	// Archived says so of its chat.
	Archived bool `json:"archived,omitempty"`
	// Text is at most 240 characters around the first place, in one line.
	Text string `json:"text"`
	// Marks are begin and end of what was found in Text, in UTF-16 units.
	Marks [][2]int `json:"marks"`
	// Cursor is where a search goes on behind this hit.
	Cursor string `json:"-"`
}

// RemovedChat is a chat that retention removed, or a person did.
type RemovedChat struct {
	ChatID string `json:"chatId"`
	Title  string `json:"title"`
	Agent  string `json:"harness"`
	Cwd    string `json:"cwd"`
	// NativeID is the agent's own session, which stays with the agent.
	NativeID string `json:"nativeId,omitempty"`
	Rows     int64  `json:"rows"`
	At       int64  `json:"at"`
	Why      string `json:"why"` // retention
}
