package model

import "github.com/whippletree-app/whippletree/backend/agent"

// SessionState is the state of a row in the Agents panel. The CLI, the panel
// and the API use the same words.
type SessionState string

const (
	SessionStarting SessionState = "starting"
	SessionRunning  SessionState = "running"
	SessionWaiting  SessionState = "waiting"
	SessionBlocked  SessionState = "blocked"
	SessionIdle     SessionState = "idle"
	SessionDone     SessionState = "done"
	SessionFailed   SessionState = "failed"
	SessionCanceled SessionState = "canceled"
)

// NeedsPerson reports whether the state by itself asks for a person.
func (s SessionState) NeedsPerson() bool {
	return s == SessionWaiting || s == SessionBlocked || s == SessionFailed
}

// SessionKey names a row: harness and native id.
type SessionKey struct {
	Harness string `json:"harness"`
	ID      string `json:"id"`
}

// Session is one row of the Agents panel.
type Session struct {
	Key         SessionKey           `json:"key"`
	Title       string               `json:"title"`
	Model       string               `json:"model,omitempty"`
	Mode        string               `json:"mode,omitempty"`
	State       SessionState         `json:"state"`
	StateSince  int64                `json:"stateSince"`
	Stale       bool                 `json:"stale,omitempty"` // silent for long while running
	WaitingKind agent.WaitingKind    `json:"waitingKind,omitempty"`
	WaitingFor  string               `json:"waitingFor,omitempty"`
	Tool        string               `json:"tool,omitempty"`
	Error       string               `json:"error,omitempty"`
	LastTurn    string               `json:"lastTurn,omitempty"`
	Evidence    Evidence             `json:"evidence"`
	Cwd         string               `json:"cwd"`
	Project     Project              `json:"project"`
	Pid         int                  `json:"pid,omitempty"`
	Link        agent.Link           `json:"link,omitempty"`
	Candidates  []int                `json:"candidates,omitempty"`
	Place       Place                `json:"place"`
	Subagents   []agent.SubagentInfo `json:"subagents,omitempty"`
	Context     *agent.ContextUse    `json:"context,omitempty"`
	Counts      *agent.Counts        `json:"counts,omitempty"`
	StartedAt   int64                `json:"startedAt,omitempty"`
	EndedAt     int64                `json:"endedAt,omitempty"`
	Unread      bool                 `json:"unread,omitempty"`   // a fresh end nobody saw
	NeedsYou    bool                 `json:"needsYou,omitempty"` // belongs to the top group
	ChatID      string               `json:"chatId,omitempty"`   // our chat that shows it
	Aliases     []string             `json:"aliases,omitempty"`  // older native ids of one lineage
	// Env locates the agent's data where it is not where the environment says.
	Env map[string]string `json:"env,omitempty"`
}

// Evidence says what a state was read from and when.
type Evidence struct {
	Source string `json:"source"` // chat, server, terminal, registry, transcript, process
	Text   string `json:"text"`
	At     int64  `json:"at"`
}

// Place is where a session runs. Kind: tab (ours), terminal (a known app),
// tmux, screen, zellij, external (found no terminal), none (no process).
type Place struct {
	Kind       string `json:"kind"`
	TerminalID string `json:"terminalId,omitempty"` // ours
	App        string `json:"app,omitempty"`        // kitty, xterm ...
	Label      string `json:"label,omitempty"`      // what the row shows
	External   bool   `json:"external,omitempty"`   // descends from no terminal of ours
	CanFocus   bool   `json:"canFocus"`
	WhyNot     string `json:"whyNot,omitempty"`
}

// Project groups sessions. Root is the repository root (or the folder), Name
// what the group is called.
type Project struct {
	Root     string `json:"root"`
	Name     string `json:"name"`
	Worktree string `json:"worktree,omitempty"` // name when linked, "" for the main one
	Branch   string `json:"branch,omitempty"`
	Gone     bool   `json:"gone,omitempty"`
}
