package api

import (
	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// search.*

// SearchRequest: Text is words that must all occur in one item, also inside other
// words, whatever their case; double quotes keep words together. In is chats (also
// "") or sessions: those that are no chats, where the setting search.sessions
// allows to read them. ChatID, Harness and Cwd (with what lies below) limit it.
type SearchRequest struct {
	Text    string `json:"text"`
	In      string `json:"in,omitempty"`
	ChatID  string `json:"chatId,omitempty"`
	Harness string `json:"harness,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
	Limit   int    `json:"limit,omitempty"` // at most 200; 0: 50
}

// SearchResult is a page, newest first. A page may hold fewer hits than asked
// for, even none, and a Next: looking on takes its time, and the caller decides.
type SearchResult struct {
	Hits []model.SearchHit `json:"hits"`
	Next string            `json:"next,omitempty"`
	// Titles are chats with the text in their title or folder; with the first page.
	Titles []model.ChatSummary `json:"titles,omitempty"`
	// Waiting counts rows that are not in the index yet (10000: that many or more).
	// The newest of them are found all the same.
	Waiting int `json:"waiting,omitempty"`
	// Reading says that sessions are being read: the same search may find more later.
	Reading bool `json:"reading,omitempty"`
	// Off says that sessions are not read (the setting search.sessions).
	Off bool `json:"off,omitempty"`
}

// ExportRequest writes a chat out. Format is markdown or json.
type ExportRequest struct {
	ChatID string `json:"chatId"`
	Format string `json:"format"`
	Cursor string `json:"cursor,omitempty"`
}

// ExportResult is the next part of the document; Next is "" at its end. Name is
// what a file for it could be called.
type ExportResult struct {
	Name string `json:"name"`
	Mime string `json:"mime"`
	Text string `json:"text"`
	Next string `json:"next,omitempty"`
}

// Removal is what removing a chat would do.
type Removal struct {
	Chat model.ChatSummary `json:"chat"`
	// What goes.
	Rows        int64 `json:"rows"`
	Queued      int   `json:"queued,omitempty"`  // prompts that were not sent
	Waiting     int   `json:"waiting,omitempty"` // approvals that nobody answered
	Attachments int   `json:"attachments,omitempty"`
	Running     bool  `json:"running,omitempty"` // a turn that is stopped first
	// What stays: the agent's own session, and the file it is in where it is known.
	AgentSession string `json:"agentSession,omitempty"`
	AgentFile    string `json:"agentFile,omitempty"`
	InTerminal   bool   `json:"inTerminal,omitempty"` // the terminal goes on
	// Backups is the folder of the copies of the database from before an update,
	// where there are any: they may still hold the chat.
	Backups string `json:"backups,omitempty"`
}

// RemovedChats are the chats that retention removed, the last first.
type RemovedChats struct {
	Removed []model.RemovedChat `json:"removed"`
}

// PreviewRequest asks for the beginning and the end of a stored session, without
// importing it.
type PreviewRequest struct {
	Handle agent.Handle `json:"handle"`
}

// PreviewResult: Head and Tail are rows with their texts cut to 2 KiB and without
// what tools were given and gave; Left counts the rows between them.
type PreviewResult struct {
	Head []agent.Item `json:"head"`
	Tail []agent.Item `json:"tail"`
	Left int          `json:"left"`
	// ChatID is the chat that shows this session already.
	ChatID string `json:"chatId,omitempty"`
}
