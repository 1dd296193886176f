package chats

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// Harnesses finds a harness by its id. enabled is false when its switch is off.
type Harnesses interface {
	Harness(id string) (h agent.Harness, enabled, ok bool)
}

// Guard says whether a session may be written to now (package handoff). It is
// called beside the chat's goroutine and may call the Manager.
type Guard interface {
	// MayWrite is asked before every prompt, and when the agent has named the
	// session; nil means that nobody else writes and that the lease is ours. The
	// error's text is shown as the reason. When it answers with an error the guard
	// has set the chat's hand by itself.
	MayWrite(ctx context.Context, c Claim) error
	// LetGo says that the chat's agent process is gone: the lease may end. It
	// must not call the Manager.
	LetGo(c Claim)
}

// Claim is one chat's interest in a session. Handle is nil before the agent
// named the session, Pid the chat's own agent process (0: none lives).
type Claim struct {
	ChatID  string
	Harness string
	Handle  *agent.Handle
	Pid     int
	// Removed is set in the last LetGo of a chat that was deleted.
	Removed bool
}

// Publisher takes what changed, in order. It returns at once and keeps data.
type Publisher interface {
	Publish(topic, typ string, data any)
}

// Caller is who asks for something that only a person may do. By is window, cli,
// or what else the API knows; Where is shown with the answer.
type Caller struct {
	Pid   int
	By    string
	Where string
}

// Overrides are the person's settings of how a harness is started.
type Overrides struct {
	Binary string
	Args   []string
	Env    map[string]string
	// Err says why the settings cannot be used; nothing is started then.
	Err error
}

// Policy is what may answer beside a person.
type Policy struct{ Rules, AutoMode bool }

// Options builds a Manager. Store, Harnesses, Publisher and PrivateDir are
// needed; the others have useful zero values.
type Options struct {
	Store     *store.Store
	Harnesses Harnesses
	Publisher Publisher
	// PrivateDir returns the empty 0700 directory of a confined chat.
	PrivateDir func(chatID string) (string, error)
	// Removed is called when a chat was deleted: what others keep for it can go.
	Removed func(chatID string)
	// MayAnswer refuses answers, policies and trust of callers that are not a
	// person (DECISIONS 13). nil refuses all.
	MayAnswer func(Caller) error
	// Project names the project of a folder.
	Project func(cwd string) model.Project
	// Policy says what the settings allow now; nil: everything.
	Policy func() Policy
	// Overrides of a harness from the settings.
	Overrides func(harness string) Overrides
	// Offers is what is known of what an agent offers in a folder; it asks nobody.
	Offers func(harness, cwd string) (agent.Catalog, bool)
	// Servers are the MCP servers a chat offers to its agent.
	Servers func(ctx context.Context, chatID string, kind agent.Kind) ([]agent.MCPServer, error)
	// Instruction is added to a chat's request.
	Instruction func(chatID string, kind agent.Kind) string
	Log         *slog.Logger

	// Timing is what the settings say now; its zero durations mean the defaults.
	Timing func() Timing
	// Frozen says that a process is stopped by the system and answers nobody.
	Frozen func(pid int) bool
	// Asleep is how long the machine has slept since it was booted.
	Asleep func() time.Duration

	// StopBound is how long a stop may take before the group is killed (5 s),
	// CloseBound how long one Close may take (10 s), AckBound how long an answer
	// waits for the agent's acknowledgement (10 s), AnswerBound how long a prompt
	// waits for a sign of the agent before its program is looked at (4 s), Frame
	// the least time between two events of one row (12 ms), SaveEvery how often
	// streaming rows are stored (250 ms).
	StopBound, CloseBound, AckBound, AnswerBound, Frame, SaveEvery time.Duration
	// SilentAfter and IdleAfter count where Timing is nil.
	SilentAfter, IdleAfter time.Duration
	// Now is read for durations (its readings are monotonic), Wall for what is
	// stored and shown.
	Now, Wall func() time.Time
}

// Timing: SilentAfter is when a running turn is called silent (2 min), IdleAfter
// when an idle agent is released (10 min; negative: never).
type Timing struct{ SilentAfter, IdleAfter time.Duration }

func (o *Options) defaults() {
	for d, v := range map[*time.Duration]time.Duration{
		&o.StopBound: 5 * time.Second, &o.CloseBound: 10 * time.Second, &o.AckBound: 10 * time.Second,
		&o.AnswerBound: 4 * time.Second, &o.SilentAfter: 2 * time.Minute, &o.IdleAfter: 10 * time.Minute,
		&o.Frame: 12 * time.Millisecond, &o.SaveEvery: 250 * time.Millisecond,
	} {
		if *d == 0 {
			*d = v
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	fixed, timing := Timing{o.SilentAfter, o.IdleAfter}, o.Timing
	o.Timing = func() Timing {
		t := fixed
		if timing != nil {
			now := timing()
			t = Timing{cmp.Or(now.SilentAfter, t.SilentAfter), cmp.Or(now.IdleAfter, t.IdleAfter)}
		}
		return t
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Project == nil {
		o.Project = func(cwd string) model.Project { return model.Project{Root: cwd, Name: base(cwd)} }
	}
	if o.Policy == nil {
		o.Policy = func() Policy { return Policy{Rules: true, AutoMode: true} }
	}
	if o.Overrides == nil {
		o.Overrides = func(string) Overrides { return Overrides{} }
	}
	if o.Offers == nil {
		o.Offers = func(string, string) (agent.Catalog, bool) { return agent.Catalog{}, false }
	}
	if o.MayAnswer == nil {
		o.MayAnswer = func(Caller) error { return Fail(CodeNotAllowed, "Nobody may answer here.") }
	}
	if o.Servers == nil {
		o.Servers = func(context.Context, string, agent.Kind) ([]agent.MCPServer, error) { return nil, nil }
	}
	if o.Removed == nil {
		o.Removed = func(string) {}
	}
	if o.Instruction == nil {
		o.Instruction = func(string, agent.Kind) string { return "" }
	}
}

// CreateRequest makes a chat; idempotent by ClientID. Cwd empty makes a
// confined chat. Adopt opens an existing session.
type CreateRequest struct {
	ClientID, Harness     string
	Kind                  agent.Kind
	Cwd, Title            string
	Model, Mode, Thinking string
	Features              map[string]json.RawMessage
	Options               json.RawMessage
	Adopt                 *agent.Handle
}

// SendRequest is one prompt. How is "" or queue; steer gives it to the running
// turn; now stops the turn and replaces it.
type SendRequest struct {
	ChatID, ClientID, Text string
	Attachments            []agent.Attachment
	How                    string
}

// Sent tells where the prompt stands. Turn is set when a turn was begun with it.
type Sent struct {
	State model.QueueState
	Turn  int64
	Note  string
}

// Stopped tells where the turn stands after Stop; Err is the cancel's error
// that is still owed.
type Stopped struct {
	Turn model.TurnState
	Err  string
}

// QueueEdit changes one waiting prompt.
type QueueEdit struct {
	ChatID, ClientID string
	Text             string
	Move             bool
	Before           string
	Remove, Retry    bool
}

// Answer is a person's answer to a card. Revision 0 means the current one.
type Answer struct {
	ChatID, ApprovalID string
	Revision           int64
	Answer             agent.ApprovalAnswer
	// Remember makes a rule of it: see model.RuleOffer.
	Remember bool
}
