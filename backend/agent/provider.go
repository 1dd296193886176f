package agent

import (
	"context"
	"encoding/json"
	"errors"
)

// ChatProvider runs the turns of a chat on an installed agent.
//
// Availability is called on demand, never on a timer; it may start a bounded
// probe process. Open is called from the goroutine that owns the chat; it
// returns once the agent is ready for a prompt or fails. After Open returns an
// error nothing of the agent runs.
type ChatProvider interface {
	Availability(ctx context.Context) (Availability, error)
	Open(ctx context.Context, req OpenRequest, events Events) (ChatSession, error)
}

// ChatSession is one living connection to an agent.
//
// Prompt is never called while another Prompt has not returned. Cancel may be
// called at any time from another goroutine, also twice. Close ends the
// process group and waits for it; it is idempotent and makes a running Prompt
// return.
type ChatSession interface {
	// Prompt returns at the turn's one end. An error means that no turn was
	// started (the prompt was not accepted); a turn that failed is a TurnEnd.
	Prompt(ctx context.Context, p Prompt) (TurnEnd, error)
	// Cancel returns nil once what ran before cannot run any more.
	Cancel(ctx context.Context) error
	// Close returns nil once the process group is gone.
	Close(ctx context.Context) error
}

// Optional interfaces of a ChatSession, found once at open and turned into
// data for the front end. A wrapper must preserve them.
type (
	// Steerer gives text to the running turn. ErrSteerUnavailable makes the
	// host fall back to stop-and-replace; any other error is shown and never
	// retried.
	Steerer interface {
		Steer(ctx context.Context, p Prompt) error
	}
	// ModelSetter and its siblings may return a notice to show.
	ModelSetter interface {
		SetModel(ctx context.Context, id string) (*Notice, error)
	}
	ModeSetter interface {
		SetMode(ctx context.Context, id string) (*Notice, error)
	}
	ThinkingSetter interface {
		SetThinking(ctx context.Context, id string) (*Notice, error)
	}
	FeatureSetter interface {
		SetFeature(ctx context.Context, id string, value json.RawMessage) (*Notice, error)
	}
	CommandRunner interface {
		RunCommand(ctx context.Context, name, argument string) (TurnEnd, error)
	}
	// Rewinder goes back to before the user row with this native id: what was
	// said from there on is no part of the conversation any more. Files stay.
	Rewinder interface {
		Rewind(ctx context.Context, nativeID string) error
	}
	// FileRewinder puts files back to how they were before the user row with this
	// native id. PreviewRewind tells what it would do and changes nothing.
	FileRewinder interface {
		PreviewRewind(ctx context.Context, nativeID string) (FileRewind, error)
		RewindFiles(ctx context.Context, nativeID string) (FileRewind, error)
	}
	// Renamer gives the agent's own session a title (at most LimitTitle UTF-16
	// units, one line), so that the agent's own list shows it too.
	Renamer interface {
		Rename(ctx context.Context, title string) error
	}
	// Inspector tells what the living agent says of itself. It is asked when a
	// person looks, never on a timer, and changes nothing.
	Inspector interface {
		Inspect(ctx context.Context) (Inspection, error)
	}
	// ItemCanceler ends what one running row stands for (Item.Cancelable) and
	// nothing else of the turn. nil: it cannot run any more.
	ItemCanceler interface {
		CancelItem(ctx context.Context, itemID string) error
	}
	// Reanswerer gives an answer once more to a request whose answer was not
	// acknowledged. The agent takes the first one that arrives; when it does not
	// ask any more, that is an acknowledgement.
	Reanswerer interface {
		Reanswer(ctx context.Context, approvalID string, a ApprovalAnswer) error
	}
	// Sharer is a session on a server that others use too: other chats of ours, or
	// a terminal that is attached to it. Close then only lets go of the server. Both
	// methods may be called at any time from another goroutine.
	Sharer interface {
		// Shared lists in words what ending the server would end beside this chat;
		// empty: it is this chat's alone and Close ends it. It returns at once.
		Shared() []string
		// RestartServer returns nil once the server's processes are gone; the next
		// session starts it anew.
		RestartServer(ctx context.Context) error
	}
	// Pinger asks the agent's program itself, not its model, whether it is there.
	// An error or ctx's end means that it is not; it is never called outside a
	// turn.
	Pinger interface {
		Ping(ctx context.Context) error
	}
	UsageReporter interface {
		Usage(ctx context.Context) (Usage, error)
	}
	Diagnoser interface {
		Diagnose(ctx context.Context) (json.RawMessage, error)
	}
)

// Optional interfaces of a ChatProvider.
type (
	// Cataloger reads what the agent offers without opening a chat. cwd is
	// empty for the global scope. It leaves no native session behind.
	Cataloger interface {
		Catalog(ctx context.Context, cwd string) (Catalog, error)
	}
	// ProjectStarter tells what the agent would start by itself in a folder
	// (project hooks, project MCP servers, plugins). Nothing is started.
	ProjectStarter interface {
		ProjectStarts(ctx context.Context, cwd string) ([]ProjectStart, error)
	}
	// OptionsChecker holds OpenRequest.Options against the provider's own strict
	// schema: unknown keys are issues, each with its full path ("$.options.x[2]").
	// It starts nothing.
	OptionsChecker interface {
		CheckOptions(options json.RawMessage) []Issue
	}
	// OptionsTeller has the JSON Schema (draft 2020-12) of its options.
	OptionsTeller interface {
		OptionsSchema() json.RawMessage
	}
	// Forker copies a stored session into a new one.
	Forker interface {
		Fork(ctx context.Context, h Handle) (Handle, error)
	}
)

// ErrSteerUnavailable says that there is nothing to steer now.
var ErrSteerUnavailable = errors.New("steer is not available now")

// ProjectStart is one thing a folder would start: Kind is hook, mcpServer,
// plugin or other; Source the file it stands in.
type ProjectStart struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Command string `json:"command,omitempty"`
	Source  string `json:"source"`
}

// Notice is a short line for the person.
type Notice struct {
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// OpenRequest says how to open a chat. WorkingDirectory is absolute and
// exists. Empty Model, Mode, Thinking mean the agent's own default, except that
// a provider must never leave a workspace chat in a mode that does not ask.
type OpenRequest struct {
	ChatID           string                     `json:"sessionId"` // <= 128
	Kind             Kind                       `json:"kind"`
	WorkingDirectory string                     `json:"workingDirectory"`
	Instruction      string                     `json:"instruction,omitempty"` // <= 8192
	MCPServers       []MCPServer                `json:"mcpServers,omitempty"`
	Model            string                     `json:"model,omitempty"`
	Mode             string                     `json:"mode,omitempty"`
	Thinking         string                     `json:"thinking,omitempty"`
	Features         map[string]json.RawMessage `json:"features,omitempty"`
	// Binary, Args and Env are the user's overrides of how the agent starts.
	Binary  string            `json:"binary,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Options json.RawMessage   `json:"options,omitempty"`
	// Resume opens an existing session instead of a new one.
	Resume *Handle `json:"resume,omitempty"`
	// ProjectSourcesOff keeps hooks and MCP servers of the folder from
	// starting (an untrusted folder).
	ProjectSourcesOff bool `json:"projectSourcesOff,omitempty"`
}

// Launch is what a person set of how an agent is started: Binary "" means the
// one that is found, Env goes over the imported environment.
type Launch struct {
	Binary string
	Args   []string
	Env    map[string]string
}

// MCPServer is one server to offer to the agent: stdio (Command) or HTTP (URL).
type MCPServer struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Prompt is what a person sends. ClientID is unique in the chat and idempotent.
type Prompt struct {
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments,omitempty"`
	ClientID    string       `json:"clientId"`
}

// Outcome is how a turn ended. Closed set.
type Outcome string

const (
	OutcomeCompleted   Outcome = "completed"
	OutcomeCanceled    Outcome = "canceled"
	OutcomeFailed      Outcome = "failed"
	OutcomeInterrupted Outcome = "interrupted" // the host died; set by the host only
)

// TurnEnd is the one end of a turn. Reason and Text are set when it failed:
// Reason is a stable word (crashed, not_signed_in, rate_limit, overloaded,
// server_error, refused, failed), Text what a person reads.
type TurnEnd struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	Text    string  `json:"text,omitempty"`
	Fix     string  `json:"fix,omitempty"` // the command that fixes it, if there is one
}

// Events is what a provider reports to the host. Calls may come from any
// goroutine but their order is the order of the conversation: a provider
// serialises them. All calls return quickly except Approval.
type Events interface {
	// Ready is called once, before the first item.
	Ready(Ready)
	// Item publishes a whole row; the same id again replaces it.
	Item(Item)
	// Append adds text to a text or reasoning item, or output to a tool item.
	Append(itemID, text string)
	// Approval asks a person. It blocks until the answer, the end of the turn
	// or ctx; a cancelled ctx withdraws the request. The exact option id comes
	// back, or Canceled.
	Approval(ctx context.Context, a Approval) ApprovalAnswer
	// ApprovalAcked says that the agent's side acknowledged the answer (only
	// where Approval.Acknowledges is set).
	ApprovalAcked(id string)
	Usage(Usage)
	Title(string)
	Catalog(Catalog)
	// Handle reports the native id; a changed one keeps the old as an alias.
	Handle(Handle)
	// ModelMode reports what the agent now uses (it may change by itself).
	Settings(Settings)
	// Turn opens and ends a turn that the agent started by itself
	// (OriginAgent). Prompted turns are opened and ended by the host.
	Turn(TurnEvent)
	// QueueState reports the fate of a message handed to the agent mid-turn.
	Delivery(clientID string, state Delivery)
	// Failure reports a fault outside a turn; Exit the end of the process.
	Failure(reason, detail string)
	Exit(Exit)
}

// Delivery is where a steered or queued message stands at the agent.
type Delivery string

const (
	DeliveryAccepted  Delivery = "accepted"
	DeliveryStarted   Delivery = "started"
	DeliveryCompleted Delivery = "completed"
	DeliveryDiscarded Delivery = "discarded"
)

// Ready is what an opened agent says of itself.
type Ready struct {
	Handle    *Handle   `json:"handle,omitempty"` // nil for confined chats
	Agent     AgentInfo `json:"agent"`
	Model     string    `json:"model,omitempty"`
	Mode      string    `json:"mode,omitempty"`
	Thinking  string    `json:"thinking,omitempty"`
	Abilities []Ability `json:"abilities"`
	// Pid is the process the host may show and must never believe without
	// checking its identity; 0 unknown.
	Pid int `json:"pid,omitempty"`
}

type AgentInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Settings are the values in force; an empty one is unchanged.
type Settings struct {
	Model    string `json:"model,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Thinking string `json:"thinking,omitempty"`
}

type TurnOrigin string

const (
	OriginPrompt TurnOrigin = "prompt"
	OriginAgent  TurnOrigin = "agent"
)

// TurnEvent opens (End nil) or ends a turn.
type TurnEvent struct {
	Origin TurnOrigin `json:"origin"`
	End    *TurnEnd   `json:"end,omitempty"`
}

// Exit is how the agent's process ended; nothing is accepted after it.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	// Stderr is the redacted tail of what it printed.
	Stderr string `json:"stderr,omitempty"`
}
