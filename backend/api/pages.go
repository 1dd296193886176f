package api

import "github.com/whippletree-app/whippletree/backend/agent"

// SessionPageRequest asks for rows of a session on disk, of any size: those at
// its end, or those before a page that was shown. Nothing is imported.
type SessionPageRequest struct {
	Handle agent.Handle    `json:"handle"`
	Before *agent.Position `json:"before,omitempty"`
}

// SessionPage: Before is the position of the page before, absent at the beginning
// of the session.
type SessionPage struct {
	Items  []agent.Item    `json:"items"`
	Before *agent.Position `json:"before,omitempty"`
}
