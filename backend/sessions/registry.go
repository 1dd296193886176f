package sessions

import (
	"cmp"
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Exits tells when a process ends (processes.ExitWatcher).
type Exits interface {
	Watch(id processes.Identity, ended func()) (stop func(), err error)
}

// Terminals are the terminals of ours.
type Terminals interface {
	// Of tells by the process table which terminal a process runs in.
	Of(t *processes.Table, pid int) (id string, ok bool)
	// Get returns a terminal with the status its program reported.
	Get(id string) (model.Terminal, bool)
	// Foreground is the process group that reads the terminal's keyboard.
	Foreground(id string) (group int, ok bool)
}

// Native finds the terminal app or multiplexer that a process runs in. It may
// take a moment; the place says Kind external when there is none.
type Native interface {
	Locate(ctx context.Context, t *processes.Table, pid int) model.Place
}

// Memory keeps what must survive the host. Calls come from one goroutine, in
// order; nil keeps nothing.
type Memory interface {
	Acknowledged(ctx context.Context, since int64) (map[model.SessionKey]int64, error)
	Acknowledge(ctx context.Context, key model.SessionKey, at int64) error
	Ended(ctx context.Context) ([]model.Session, error)
	PutEnded(ctx context.Context, row model.Session) error
	RemoveEnded(ctx context.Context, key model.SessionKey) error
	Alias(ctx context.Context, harness, oldID, newID string) error
	Aliases(ctx context.Context, harness, id string) ([]string, error)
}

// Change is one change of the list. Removed rows have only their Key.
type Change struct {
	Session model.Session
	Removed bool
}

// Options of New. Exits is needed.
type Options struct {
	Exits     Exits
	Terminals Terminals
	Native    Native
	Memory    Memory
	// Project names the project of a folder; Follow tells when it changes.
	Project func(cwd string) model.Project
	Follow  func(cwd string, changed func(model.Project)) (stop func())
	// Ours reports whether a process is a helper of the host (a chat's agent, a
	// probe): it is no session of its own.
	Ours func(processes.Identity) bool
	// OnChange is told every change in order. It must return at once and must
	// not call the Registry.
	OnChange func(Change)
	// OnDiagnostic takes what a source says of itself and what was rejected.
	OnDiagnostic func(source, code, message string)
	Log          *slog.Logger
	Now          func() time.Time
	// Work measures the processor time that a process and all below it have used;
	// nil reads it from the system.
	Work func(t *processes.Table, pid int) time.Duration
	// StaleAfter is the silence after which a running row is stale (10 min),
	// LeaveGrace how long a process may live on after its source took the row
	// back (2 s), FlapGap the least time between two changes of an inferred
	// state (1 s).
	StaleAfter, LeaveGrace, FlapGap time.Duration
}

// Registry is the list of sessions. All methods may be called from any goroutine.
type Registry struct {
	o   Options
	ctx context.Context
	end context.CancelFunc
	wg  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	enabled  map[string]bool
	rows     map[model.SessionKey]*row
	chats    map[string]*chat
	own      map[processes.Identity]bool // agents of our chats, also those that just ended
	folders  map[string]*folder
	acks     map[model.SessionKey]int64
	timer    *time.Timer
	toBind   map[model.SessionKey]bool
	bindAll  bool
	bindWake chan struct{}
	bound    chan struct{} // closed and replaced when places were found
	tasks    []func()
	taskWake chan struct{}
}

// New makes a registry and reads what was kept. Harnesses are off until
// SetEnabled.
func New(o Options) (*Registry, error) {
	for d, v := range map[*time.Duration]time.Duration{&o.StaleAfter: 10 * time.Minute, &o.LeaveGrace: 2 * time.Second, &o.FlapGap: time.Second} {
		if *d == 0 {
			*d = v
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnChange == nil {
		o.OnChange = func(Change) {}
	}
	if o.OnDiagnostic == nil {
		o.OnDiagnostic = func(string, string, string) {}
	}
	if o.Project == nil {
		o.Project = func(cwd string) model.Project { return model.Project{Root: cwd, Name: cwd} }
	}
	if o.Work == nil {
		o.Work = workOf
	}
	if o.Ours == nil {
		o.Ours = func(processes.Identity) bool { return false }
	}
	r := &Registry{
		o: o, enabled: map[string]bool{}, rows: map[model.SessionKey]*row{}, chats: map[string]*chat{}, own: map[processes.Identity]bool{},
		folders: map[string]*folder{}, acks: map[model.SessionKey]int64{}, toBind: map[model.SessionKey]bool{},
		bindWake: make(chan struct{}, 1), bound: make(chan struct{}), taskWake: make(chan struct{}, 1),
	}
	r.ctx, r.end = context.WithCancel(context.Background())
	if err := r.recall(); err != nil {
		r.end()
		return nil, err
	}
	r.wg.Go(r.runBinding)
	r.wg.Go(r.runTasks)
	return r, nil
}

// Close ends everything and writes what is still to be kept.
func (r *Registry) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
	for _, x := range r.rows {
		r.unwatch(x)
	}
	stops := make([]func(), 0, len(r.folders))
	for _, f := range r.folders {
		stops = append(stops, f.stop)
	}
	r.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	r.end()
	r.wg.Wait()
}

// List returns the rows: those that need a person first, the longest waiting on
// top, then by project, worktree and start.
func (r *Registry) List() []model.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list()
}

// Snapshot is List for a subscriber: mark is called while nothing can change.
func (r *Registry) Snapshot(mark func()) []model.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	mark()
	return r.list()
}

func (r *Registry) list() []model.Session {
	out := make([]model.Session, 0, len(r.rows))
	for _, x := range r.rows {
		if x.shown != nil {
			out = append(out, *x.shown)
		}
	}
	slices.SortFunc(out, Order)
	return out
}

// Order is the order of the list.
func Order(a, b model.Session) int {
	if a.NeedsYou != b.NeedsYou {
		if a.NeedsYou {
			return -1
		}
		return 1
	}
	if a.NeedsYou {
		if c := cmp.Compare(a.StateSince, b.StateSince); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.Project.Name, b.Project.Name), cmp.Compare(a.Project.Root, b.Project.Root),
		cmp.Compare(a.Project.Worktree, b.Project.Worktree), cmp.Compare(a.StartedAt, b.StartedAt),
		cmp.Compare(a.Key.Harness, b.Key.Harness), cmp.Compare(a.Key.ID, b.Key.ID))
}

// Session returns one row by its key or by an older id of its lineage.
func (r *Registry) Session(key model.SessionKey) (model.Session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.find(key); x != nil && x.shown != nil {
		return *x.shown, true
	}
	return model.Session{}, false
}

// find returns the row of a key or of an older id of its lineage. Called with mu
// held.
func (r *Registry) find(key model.SessionKey) *row {
	if x := r.rows[key]; x != nil {
		return x
	}
	for k, x := range r.rows {
		if k.Harness == key.Harness && slices.Contains(x.aliases, key.ID) {
			return x
		}
	}
	return nil
}

// revive takes back that a row had ended. Called with mu held.
func (r *Registry) revive(x *row) {
	if x.final == nil {
		return
	}
	x.final, x.gone, x.state = nil, processes.Identity{}, ""
	if x.kept {
		x.kept = false
		key := x.key
		r.later(func() { r.note(r.o.Memory.RemoveEnded(context.Background(), key)) })
	}
}

// Identity returns the process that a row is tied to, with how it is tied.
func (r *Registry) Identity(key model.SessionKey) (id processes.Identity, link agent.Link, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.find(key)
	if x == nil || x.shown == nil || x.proc.IsZero() {
		return processes.Identity{}, "", false
	}
	return x.proc, x.shown.Link, true
}

// SetEnabled switches a harness. Off drops all its rows at once.
func (r *Registry) SetEnabled(harness string, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.enabled[harness] == on || r.closed {
		return
	}
	r.enabled[harness] = on
	for key, x := range r.rows {
		if key.Harness != harness {
			continue
		}
		if on {
			r.refresh(x)
		} else if x.final != nil {
			r.refresh(x) // kept, and shown again when it is switched on
		} else {
			clear(x.reports)
			x.process = false
			r.settle(x)
		}
	}
}

func (r *Registry) isEnabled(harness string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.enabled[harness]
}

// refresh publishes a row when it changed. Called with mu held.
func (r *Registry) refresh(x *row) {
	if r.closed {
		return
	}
	next := r.session(x)
	if next != nil && x.shown != nil && reflect.DeepEqual(*next, *x.shown) {
		r.schedule()
		return
	}
	was := x.shown
	x.shown = next
	switch {
	case next != nil:
		r.o.OnChange(Change{Session: *next})
	case was != nil:
		r.o.OnChange(Change{Session: model.Session{Key: x.key}, Removed: true})
	}
	r.schedule()
}

// settle drops a row that nothing holds any more, else refreshes it. Called with
// mu held.
func (r *Registry) settle(x *row) {
	if len(x.reports) > 0 || x.process || x.final != nil || x.chat != nil {
		r.refresh(x)
		return
	}
	r.drop(x)
}

// drop removes a row. Called with mu held.
func (r *Registry) drop(x *row) {
	if r.rows[x.key] != x {
		return
	}
	delete(r.rows, x.key)
	delete(r.toBind, x.key)
	r.unwatch(x)
	r.leaveFolder(x)
	if x.kept {
		x.kept = false
		key := x.key
		r.later(func() { r.note(r.o.Memory.RemoveEnded(context.Background(), key)) })
	}
	if x.shown != nil {
		x.shown = nil
		r.o.OnChange(Change{Session: model.Session{Key: x.key}, Removed: true})
	}
	r.schedule()
}

func (r *Registry) note(err error) {
	if err != nil {
		r.o.Log.Warn("sessions: what was seen could not be kept", "err", err)
	}
}

// later runs a task of the memory in order, without waiting. Called with mu held.
func (r *Registry) later(task func()) {
	if r.o.Memory == nil {
		return
	}
	r.tasks = append(r.tasks, task)
	wake(r.taskWake)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (r *Registry) runTasks() {
	for {
		select {
		case <-r.taskWake:
			r.runDue()
		case <-r.ctx.Done():
			r.runDue()
			return
		}
	}
}

func (r *Registry) runDue() {
	r.mu.Lock()
	list := r.tasks
	r.tasks = nil
	r.mu.Unlock()
	for _, task := range list {
		task()
	}
}
