package agent

import (
	"context"
	"encoding/json"
)

// Handle names one stored conversation of a harness. Env holds the variables
// that locate the agent's data (CLAUDE_CONFIG_DIR, CODEX_HOME ...).
type Handle struct {
	Harness  string            `json:"harness"`
	NativeID string            `json:"nativeId"`
	Cwd      string            `json:"cwd"`
	Env      map[string]string `json:"env,omitempty"`
	Meta     json.RawMessage   `json:"meta,omitempty"`
}

// Position is where a mirror continues: after the record with RecordID, or
// from the byte Offset. The zero value is the beginning.
type Position struct {
	RecordID string `json:"recordId,omitempty"`
	Offset   int64  `json:"offset,omitempty"`
}

// Sink receives mirrored rows in order.
type Sink interface {
	// Item publishes a whole row with the same id the chat provider would use.
	Item(Item)
	// State reports who is acting in the session, for the banner and the list.
	State(MirrorState)
	// CaughtUp is called each time everything on disk has been read.
	CaughtUp(Position)
}

// MirrorState is what the transcript says of the turn and its surroundings.
type MirrorState struct {
	Status   Status   `json:"status,omitempty"`
	Title    string   `json:"title,omitempty"`
	Model    string   `json:"model,omitempty"`
	Mode     string   `json:"mode,omitempty"`
	Branches []Branch `json:"branches,omitempty"`
	// Usage is that of the last turn as far as the file tells of it, nil when it
	// does not.
	Usage *Usage `json:"usage,omitempty"`
	// SkippedLines counts records that could not be read.
	SkippedLines int `json:"skippedLines,omitempty"`
}

// Branch is a line of the conversation that a resume would not follow.
type Branch struct {
	LeafID string `json:"leafId"`
	Items  int    `json:"items"`
	Text   string `json:"text,omitempty"` // how it begins
}

// Owner says who may write to a session now.
type Owner string

const (
	OwnerApp      Owner = "app"
	OwnerTerminal Owner = "terminal"
	OwnerNobody   Owner = "nobody"
	OwnerShared   Owner = "shared"
	OwnerJoined   Owner = "joined"
	// OwnerUnclear: no write until it is clear, Evidence says why.
	OwnerUnclear Owner = "unclear"
)

// Ownership of a session with its evidence.
type Ownership struct {
	Owner    Owner  `json:"owner"`
	Pid      int    `json:"pid,omitempty"`
	Terminal string `json:"terminal,omitempty"`
	Since    int64  `json:"since,omitempty"`
	Link     Link   `json:"link,omitempty"`
	Evidence string `json:"evidence"`
	Faces    []int  `json:"faces,omitempty"`
}

// Command is argv, environment additions and folder; never a joined string.
type Command struct {
	Argv []string          `json:"argv"`
	Env  map[string]string `json:"env,omitempty"`
	Cwd  string            `json:"cwd"`
}

// TerminalRequest is what should be kept when a chat goes to a terminal.
type TerminalRequest struct {
	Handle   Handle   `json:"handle"`
	Mode     string   `json:"mode,omitempty"`
	Model    string   `json:"model,omitempty"`
	Thinking string   `json:"thinking,omitempty"`
	Binary   string   `json:"binary,omitempty"`
	Args     []string `json:"args,omitempty"`
}

// Handover passes a conversation between app and terminal.
type Handover interface {
	// TerminalCommand returns the command and what cannot be kept, in words for
	// the dialog.
	TerminalCommand(ctx context.Context, req TerminalRequest) (cmd Command, lost []string, err error)
	// Owner says who writes now, with evidence. ignore lists pids of our own
	// processes that do not count.
	Owner(ctx context.Context, h Handle, ignore []int) (Ownership, error)
	// Tip returns the newest id of the same conversation, found by proof.
	Tip(ctx context.Context, h Handle) (Handle, error)
	// Mirror streams rows read-only until ctx ends.
	Mirror(ctx context.Context, h Handle, from Position, sink Sink) error
	// ChangeDirs lists directories to watch for a change of ownership.
	ChangeDirs(h Handle) []string
}

// ExitRequester asks the terminal's process to end; the default is TERM to the
// proved pid.
type ExitRequester interface {
	RequestExit(ctx context.Context, h Handle, o Ownership) error
}

// Importer lists stored sessions, newest first.
type Importer interface {
	// Stored returns at most limit sessions after cursor ("" = newest);
	// next is "" at the end. cwd limits to one project folder when set.
	Stored(ctx context.Context, cwd, cursor string, limit int) (list []StoredSession, next string, err error)
}

// StoredSession is one conversation on disk. Times are epoch milliseconds; what
// was not found is absent.
type StoredSession struct {
	Handle Handle `json:"handle"`
	Title  string `json:"title"`
	// UpdatedAt is the newest plausible time of a record, else the file's.
	UpdatedAt int64  `json:"updatedAt"`
	Size      int64  `json:"size,omitempty"` // of the file, in bytes
	Model     string `json:"model,omitempty"`
	StartedAt int64  `json:"startedAt,omitempty"`
	// First and Last are what was asked first and last, one line each.
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"`
	// LastTurn is how the last turn ended: completed, failed, interrupted; absent
	// while one is open, or when the file does not tell.
	LastTurn        string `json:"lastTurn,omitempty"`
	LastTurnEndedAt int64  `json:"lastTurnEndedAt,omitempty"`
	// Usage is that of the last turn as far as the file tells of it, nil when it
	// does not.
	Usage *Usage `json:"usage,omitempty"`
	// SkippedLines counts lines that hold no record, in what was read of the file.
	SkippedLines int `json:"skippedLines,omitempty"`
	// ClockOdd says that a record claims a time in the future; it is not believed.
	ClockOdd bool `json:"clockOdd,omitempty"`
}

// PageReader is a [Handover] that reads a session from its end, page by page: of
// any size, in bounded memory.
type PageReader interface {
	// ReadPage returns the rows that stand before a position (zero: the end of the
	// file), those of about the last n bytes, in their order. from is where the page
	// begins: the next before; its Offset is 0 at the beginning of the session.
	ReadPage(ctx context.Context, h Handle, before Position, n int64) (rows []PagedItem, from Position, err error)
}

// PagedItem is a row with the place where its page can be cut: a page that ends
// there has the rows before it.
type PagedItem struct {
	Item Item     `json:"item"`
	At   Position `json:"at"`
}

// StoredChecker is an [Importer] that answers from an index of what is on disk.
type StoredChecker interface {
	// CheckStored compares the disk with the index and reads what changed, newest
	// first. progress, which may be nil, is called when the index has more to
	// show. The caller sees to it that one runs at a time.
	CheckStored(ctx context.Context, progress func()) error
	// StoredFolders lists the folders in which conversations were held.
	StoredFolders(ctx context.Context) ([]StoredFolder, error)
}

// StoredFolder is a working folder with its conversations on disk.
type StoredFolder struct {
	Cwd       string `json:"cwd"`
	Sessions  int    `json:"sessions"`
	UpdatedAt int64  `json:"updatedAt"` // of the newest one
}

// PromptNamer tells under which native id the agent stores a prompt that is sent
// with a client id, where that is fixed beforehand. A delivery that a crash left
// unknown can then be looked up in the transcript. Optional, of a Handover; ""
// when it cannot be told.
type PromptNamer interface {
	PromptID(h Handle, clientID string) string
}
