package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/catalog"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/handoff"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/projects"
	"github.com/whippletree-app/whippletree/backend/settings"
	"github.com/whippletree-app/whippletree/backend/shellenv"
	"github.com/whippletree-app/whippletree/backend/store"
	"github.com/whippletree-app/whippletree/backend/terminals"
	"github.com/whippletree-app/whippletree/backend/terminals/native"
	"github.com/whippletree-app/whippletree/extensions"
)

// Options of a Host. Nothing else is read from the process's surroundings.
type Options struct {
	// Home is where all data is (see Home). UserHome is the person's home, where
	// agents keep theirs.
	Home, UserHome string
	// Env is the environment the host was started with ("K=V"), User the login
	// name or id, for the user database.
	Env     []string
	User    string
	Version string
	// Executable is the absolute path of `whippletree`; the desktop binary is
	// found beside it. Windows are further paths that count as our window.
	Executable string
	Windows    []string
	// SkipShell leaves the login shell's environment alone (tests).
	SkipShell bool
	// Keep lets the host stay without leases, as the setting does.
	Keep bool
	// Grace is how long a lost lease lasts; default 30 s.
	Grace time.Duration
	Log   *slog.Logger
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Host is all of Whippletree but the window.
type Host struct {
	o       Options
	log     *slog.Logger
	epoch   string
	socket  string
	lock    *os.File
	started time.Time

	hub       *api.Hub
	server    *api.Server
	serving   chan struct{}
	leases    *leases
	windows   *windows
	store     *store.Store
	settings  *settings.File
	watcher   *agentkit.Watcher
	exits     *processes.ExitWatcher
	env       *environment
	harnesses *harnesses
	offers    *catalog.Service
	builtin   func(*agentkit.Host) []agent.Harness
	kit       *agentkit.Host
	starts    listeners
	checks    *checks
	chats     *chats.Manager
	terminals *terminals.Manager
	tabs      tabChanges
	people    *people
	ledger    *ledger
	native    *native.Terminals
	handoff   *handoff.Manager
	projects  *projects.Projects
	observed  *observed
	notices   *notices
	attention *attention
	composer  *composer
	retention *retention
	texts     *transcripts
	reaped    chan struct{}
	built     chan struct{} // closed when all of the above exist

	ctx    context.Context // of everything in the background
	cancel context.CancelFunc
	wg     sync.WaitGroup

	stopOnce sync.Once
	ending   chan struct{} // closed when the host wants to end
	endOnce  sync.Once
}

// New checks the options; nothing is opened before Start.
func New(o Options) (*Host, error) {
	if !filepath.IsAbs(o.Home) {
		return nil, fmt.Errorf("the home of the host is not an absolute path: %q", o.Home)
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{
		o: o, log: o.Log, epoch: uuid.NewString(), socket: SocketPath(o.Home), started: o.Now(),
		serving: make(chan struct{}), ending: make(chan struct{}), reaped: make(chan struct{}),
		built: make(chan struct{}),
	}
	h.builtin = extensions.Builtin
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

// Socket is where the host listens.
func (h *Host) Socket() string { return h.socket }

// Done is closed when the host wants to end: its last lease did, or it was
// asked to. The owner then calls Stop.
func (h *Host) Done() <-chan struct{} { return h.ending }

func (h *Host) end() { h.endOnce.Do(func() { close(h.ending) }) }

// Start opens everything and returns when the socket answers. On an error
// (ErrRunning: another host has the home) nothing is left open.
func (h *Host) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = h.Stop(stop)
		}
	}()
	if err := privateDir(h.o.Home); err != nil {
		return fmt.Errorf("the folder for Whippletree's data: %w", err)
	}
	h.lock, err = lockHome(h.o.Home, Running{Pid: os.Getpid(), Socket: h.socket, Version: h.o.Version})
	if err != nil {
		return err
	}
	if err := h.build(ctx); err != nil {
		return err
	}
	l, err := listen(h.socket)
	if err != nil {
		return fmt.Errorf("the host's socket: %w", err)
	}
	go func() {
		defer close(h.serving)
		if err := h.server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			h.log.Error("the socket stopped answering", "err", err)
			h.end()
		}
	}()
	h.leases.begin()
	h.background()
	return nil
}

// build opens the domains, bottom up.
func (h *Host) build(ctx context.Context) (err error) {
	dirs := map[string]string{"run": "", "cache": "", "private": "", "data": ""}
	for name := range dirs {
		dirs[name] = filepath.Join(h.o.Home, name)
		if err := privateDir(dirs[name]); err != nil {
			return err
		}
	}
	h.hub = api.NewHub(h.epoch, h.log)
	h.watcher = agentkit.NewWatcher(agentkit.WatcherOptions{Diagnostic: func(code, message string) {
		h.log.Warn("watching folders", "code", code, "message", message)
	}})
	h.settings = settings.Open(settings.Options{
		Path:    filepath.Join(h.o.Home, settings.FileName),
		Builtin: builtinIDs(h.builtin, h.o.UserHome),
		Watch:   func(dir string) settings.Watch { return h.watcher.Watch(dir) },
		OnChange: func(s model.Settings, _ settings.Values) {
			h.hub.Publish(api.TopicSettings, api.EventValue, s)
			h.settingsChanged()
		},
	})
	if h.store, err = store.Open(h.o.Home); err != nil {
		return err
	}
	h.projects = projects.New(projects.Options{
		Memory: projects.Stored(h.store),
		Watch:  func(dir string) projects.Watch { return h.watcher.Watch(dir) },
	})
	h.exits = processes.NewExitWatcher()
	h.ledger = newLedger(h.store)
	h.env = newEnvironment(h.withHome(shellenv.Clean(h.o.Env)))
	h.kit = &agentkit.Host{
		Home: h.o.UserHome, Env: h.env.get, DataDir: dirs["data"], CacheDir: dirs["cache"], RunDir: dirs["run"],
		Executable: h.o.Executable, Watcher: h.watcher, Exits: h.exits, Ledger: h.ledger, Log: h.log, Now: h.o.Now,
		Launch: h.launch, Launches: h.launches, OnLaunches: h.starts.add, Index: storedIndex{h.store},
	}
	h.checks = newChecks(h)
	list := h.builtin(h.kit)
	h.terminals = terminals.New(terminals.Options{
		Shell: h.shell(), Home: h.o.UserHome, Env: h.withHome(shellenv.Clean(h.o.Env)), Version: h.o.Version, Exits: h.exits, Ledger: h.ledger,
		OnChange: h.terminalChanged, OnActivity: h.activity,
	})
	h.native = native.New(native.Options{Env: h.o.Env, Exits: h.exits, Ours: h.terminals.Of})
	h.harnesses = newHarnesses(h, list)
	h.offers = catalog.New(catalog.Options{Available: h.harnesses.learned, Now: h.o.Now})
	h.people = h.newPeople(list)
	if h.composer, err = h.newComposer(); err != nil {
		return err
	}
	if h.attention, err = newAttention(h); err != nil {
		return err
	}
	h.notices = newNotices(h)
	if h.observed, err = h.newObserved(list); err != nil {
		return err
	}
	h.chats = chats.New(chats.Options{
		Store: h.store, Harnesses: h.harnesses, Publisher: publisher{h},
		PrivateDir: func(id string) (string, error) {
			dir := filepath.Join(dirs["private"], id)
			return dir, privateDir(dir)
		},
		Removed:   h.composer.removed,
		MayAnswer: h.mayAnswer, Project: h.projects.Of, Overrides: h.overrides, Log: h.log,
		Offers: func(harness, cwd string) (agent.Catalog, bool) {
			e, ok := h.offers.Known(harness, cwd)
			return e.Catalog, ok && e.State == catalog.Ready
		},
		Policy: func() chats.Policy {
			a := h.settings.Values().Approvals
			return chats.Policy{Rules: a.AllowRules, AutoMode: a.AllowAutoMode}
		},
		Timing: func() chats.Timing {
			c := h.settings.Values().Chats
			return chats.Timing{SilentAfter: time.Duration(c.SilentAfter) * time.Second, IdleAfter: idleAfter(c.ReleaseIdleAfter)}
		},
		Frozen: processes.Frozen, Asleep: processes.Asleep,
	})
	if h.handoff, err = h.newHandoff(dirs["run"]); err != nil {
		return err
	}
	h.retention = newRetention(h)
	h.texts = newTranscripts(h)
	h.chats.SetGuard(afterReap{h.handoff, h.reaped})
	if _, err := h.chats.Start(ctx); err != nil {
		return err
	}
	if err := h.handoff.Start(ctx); err != nil {
		return err
	}
	h.windows = newWindows(h)
	h.leases = newLeases(h.o.Grace, h.keeps, h.end)
	h.topics()
	h.server = api.NewServer(os.Getuid(), api.ServerOptions{
		Hub: h.hub, Log: h.log, Explain: explain, Opened: h.opened, Closed: h.closed,
	})
	h.bind()
	close(h.built)
	return h.server.Check()
}

func idleAfter(minutes int) time.Duration {
	if minutes == 0 {
		return -1 // never
	}
	return time.Duration(minutes) * time.Minute
}

// background starts what nobody waits for.
func (h *Host) background() {
	h.wg.Go(func() { h.reap() })
	h.wg.Go(func() {
		if h.o.SkipShell {
			h.env.set(h.withHome(shellenv.Clean(h.o.Env)))
			return
		}
		r := shellenv.Import(h.ctx, shellenv.Options{Home: h.o.UserHome, User: h.o.User, Base: h.o.Env})
		if r.Err != nil && h.ctx.Err() == nil {
			h.log.Warn("login shell", "err", r.Err)
		}
		h.env.set(h.withHome(r.Env))
	})
	h.observed.start()
	h.wg.Go(func() { h.retention.run(h.ctx) })
	h.wg.Go(func() { h.texts.run(h.ctx) })
	h.wg.Go(h.composer.sweep)
	h.wg.Go(func() { h.notices.learn(h.ctx) })
	h.wg.Go(func() { h.harnesses.look(h.ctx) })
}

// reap ends what an earlier host left behind, before the first prompt.
func (h *Host) reap() {
	defer close(h.reaped)
	list, err := h.store.Helpers(h.ctx)
	if err != nil {
		h.log.Warn("the ledger of helpers cannot be read", "err", err)
		return
	}
	helpers := make([]processes.Helper, 0, len(list))
	for _, s := range list {
		helpers = append(helpers, helperOf(s))
	}
	ctx, cancel := context.WithTimeout(h.ctx, 10*time.Second)
	defer cancel()
	for _, r := range processes.Reap(ctx, helpers) {
		if len(r.Left) == 0 {
			h.ledger.Ended(r.Helper.Identity)
		}
		if len(r.Ended) > 0 {
			h.log.Info("ended what an earlier host left", "purpose", r.Helper.Purpose, "owner", r.Helper.Owner, "processes", len(r.Ended))
		}
	}
}

func (h *Host) keeps() bool { return h.o.Keep || h.settings.Values().General.KeepRunning }

// settingsChanged applies what takes effect at once.
func (h *Host) settingsChanged() {
	select {
	case <-h.built:
	case <-h.ctx.Done():
		return
	}
	h.harnesses.changed()
	h.starts.tell()
	h.leases.check()
	h.retention.tell()
	h.texts.tell()
	h.notices.configure()
	h.infoChanged()
}

func (h *Host) shell() string {
	if s := h.settings.Values().Terminal.Shell; s != "" {
		return s
	}
	ctx, cancel := context.WithTimeout(h.ctx, time.Second)
	defer cancel()
	return shellenv.Shell(ctx, h.o.Env, h.o.User)
}

func (h *Host) newPeople(list []agent.Harness) *people {
	p := &people{
		ours: func(pid int) string {
			if slices.ContainsFunc(h.terminals.Leaders(), func(id processes.Identity) bool { return id.Pid == pid }) {
				return "a terminal tab"
			}
			return ""
		},
		windows: append([]string{filepath.Join(filepath.Dir(h.o.Executable), "whippletree-desktop")}, h.o.Windows...),
		client: func(t *processes.Table, pid int) int {
			if pane := h.native.Locate(h.ctx, t, pid).Pane; pane != nil {
				return pane.Client
			}
			return 0
		},
		table: processes.Snapshot, argv: processes.Argv, exe: processes.Exe,
	}
	for _, x := range list {
		if x.Recognizer != nil {
			p.recognizers = append(p.recognizers, x.Recognizer)
		}
	}
	return p
}

func (h *Host) mayAnswer(c chats.Caller) error {
	where, err := h.people.who(c.Pid)
	if err != nil {
		h.log.Warn("an answer was refused", "pid", c.Pid, "err", err)
		return chats.Fail(chats.CodeNotAllowed, "Only a person may do this: %v. Answer in the window, or in a terminal in which no agent runs the command.", err)
	}
	_ = where
	return nil
}

func (h *Host) overrides(harness string) chats.Overrides {
	l, err := h.launch(harness)
	return chats.Overrides{Binary: l.Binary, Args: l.Args, Env: l.Env, Err: err}
}
