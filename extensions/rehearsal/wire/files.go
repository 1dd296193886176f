package wire

import (
	"path/filepath"
	"regexp"
	"strconv"
)

// Types of a record.
const (
	RecordSession  = "session"
	RecordBlock    = "block"
	RecordTurn     = "turn"
	RecordTitle    = "title"
	RecordSettings = "settings"
	RecordUsage    = "usage"
)

// Record is one line of a session file. Records are only ever appended.
// Parent is the id of the record this writer wrote or read last, so that two
// writers show as two branches.
type Record struct {
	ID      string `json:"id"`
	Parent  string `json:"parent,omitempty"`
	Session string `json:"session"`
	At      int64  `json:"at"`
	Type    string `json:"type"`

	Cwd      string    `json:"cwd,omitempty"`     // session
	Release  string    `json:"release,omitempty"` // session
	Block    *Block    `json:"block,omitempty"`
	Turn     *Turn     `json:"turn,omitempty"`
	Title    string    `json:"title,omitempty"`
	Settings *Settings `json:"settings,omitempty"`
	Usage    *Usage    `json:"usage,omitempty"`
}

// Statuses of a live session.
const (
	StatusIdle    = "idle"
	StatusRunning = "running"
	StatusWaiting = "waiting"
)

// Live is what a running rehearsal says of itself in sessions/<pid>.json.
// StartTicks is the process's start time as the system gives it (Linux: field
// 22 of /proc/PID/stat), as decimal text.
type Live struct {
	Pid         int    `json:"pid"`
	StartTicks  string `json:"startTicks"`
	Session     string `json:"session"`
	Cwd         string `json:"cwd"`
	Face        string `json:"face"` // terminal, structured
	Status      string `json:"status"`
	WaitingFor  string `json:"waitingFor,omitempty"`
	WaitingKind string `json:"waitingKind,omitempty"` // permission, question, plan
	Tool        string `json:"tool,omitempty"`
	Title       string `json:"title,omitempty"`
	Model       string `json:"model,omitempty"`
	Mode        string `json:"mode,omitempty"`
	LastTurn    string `json:"lastTurn,omitempty"` // an outcome
	LastTurnAt  int64  `json:"lastTurnAt,omitempty"`
	Helpers     []Mate `json:"helpers,omitempty"`
	StartedAt   int64  `json:"startedAt"`
	UpdatedAt   int64  `json:"updatedAt"`
	Before      string `json:"before,omitempty"` // the session this process held before
}

// Mate is a helper of a live session.
type Mate struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Title string `json:"title"`
	State string `json:"state"`
}

var sessionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

// ValidSession reports whether id may name a session (and so a file).
func ValidSession(id string) bool { return sessionID.MatchString(id) }

// Home is the folder of a rehearsal's data.
type Home string

// Sessions is the folder of the live registry.
func (h Home) Sessions() string { return filepath.Join(string(h), "sessions") }

// Live is the registry file of one process.
func (h Home) Live(pid int) string { return filepath.Join(h.Sessions(), strconv.Itoa(pid)+".json") }

// Transcripts is the folder of the session files.
func (h Home) Transcripts() string { return filepath.Join(string(h), "transcripts") }

// Transcript is the file of one session; the id must be valid.
func (h Home) Transcript(id string) string { return filepath.Join(h.Transcripts(), id+".jsonl") }

// Scratch is the folder in which the rehearsal edits files.
func (h Home) Scratch(id string) string { return filepath.Join(string(h), "scratch", id) }

// HomeVariable locates the data of a rehearsal.
const HomeVariable = "REHEARSAL_HOME"
