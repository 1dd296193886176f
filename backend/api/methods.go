package api

import (
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// None is an empty request or answer.
type None struct{}

// host.*

// Hello opens a connection. Client is window, cli, browser, bench or test.
// A window registers how it is started again (Argv, Env names and values).
type Hello struct {
	Protocol int               `json:"protocol"`
	Client   string            `json:"client"`
	Version  string            `json:"version"`
	Window   string            `json:"window,omitempty"` // stable id of the window
	Argv     []string          `json:"argv,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	// Lease keeps the host alive while this connection (or its return within
	// 30 s) lives.
	Lease bool `json:"lease,omitempty"`
}

type HelloResult struct {
	Host model.HostInfo `json:"host"`
}

// Goodbye ends the lease at once. QuitHost asks the host to end as well;
// without Force it answers what is still running instead of ending.
type Goodbye struct {
	QuitHost bool `json:"quitHost,omitempty"`
	Force    bool `json:"force,omitempty"`
}

type GoodbyeResult struct {
	Ending       bool `json:"ending"`
	RunningTurns int  `json:"runningTurns"`
	Terminals    int  `json:"terminals"` // with something running in them
}

// Raise brings a window to the front: a second start of the app, a link, a
// notification. Windows get it as an event of type raise on the host's topic.
type Raise struct {
	Window string `json:"window,omitempty"` // "" = the main one
	// What to show: chat:<id>, session:<harness>/<id>, needs-you or a whippletree:
	// link.
	Open string `json:"open,omitempty"`
}

// WindowLook says what a window shows: chat:<id>, session:<harness>/<id>,
// terminal:<id> or "". What a person has before their eyes is not notified.
type WindowLook struct {
	Focused bool   `json:"focused"`
	At      string `json:"at,omitempty"`
}

// RaiseResult: Windows is how many windows are connected; with 0 nobody was
// raised and the caller opens one.
type RaiseResult struct {
	Windows int `json:"windows"`
}

// Attention is what a person muted: project:<root>, session:<harness>/<id> or
// chat:<id>, each until a time in ms since the epoch, 0 for ever. What is muted is
// in no notification, no count and no "Needs you" group.
type Attention struct {
	Muted map[string]int64 `json:"muted"`
}

// AttentionSet: Until in the past ends it.
type AttentionSet struct {
	Target string `json:"target"`
	Until  int64  `json:"until,omitempty"`
}

type DoctorResult struct {
	Checks []model.DoctorCheck `json:"checks"`
}

// events.*

type Subscribe struct {
	Topic string `json:"topic"`
	Since uint64 `json:"since,omitempty"`
	Epoch string `json:"epoch,omitempty"` // of the host that Since belongs to
}

type Subscribed struct {
	Seq      uint64          `json:"seq"`
	Epoch    string          `json:"epoch"`
	Resumed  bool            `json:"resumed,omitempty"`
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
}

type Topic struct {
	Topic string `json:"topic"`
}

type Ack struct {
	Seq uint64 `json:"seq"` // count of event notifications received on this connection
}

// harnesses.*

type Harnesses struct {
	Harnesses []model.Harness `json:"harnesses"`
}

// HarnessList: with Look the agents of which nothing is known are asked first
// whether they could run; those that are known are not asked again.
type HarnessList struct {
	Look bool `json:"look,omitempty"`
}

type HarnessSwitch struct {
	Harness string `json:"harness"`
	Enabled bool   `json:"enabled"`
}

// HarnessRefresh forgets everything known of agents and asks them anew, without
// a folder; what they offer in a folder is asked at its next read.
type HarnessRefresh struct {
	Harness string `json:"harness,omitempty"` // "" = all
}

type HarnessRef struct {
	Harness string `json:"harness"`
}

type CatalogRequest struct {
	Harness string `json:"harness"`
	Cwd     string `json:"cwd,omitempty"`
	Hash    string `json:"hash,omitempty"` // known content: unchanged answers carry no body
}

type CatalogResult struct {
	Unchanged bool           `json:"unchanged,omitempty"`
	Catalog   *agent.Catalog `json:"catalog,omitempty"`
}

// sessions.*

// Listing pages through a list: Cursor is the last answer's Next, Find keeps what
// has it at the beginning of its id, as its session's id, or in its title or
// folder. A page holds Limit at most, and what fits one answer (0: that). A
// snapshot of the same list holds its first page; Total says when that is not
// all. The place of a cursor that is gone is a conflict: begin anew.
type Listing struct {
	Cursor string `json:"cursor,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Find   string `json:"find,omitempty"`
}

type Sessions struct {
	Sessions []model.Session `json:"sessions"`
	Next     string          `json:"next,omitempty"`
	Total    int             `json:"total,omitempty"` // of all pages
}

type SessionRef struct {
	Key model.SessionKey `json:"key"`
}

// FocusResult: Exact is exact, appOnly or unavailable. For a tab of ours
// TerminalID is set and the window shows it.
type FocusResult struct {
	Exact      string `json:"exact"`
	TerminalID string `json:"terminalId,omitempty"`
	ChatID     string `json:"chatId,omitempty"`
	Why        string `json:"why,omitempty"`
}

// StoredRequest: the answer comes from the index at once, and the disk is looked
// at meanwhile. Fresh waits for that look.
type StoredRequest struct {
	Harness string `json:"harness,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
	Limit   int    `json:"limit,omitempty"`
	Fresh   bool   `json:"fresh,omitempty"`
}

// StoredResult: with Checking the disk is still being looked at, and the same
// request with Fresh may give more.
type StoredResult struct {
	Sessions []agent.StoredSession `json:"sessions"`
	Next     string                `json:"next,omitempty"`
	Checking bool                  `json:"checking,omitempty"`
}

// StoredFolders are the working folders of stored sessions, the newest first.
type StoredFolders struct {
	Folders  []StoredFolder `json:"folders"`
	Checking bool           `json:"checking,omitempty"`
}

// StoredFolder is one folder with the project that it belongs to.
type StoredFolder struct {
	Harness   string        `json:"harness"`
	Cwd       string        `json:"cwd"`
	Project   model.Project `json:"project"`
	Sessions  int           `json:"sessions"`
	UpdatedAt int64         `json:"updatedAt"` // of the newest one
}

// terminals.*

type Terminals struct {
	Terminals []model.Terminal `json:"terminals"`
}

// CreateTerminal starts the login shell, or Argv in it.
type CreateTerminal struct {
	Cwd   string            `json:"cwd,omitempty"`
	Argv  []string          `json:"argv,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	Cols  int               `json:"cols,omitempty"`
	Rows  int               `json:"rows,omitempty"`
	Title string            `json:"title,omitempty"`
}

type TerminalRef struct {
	ID string `json:"id"`
}

type TerminalResult struct {
	Terminal model.Terminal `json:"terminal"`
}

// AttachTerminal makes this connection show it: replay frames, then output.
type AttachTerminal struct {
	ID    string `json:"id"`
	Cols  int    `json:"cols"`
	Rows  int    `json:"rows"`
	Focus bool   `json:"focus,omitempty"` // the focused window decides the size
}

type Attached struct {
	Stream   uint32         `json:"stream"`
	Terminal model.Terminal `json:"terminal"`
}

type DetachTerminal struct {
	Stream uint32 `json:"stream"`
}

type ResizeTerminal struct {
	ID   string `json:"id"`
	Cols int    `json:"cols"`
	Rows int    `json:"rows"`
}

// TerminalColors are the theme colours that OSC 10, 11, 12 and 4 queries get,
// as #rrggbb.
type TerminalColors struct {
	Foreground string   `json:"foreground"`
	Background string   `json:"background"`
	Cursor     string   `json:"cursor"`
	Palette    []string `json:"palette,omitempty"`
}

type ReadTerminal struct {
	ID    string `json:"id"`
	Lines int    `json:"lines,omitempty"`
}

// TerminalApps are the installed terminal apps a chat can be continued in.
type TerminalApps struct {
	Apps []model.PlaceChoice `json:"apps"`
}

type TerminalText struct {
	Lines []string `json:"lines"`
}

// settings.*

// SetSettings changes single values by path ("harnesses.claude-code.enabled").
type SetSettings struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"` // null removes it
}

type SettingsResult struct {
	Settings model.Settings `json:"settings"`
}

// SchemaResult is a JSON Schema (draft 2020-12).
type SchemaResult struct {
	Schema json.RawMessage `json:"schema"`
}

// uistate.* keeps what a window wants to find again (tabs, drafts, folds), by
// key; at most 256 KiB each.
type UIStateGet struct {
	Key string `json:"key"`
}

type UIState struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// rules.*

type Rules struct {
	Rules []model.ApprovalRule `json:"rules"`
}

type RuleRef struct {
	ID string `json:"id"`
}

type Audit struct {
	Entries []model.ApprovalCard `json:"entries"`
	Next    string               `json:"next,omitempty"`
}

// AuditRequest pages through all cards, newest first; Cursor is the last answer's
// Next. A page may hold fewer than Limit where they are large.
type AuditRequest struct {
	Cursor string `json:"cursor,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// CardsRequest asks for the requests of a chat that have ended, newest first, at
// most Limit (100) of those asked before Before (epoch milliseconds; 0: all).
type CardsRequest struct {
	ChatID string `json:"chatId"`
	Before int64  `json:"before,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// CardsResult: with More there are older ones.
type CardsResult struct {
	Cards []model.ApprovalCard `json:"cards"`
	More  bool                 `json:"more,omitempty"`
}

// OpenFile opens a file in the person's editor. Path may be relative to the
// folder of the chat; Line is 1-based, 0 is unknown.
type OpenFile struct {
	ChatID string `json:"chatId"`
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"`
}

// OpenFileResult: How is editor (a window of its own) or terminal: then it runs
// in the tab TerminalID.
type OpenFileResult struct {
	How        string `json:"how"`
	Program    string `json:"program"`
	TerminalID string `json:"terminalId,omitempty"`
}

// Method pairs a name with its shapes; the values are zero values of the types.
type Method struct {
	Name   string
	Params any
	Result any
}

// Methods is the whole API. Generated TypeScript and the server's dispatch
// table are both checked against it.
var Methods = []Method{
	{"host.hello", Hello{}, HelloResult{}},
	{"host.goodbye", Goodbye{}, GoodbyeResult{}},
	{"host.info", None{}, HelloResult{}},
	{"host.raise", Raise{}, RaiseResult{}},
	{"host.looks", WindowLook{}, None{}},
	{"attention.set", AttentionSet{}, None{}},
	{"host.doctor", None{}, DoctorResult{}},
	{"events.subscribe", Subscribe{}, Subscribed{}},
	{"events.unsubscribe", Topic{}, None{}},
	{"harnesses.list", HarnessList{}, Harnesses{}},
	{"harnesses.setEnabled", HarnessSwitch{}, Harnesses{}},
	{"harnesses.refresh", HarnessRefresh{}, Harnesses{}},
	{"harnesses.options", HarnessRef{}, SchemaResult{}},
	{"catalog.get", CatalogRequest{}, CatalogResult{}},
	{"sessions.list", Listing{}, Sessions{}},
	{"sessions.acknowledge", SessionRef{}, None{}},
	{"sessions.focus", SessionRef{}, FocusResult{}},
	{"sessions.open", SessionRef{}, ChatResult{}},
	{"sessions.stored", StoredRequest{}, StoredResult{}},
	{"sessions.preview", PreviewRequest{}, PreviewResult{}},
	{"search.find", SearchRequest{}, SearchResult{}},
	{"sessions.storedFolders", StoredRequest{}, StoredFolders{}},
	{"sessions.rows", SessionPageRequest{}, SessionPage{}},
	{"chats.list", Listing{}, Chats{}},
	{"chats.create", CreateChat{}, ChatResult{}},
	{"chats.rows", RowsRequest{}, RowsResult{}},
	{"chats.content", ContentRequest{}, ContentResult{}},
	{"chats.send", SendPrompt{}, SendResult{}},
	{"chats.stop", ChatRef{}, StopResult{}},
	{"chats.restartServer", ChatRef{}, StopResult{}},
	{"chats.usage", ChatRef{}, model.ChatUsage{}},
	{"prompts.history", PromptsRequest{}, Prompts{}},
	{"changes.turn", ChangesRequest{}, Changes{}},
	{"changes.chat", ChangesRequest{}, Changes{}},
	{"changes.diff", DiffRequest{}, DiffResult{}},
	{"changes.git", GitRequest{}, model.GitStatus{}},
	{"changes.gitDiff", GitDiffRequest{}, GitDiff{}},
	{"chats.set", ChatSetting{}, SettingResult{}},
	{"chats.queue", QueueEdit{}, QueueResult{}},
	{"chats.rewind", RewindRequest{}, None{}},
	{"chats.rewindPreview", RewindRequest{}, RewindPreview{}},
	{"chats.status", ChatRef{}, StatusResult{}},
	{"chats.cancelItem", ItemRef{}, None{}},
	{"chats.fork", ChatRef{}, ChatResult{}},
	{"chats.close", ChatRef{}, None{}},
	{"chats.remove", ChatRef{}, None{}},
	{"chats.seen", ChatRef{}, None{}},
	{"chats.export", ExportRequest{}, ExportResult{}},
	{"chats.removal", ChatRef{}, Removal{}},
	{"chats.removed", None{}, RemovedChats{}},
	{"chats.forgetRemoved", None{}, None{}},
	{"chats.cards", CardsRequest{}, CardsResult{}},
	{"approvals.list", None{}, Approvals{}},
	{"approvals.answer", AnswerApproval{}, AnswerResult{}},
	{"approvals.rules", None{}, Rules{}},
	{"approvals.revokeRule", RuleRef{}, Rules{}},
	{"approvals.audit", AuditRequest{}, Audit{}},
	{"trust.check", TrustCheck{}, model.TrustQuestion{}},
	{"trust.grant", TrustGrant{}, model.TrustQuestion{}},
	{"handoff.preview", ChatRef{}, model.HandoffPreview{}},
	{"handoff.toTerminal", HandoffRequest{}, HandoffResult{}},
	{"handoff.takeBack", TakeBack{}, HandResult{}},
	{"handoff.withdraw", ChatRef{}, HandResult{}},
	{"terminals.list", None{}, Terminals{}},
	{"terminals.create", CreateTerminal{}, TerminalResult{}},
	{"terminals.attach", AttachTerminal{}, Attached{}},
	{"terminals.detach", DetachTerminal{}, None{}},
	{"terminals.resize", ResizeTerminal{}, None{}},
	{"terminals.colors", TerminalColors{}, None{}},
	{"terminals.close", TerminalRef{}, None{}},
	{"terminals.read", ReadTerminal{}, TerminalText{}},
	{"terminals.apps", None{}, TerminalApps{}},
	{"settings.get", None{}, SettingsResult{}},
	{"settings.set", SetSettings{}, SettingsResult{}},
	{"settings.schema", None{}, SchemaResult{}},
	{"uistate.get", UIStateGet{}, UIState{}},
	{"uistate.set", UIState{}, None{}},
	{"files.find", FilesRequest{}, FilesResult{}},
	{"files.open", OpenFile{}, OpenFileResult{}},
	{"attachments.add", AddAttachment{}, AttachmentResult{}},
	{"attachments.read", ReadAttachment{}, AttachmentContent{}},
}

// Error is what a failed call answers with, in the "data" member of the
// JSON-RPC error. Code is stable; Message is for a person and has a reason;
// Fix is the command that helps, if there is one.
type Error struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Fix     string        `json:"fix,omitempty"`
	Issues  []agent.Issue `json:"issues,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Codes of Error.
const (
	CodeInvalid     = "invalid"      // the request breaks a rule
	CodeNotFound    = "not_found"    // no such chat, terminal, approval
	CodeUnavailable = "unavailable"  // the agent cannot run (Availability)
	CodeNotAllowed  = "not_allowed"  // the peer may not do this
	CodeConflict    = "conflict"     // already answered, changed, owned elsewhere
	CodeTrustNeeded = "trust_needed" // trust.check first
	CodeNotOwner    = "not_owner"    // somebody else writes to the session
	CodeBusy        = "busy"         // not while a turn runs or stops
	CodeUnsupported = "unsupported"  // the agent cannot do this
	CodeStorageFull = "storage_full" // disk full: reading goes on, nothing is accepted
	CodeVersion     = "version"      // protocol versions differ
	CodeInternal    = "internal"
)
