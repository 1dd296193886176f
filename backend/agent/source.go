package agent

import "context"

// SessionSource reports sessions of one or more harnesses to the host, whoever
// started them.
//
// Start publishes until ctx ends and then returns; an error before that makes
// the host retry with back-off. While a harness is not enabled the source holds
// no watch, descriptor or process for it.
type SessionSource interface {
	Start(ctx context.Context, start SourceStart) error
}

// SourceStart is what the host hands to a source.
type SourceStart struct {
	Harnesses []string // enabled ones
	Publisher Publisher
	// Roots overrides where the harness keeps its data (several homes); empty
	// means the default of the environment.
	Roots []string
}

// Publisher takes what a source sees. Order is call order; calls after the
// source's ctx ended are ignored.
type Publisher interface {
	// Reset replaces everything this source published. At most
	// LimitResetSessions, no id twice; rejected items come back.
	Reset(sessions []Snapshot) []Rejected
	Upsert(sessions ...Snapshot) []Rejected
	Remove(harness string, ids ...string)
	Diagnostic(code, message string)
}

// Rejected names one item that broke a rule.
type Rejected struct {
	ID     string  `json:"id"`
	Issues []Issue `json:"issues"`
}

// Status of a live session as a source reports it. Empty: cannot tell, the
// previous one is kept.
type Status string

const (
	StatusStarting Status = "starting"
	StatusRunning  Status = "running"
	StatusWaiting  Status = "waiting"
	StatusBlocked  Status = "blocked"
	StatusIdle     Status = "idle"
)

// WaitingKind says what a waiting or blocked session waits for.
type WaitingKind string

const (
	WaitApproval WaitingKind = "approval"
	WaitQuestion WaitingKind = "question"
	WaitPlan     WaitingKind = "plan"
	WaitMode     WaitingKind = "mode"
	WaitSignin   WaitingKind = "signin"
	WaitLimit    WaitingKind = "limit"
	WaitTrust    WaitingKind = "trust"
	WaitUnknown  WaitingKind = "unknown"
)

// Link grades how a session is tied to its process. Only LinkProved allows a
// write, a signal or a take-over.
type Link string

const (
	LinkProved    Link = "proved"
	LinkInferred  Link = "inferred"
	LinkAmbiguous Link = "ambiguous"
)

// Snapshot is one session as a source sees it (EXTENSION-API.md section 3).
// All times are epoch milliseconds.
type Snapshot struct {
	ID              string      `json:"id"`
	Harness         string      `json:"harness"`
	Pid             int         `json:"pid,omitempty"`
	PidStartedAt    string      `json:"pidStartedAt,omitempty"` // the agent's own claim, to be checked
	Cwd             string      `json:"cwd"`
	Title           string      `json:"title,omitempty"`
	Model           string      `json:"model,omitempty"`
	Status          Status      `json:"status,omitempty"`
	StatusAt        int64       `json:"statusAt,omitempty"`
	WaitingFor      string      `json:"waitingFor,omitempty"`
	WaitingKind     WaitingKind `json:"waitingKind,omitempty"`
	Tool            string      `json:"tool,omitempty"`
	LastTurn        string      `json:"lastTurn,omitempty"` // completed, failed, interrupted
	LastTurnEndedAt int64       `json:"lastTurnEndedAt,omitempty"`
	Error           string      `json:"error,omitempty"`
	Evidence        string      `json:"evidence,omitempty"`
	// EvidenceKind ranks the status among other evidence: server, registry,
	// transcript. Absent: registry where the link is proved, else transcript.
	EvidenceKind string         `json:"evidenceKind,omitempty"`
	Subagents    []SubagentInfo `json:"subagents,omitempty"`
	Link         Link           `json:"link,omitempty"` // absent = inferred
	Candidates   []int          `json:"candidates,omitempty"`
	FacePids     []int          `json:"facePids,omitempty"`
	Mode         string         `json:"mode,omitempty"`
	Thinking     string         `json:"thinking,omitempty"`
	Context      *ContextUse    `json:"context,omitempty"`
	Counts       *Counts        `json:"counts,omitempty"`
	EndedBy      string         `json:"endedBy,omitempty"`
	StartedAt    int64          `json:"startedAt,omitempty"`
	// Supersedes names the session this process held before (/clear, /resume).
	Supersedes string `json:"supersedes,omitempty"`
	// Env holds the variables that locate the agent's data when it is not where the
	// environment says ([Handle.Env]).
	Env map[string]string `json:"env,omitempty"`
}

type Counts struct {
	Files int `json:"files"`
	Tools int `json:"tools"`
}

// SubagentInfo is one sub-agent; Status is running, completed, failed or cancelled.
type SubagentInfo struct {
	ID        string `json:"id"`
	ParentID  string `json:"parentId,omitempty"`
	Type      string `json:"type"`
	Title     string `json:"title,omitempty"`
	Status    string `json:"status"`
	StartedAt int64  `json:"startedAt,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`
}

// Recognizer tells whether a process is an agent of the harness: argv is the
// process's own command line with wrappers not yet removed, exe its resolved
// executable ("" unknown). It must not touch the process.
type Recognizer interface {
	Recognize(exe string, argv []string) Recognition
}

// Recognition of one process. SessionID is set when argv proves it. Helper
// marks daemons and helpers that are not sessions of their own.
type Recognition struct {
	Agent     bool
	SessionID string
	Helper    bool
}
