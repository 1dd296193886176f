package terminals

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// maxTerminals bounds how many one host has.
const maxTerminals = 200

// Options of a Manager. Shell and Env are needed, the rest may be left out.
type Options struct {
	// Shell is the user's login shell (from $SHELL or the user database).
	Shell string
	// Home is where a terminal starts that names no folder.
	Home string
	// Env is the environment of the login shell ("K=V").
	Env []string
	// Version is told to programs that ask which terminal this is.
	Version string
	// Exits is the host's exit watcher; the manager makes its own without one.
	Exits *processes.ExitWatcher
	// Ledger records the leaders, so that a later host ends what this one left.
	Ledger processes.Ledger
	// OnChange is told every new state of a terminal, removed at its end. It is
	// called from many goroutines, for one terminal in order, and must not block.
	OnChange func(t model.Terminal, removed bool)
	// OnNotice is told what programs want to notify of (OSC 9, 777), plain text.
	OnNotice func(id, text string)
	// OnActivity is called after output: a program may have started below a
	// terminal. It must not block.
	OnActivity func()
	// Now gives epoch milliseconds, for tests.
	Now func() int64
}

// CreateSpec says what a new terminal runs.
type CreateSpec struct {
	Cwd    string
	Argv   []string // none = the login shell
	Env    map[string]string
	Cols   int
	Rows   int
	Title  string
	ChatID string
}

// Manager has all terminals of the host.
type Manager struct {
	opt      Options
	exits    *processes.ExitWatcher
	ownExits bool

	mu      sync.Mutex
	list    []*terminal // in the order of their start
	byID    map[string]*terminal
	colors  Colors
	stopped bool
}

// New makes a manager without terminals.
func New(opt Options) *Manager {
	if opt.Now == nil {
		opt.Now = func() int64 { return time.Now().UnixMilli() }
	}
	if opt.Version == "" {
		opt.Version = "0"
	}
	m := &Manager{opt: opt, exits: opt.Exits, byID: map[string]*terminal{}, colors: defaultColors}
	if m.exits == nil {
		m.exits, m.ownExits = processes.NewExitWatcher(), true
	}
	return m
}

// Create starts a terminal. Its program is running when it returns.
func (m *Manager) Create(ctx context.Context, spec CreateSpec) (model.Terminal, error) {
	if err := ctx.Err(); err != nil {
		return model.Terminal{}, err
	}
	m.mu.Lock()
	stopped, full, colors := m.stopped, len(m.list) >= maxTerminals, m.colors
	m.mu.Unlock()
	if stopped {
		return model.Terminal{}, errors.New("the host is stopping")
	}
	if full {
		return model.Terminal{}, fmt.Errorf("there are %d terminals already: close some", maxTerminals)
	}
	t, err := m.start(spec, colors)
	if err != nil {
		return model.Terminal{}, err
	}
	m.mu.Lock()
	if m.stopped {
		m.mu.Unlock()
		return model.Terminal{}, errors.Join(errors.New("the host is stopping"), t.close(context.Background()))
	}
	m.list = append(m.list, t)
	m.byID[t.id] = t
	m.mu.Unlock()
	t.publish()
	t.begin()
	return t.snapshot(), nil
}

func newID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // the system's source of randomness does not fail
	}
	return hex.EncodeToString(b[:])
}

func (m *Manager) start(spec CreateSpec, colors Colors) (*terminal, error) {
	cols, rows := clampSize(spec.Cols, spec.Rows)
	cwd := spec.Cwd
	if cwd == "" {
		cwd = m.opt.Home
	}
	helperID := newID()
	env := append(environment(m.opt.Env, spec.Env, m.opt.Version), processes.MarkerEnv+"="+helperID)
	cmd, err := m.command(spec.Argv, env, cwd)
	if err != nil {
		return nil, err
	}
	f, err := spawn(cmd, cols, rows)
	if err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	t := &terminal{
		m: m, id: newID(), shell: len(spec.Argv) == 0, f: f, cmd: cmd,
		leader:  processes.Identity{Pid: pid},
		cmds:    make(chan func()),
		poke:    make(chan struct{}, 1),
		reads:   make(chan []byte),
		free:    make(chan []byte, 2),
		exited:  make(chan processes.Exit, 1),
		quit:    make(chan struct{}),
		windows: map[*Attachment]struct{}{},
		in:      inputQueue{filled: make(chan struct{}, 1)},
	}
	if p, err := processes.ReadUnreaped(pid); err == nil {
		t.leader, t.tty = p.Identity, p.TTY
	}
	name := filepath.Base(cmd.Path)
	if t.name = Plain(spec.Title, maxTitle); t.name == "" {
		t.name = Plain(name, maxTitle)
	}
	t.r = responder{
		state: newState(cols, rows), keep: newRing(), colors: colors,
		name: "Whippletree " + m.opt.Version, now: m.opt.Now, tell: t,
		relay: func(b []byte) { t.out = append(t.out, b...) },
		// A program that asks without reading the answers loses them.
		reply: func(b []byte) { _ = t.in.add(b, maxReplies) },
	}
	t.info = model.Terminal{
		ID: t.id, Title: t.name, Cwd: cwd, Command: name, Pid: pid, Cols: cols, Rows: rows,
		StartedAt: m.opt.Now(), Running: true, ChatID: spec.ChatID, Busy: !t.shell,
	}
	t.helper = processes.Helper{
		Identity: t.leader, ID: helperID, Sid: pid, Purpose: "terminal", Owner: t.id, Argv0: name,
	}
	for range cap(t.free) {
		t.free <- make([]byte, readBufBytes)
	}
	ended := make(chan struct{})
	t.done.Add(3)
	go t.wait(ended)
	go t.write()
	go t.read(ended)
	if m.opt.Ledger != nil {
		if err := m.opt.Ledger.Started(t.helper); err != nil {
			return nil, errors.Join(fmt.Errorf("the terminal could not be recorded: %w", err), t.close(context.Background()))
		}
	}
	return t, nil
}

// begin starts the owner, after the manager knows the terminal.
func (t *terminal) begin() {
	t.done.Add(1)
	go t.run()
}

func (m *Manager) command(argv, env []string, cwd string) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Env: env, Dir: cwd}
	if len(argv) == 0 {
		if m.opt.Shell == "" {
			return nil, errors.New("no login shell is known: set SHELL")
		}
		cmd.Path = m.opt.Shell
		// The dash makes it a login shell, the way a login does.
		cmd.Args = []string{"-" + filepath.Base(m.opt.Shell)}
		return cmd, nil
	}
	path, err := lookPath(argv[0], env)
	if err != nil {
		return nil, err
	}
	cmd.Path, cmd.Args = path, slices.Clone(argv)
	return cmd, nil
}

// List are the terminals in the order of their start.
func (m *Manager) List() []model.Terminal {
	out := []model.Terminal{}
	for _, t := range m.all() {
		info := t.snapshot()
		if info.Running {
			info.Busy = t.busyNow()
		}
		out = append(out, info)
	}
	return out
}

func (m *Manager) all() []*terminal {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

func (m *Manager) get(id string) (*terminal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.byID[id]
	if !ok {
		return nil, ErrClosed
	}
	return t, nil
}

// Get is one terminal.
func (m *Manager) Get(id string) (model.Terminal, bool) {
	t, err := m.get(id)
	if err != nil {
		return model.Terminal{}, false
	}
	return t.snapshot(), true
}

// Attach shows the terminal in a window: the sink gets the replay, its end,
// then output, possibly before Attach returns. With cols and rows 0 the size
// is left alone.
func (m *Manager) Attach(id string, cols, rows int, focus bool, sink Sink) (*Attachment, model.Terminal, error) {
	t, err := m.get(id)
	if err != nil {
		return nil, model.Terminal{}, err
	}
	a := &Attachment{t: t, sink: sink, cols: cols, rows: rows, focus: focus}
	var info model.Terminal
	if err := t.do(func() { info = t.attach(a) }); err != nil {
		return nil, model.Terminal{}, err
	}
	return a, info, nil
}

// Resize sets the size, whoever is focused.
func (m *Manager) Resize(id string, cols, rows int) error {
	t, err := m.get(id)
	if err != nil {
		return err
	}
	return t.do(func() { t.setSize(cols, rows) })
}

// Input types into a terminal without a window.
func (m *Manager) Input(id string, p []byte) error {
	t, err := m.get(id)
	if err != nil {
		return err
	}
	return t.input(p)
}

// Read is the text of the last rows; at most the screen and some 2,000 rows
// above it. None for a terminal that is not there.
func (m *Manager) Read(id string, lines int) []string {
	t, err := m.get(id)
	if err != nil {
		return nil
	}
	var out []string
	_ = t.do(func() { out = t.r.keep.text(&t.r.state, lines) })
	return out
}

// SetColors says what colours the windows show; queries get them.
func (m *Manager) SetColors(c Colors) {
	m.mu.Lock()
	m.colors = c
	m.mu.Unlock()
	for _, t := range m.all() {
		_ = t.do(func() { t.r.colors = c })
	}
}

// Close ends the terminal with every process of its kernel session; who left
// it by setsid lives on.
func (m *Manager) Close(ctx context.Context, id string) error {
	t, err := m.get(id)
	if err != nil {
		return err
	}
	err = t.close(ctx)
	m.mu.Lock()
	_, there := m.byID[id]
	delete(m.byID, id)
	m.list = slices.DeleteFunc(m.list, func(o *terminal) bool { return o == t })
	m.mu.Unlock()
	if there {
		m.changed(t.snapshot(), true)
	}
	return err
}

// Stop closes all terminals and refuses new ones.
func (m *Manager) Stop(ctx context.Context) error {
	m.mu.Lock()
	m.stopped = true
	list := slices.Clone(m.list)
	m.mu.Unlock()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, t := range list {
		wg.Go(func() {
			if err := m.Close(ctx, t.id); !errors.Is(err, ErrClosed) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	if m.ownExits {
		m.exits.Close()
	}
	return errors.Join(errs...)
}

func (m *Manager) changed(t model.Terminal, removed bool) {
	if m.opt.OnChange != nil {
		m.opt.OnChange(t, removed)
	}
}

func (m *Manager) hint() {
	if m.opt.OnActivity != nil {
		m.opt.OnActivity()
	}
}
