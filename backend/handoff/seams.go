package handoff

import (
	"context"
	"log/slog"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
)

// Tabs opens tabs of ours.
type Tabs interface {
	OpenTab(ctx context.Context, spec TabSpec) (model.Terminal, error)
}

// TabSpec is one command in a tab of ours.
type TabSpec struct {
	ChatID, Title string
	Argv          []string
	Env           map[string]string
	Cwd           string
}

// Natives opens the person's other terminals.
type Natives interface {
	Choices() []model.PlaceChoice
	// Open runs cmd in the terminal app named id. pid blocks until the launch
	// script reported the agent's own process id.
	Open(ctx context.Context, id string, cmd agent.Command, title string) (place model.Place, pid func(ctx context.Context) (int, error), err error)
}

// Watch is one watched directory (agentkit.Watch).
type Watch interface {
	Wake() <-chan struct{}
	Take() (paths []string, rescan bool)
	Close()
}

// Exits tells when a process ended (processes.ExitWatcher).
type Exits interface {
	Watch(id processes.Identity, ended func()) (stop func(), err error)
}

// Options builds a Manager. Chats, Store, Harnesses, Exits, RunDir, LockDir and
// Holder are needed.
type Options struct {
	Chats     *chats.Manager
	Store     *store.Store
	Harnesses chats.Harnesses
	Overrides func(harness string) chats.Overrides
	Tabs      Tabs
	Natives   Natives // may be nil
	Exits     Exits
	// Watch watches a directory; nil: changes are seen at the next prompt only.
	Watch func(dir string) Watch
	// PlaceOf says where a process runs, for the banner; may be nil.
	PlaceOf func(pid int) model.Place
	// RunDir is a private 0700 directory for launch records; LockDir the user's
	// one directory of session locks, the same for every host of theirs.
	RunDir, LockDir string
	// Holder names this host (its epoch).
	Holder string
	Log    *slog.Logger

	// OwnerWithin is how long a launched owner may take to show (15 s), StillFor
	// how long a transcript must not grow to be still (250 ms), GoneWithin how
	// long each signal may take to end a process (3 s).
	OwnerWithin, StillFor, GoneWithin time.Duration

	// crash is for tests: an error ends the work of a chat at this step as a kill
	// would.
	crash func(chatID, step string) error
}

func (o *Options) defaults() {
	for d, v := range map[*time.Duration]time.Duration{&o.OwnerWithin: 15 * time.Second, &o.StillFor: 250 * time.Millisecond, &o.GoneWithin: 3 * time.Second} {
		if *d == 0 {
			*d = v
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Overrides == nil {
		o.Overrides = func(string) chats.Overrides { return chats.Overrides{} }
	}
	if o.PlaceOf == nil {
		o.PlaceOf = func(int) model.Place { return model.Place{Kind: "external", External: true} }
	}
	if o.crash == nil {
		o.crash = func(string, string) error { return nil }
	}
}

// Request hands a chat to a terminal. Place is app or the id of a terminal app;
// "" the default. When is "" or now, afterTurn, stop.
type Request struct {
	ChatID    string
	Place     string
	When      chats.When
	PrintOnly bool
}

// Result of a hand-over.
type Result struct {
	Hand       model.Hand
	TerminalID string
	Printed    string
}
