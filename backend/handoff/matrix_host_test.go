package handoff

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// The matrix kills whole processes: this test binary is also the host (an own
// process, told what to do by lines of JSON) and the person's terminal app.

const roleEnv = "HANDOFF_TEST_ROLE"

// order is one line to the host, report one from it.
type order struct {
	N        int             `json:"n"`
	Do       string          `json:"do"`
	Chat     string          `json:"chat,omitempty"`
	Text     string          `json:"text,omitempty"`
	Place    string          `json:"place,omitempty"`
	When     string          `json:"when,omitempty"`
	Step     string          `json:"step,omitempty"`
	Terminal string          `json:"terminal,omitempty"`
	Force    bool            `json:"force,omitempty"`
	Adopt    *agent.Handle   `json:"adopt,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"`
}

type report struct {
	N    int             `json:"n,omitempty"`
	V    json.RawMessage `json:"v,omitempty"`
	Err  string          `json:"err,omitempty"`
	At   *pausedAt       `json:"at,omitempty"` // stands at a step and waits for "go"
	News bool            `json:"news,omitempty"`
}

type pausedAt struct {
	Chat string `json:"chat"`
	Step string `json:"step"`
}

// matrixHost is the host process.
type matrixHost struct {
	dir    string
	cast   *cast
	h      agent.Harness
	st     *store.Store
	chats  *chats.Manager
	m      *Manager
	terms  *terminals.Manager
	reaped chan struct{}

	mu    sync.Mutex // of out and armed
	out   *json.Encoder
	armed map[pausedAt]chan struct{}
	news  chan struct{}
}

func hostRole() int {
	x := &matrixHost{dir: os.Getenv("HANDOFF_DIR"), out: json.NewEncoder(os.Stdout), armed: map[pausedAt]chan struct{}{}, news: make(chan struct{}, 1), reaped: make(chan struct{})}
	if err := x.open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		for range x.news {
			x.tell(report{News: true})
		}
	}()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	var work sync.WaitGroup
	for in.Scan() {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		work.Go(func() {
			v, err := x.do(o)
			r := report{N: o.N}
			if err != nil {
				r.Err = err.Error()
			}
			r.V, _ = json.Marshal(v)
			x.tell(r)
		})
	}
	x.mu.Lock()
	for _, on := range x.armed {
		close(on)
	}
	clear(x.armed)
	x.mu.Unlock()
	work.Wait()
	c, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, stop := range []func(context.Context) error{x.m.Stop, x.chats.Stop, x.terms.Stop} {
		if err := stop(c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	_ = x.st.Close()
	return 0
}

func (x *matrixHost) tell(r report) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.out.Encode(r)
}

func (x *matrixHost) Publish(string, string, any) { wake(x.news) }

func (x *matrixHost) Harness(id string) (agent.Harness, bool, bool) {
	return x.h, true, id == x.h.Identity.Harness
}

func (x *matrixHost) open() (err error) {
	if x.st, err = store.Open(filepath.Join(x.dir, "db")); err != nil {
		return err
	}
	x.cast = castNamed(os.Getenv("HANDOFF_CAST"))
	kit := x.cast.kit(x.dir, os.Environ())
	kit.Ledger = x
	x.h = x.cast.harness(kit)
	args := x.cast.args(x.dir)
	overrides := func(string) chats.Overrides { return chats.Overrides{Args: args} }
	x.terms = terminals.New(terminals.Options{Shell: "/bin/sh", Home: x.dir, Env: kit.Env(), Exits: kit.Exits, Ledger: x})
	x.chats = chats.New(chats.Options{Store: x.st, Harnesses: x, Publisher: x, Overrides: overrides, IdleAfter: -1,
		MayAnswer:  func(chats.Caller) error { return nil },
		PrivateDir: func(string) (string, error) { return x.dir, nil }})
	x.m = New(Options{Chats: x.chats, Store: x.st, Harnesses: x, Overrides: overrides, Tabs: x, Natives: x, Exits: kit.Exits,
		Watch: func(d string) Watch { return kit.Watcher.Watch(d) }, RunDir: x.dir, LockDir: filepath.Join(x.dir, "locks"),
		Holder: fmt.Sprint("host-", os.Getpid()), StillFor: 50 * time.Millisecond, crash: x.pause})
	x.chats.SetGuard(reapedFirst{x.m, x.reaped})
	left, err := x.st.Helpers(ctx)
	if err != nil {
		return err
	}
	if _, err := x.chats.Start(ctx); err != nil {
		return err
	}
	if err := x.m.Start(ctx); err != nil {
		return err
	}
	go func() { // what an earlier host left, as package host does it
		defer close(x.reaped)
		var list []processes.Helper
		for _, s := range left {
			list = append(list, processes.Helper{Identity: processes.Identity{Pid: s.Pid, Start: s.Start, Boot: s.Boot}, ID: s.ID, Sid: s.Sid, Purpose: s.Purpose, Owner: s.Owner, Argv0: s.Argv0})
		}
		for _, r := range processes.Reap(ctx, list) {
			x.Ended(r.Helper.Identity)
		}
	}()
	return nil
}

type reapedFirst struct {
	*Manager
	reaped <-chan struct{}
}

func (g reapedFirst) MayWrite(ctx context.Context, c chats.Claim) error {
	<-g.reaped
	return g.Manager.MayWrite(ctx, c)
}

func (x *matrixHost) Started(p processes.Helper) error {
	return x.st.HelperStarted(ctx, store.Helper{Pid: p.Pid, Start: p.Start, Boot: p.Boot, ID: p.ID, Sid: p.Sid, Purpose: p.Purpose, Owner: p.Owner, Argv0: p.Argv0})
}

func (x *matrixHost) Ended(id processes.Identity) {
	_ = x.st.HelperEnded(ctx, id.Pid, id.Start, id.Boot)
}

// pause stands still at a step that was armed.
func (x *matrixHost) pause(chat, step string) error {
	x.mu.Lock()
	on := x.armed[pausedAt{chat, step}]
	if sum, ok := x.chats.Summary(chat); ok && on == nil && sum.Handle != nil {
		on = x.armed[pausedAt{sum.Handle.NativeID, step}]
	}
	x.mu.Unlock()
	if on != nil {
		x.tell(report{At: &pausedAt{chat, step}})
		<-on
	}
	return nil
}

func (x *matrixHost) do(o order) (any, error) {
	switch o.Do {
	case "create":
		return x.chats.Create(ctx, chats.CreateRequest{ClientID: o.Text, Harness: x.h.Identity.Harness, Cwd: x.dir, Adopt: o.Adopt, Options: o.Options})
	case "send":
		return x.chats.Send(ctx, chats.SendRequest{ChatID: o.Chat, ClientID: "client-" + o.Text, Text: o.Text})
	case "get":
		return x.chats.Get(ctx, o.Chat)
	case "handoff":
		return x.m.ToTerminal(ctx, Request{ChatID: o.Chat, Place: o.Place, When: chats.When(o.When)})
	case "takeback":
		return x.m.TakeBack(ctx, o.Chat, o.Force)
	case "own":
		rel, _, err := x.chats.Inspect(ctx, o.Chat)
		return rel.Own, err
	case "close":
		return nil, x.chats.CloseChat(ctx, o.Chat)
	case "remove":
		return nil, x.chats.Remove(ctx, o.Chat)
	case "fork":
		return x.chats.Fork(ctx, o.Chat)
	case "type":
		return nil, x.terms.Input(o.Terminal, []byte(o.Text))
	case "screen":
		return strings.Join(x.terms.Read(o.Terminal, 60), "\n"), nil
	case "arm", "go":
		at := pausedAt{cmp.Or(o.Chat, o.Text), o.Step} // Text: the session of a chat to come
		x.mu.Lock()
		defer x.mu.Unlock()
		if o.Do == "arm" {
			x.armed[at] = make(chan struct{})
		} else if on := x.armed[at]; on != nil {
			close(on)
			delete(x.armed, at)
		}
		return nil, nil
	}
	return nil, errors.New("what is " + o.Do)
}

func (x *matrixHost) OpenTab(ctx context.Context, spec TabSpec) (model.Terminal, error) {
	return x.terms.Create(ctx, terminals.CreateSpec{Cwd: spec.Cwd, Argv: spec.Argv, Env: spec.Env, Title: spec.Title, ChatID: spec.ChatID, Cols: 120, Rows: 40})
}

func (x *matrixHost) Choices() []model.PlaceChoice {
	return []model.PlaceChoice{{ID: "outside", Label: "Outside"}, {ID: "slow", Label: "Slow"}}
}

// Open runs a command in the person's terminal app. The slow one asks something
// before it becomes the agent, as one does that wants a login.
func (x *matrixHost) Open(_ context.Context, id string, cmd agent.Command, _ string) (model.Place, func(context.Context) (int, error), error) {
	file, err := x.m.recordFile()
	if err != nil {
		return model.Place{}, nil, err
	}
	argv := cmd.Argv
	if id == "slow" {
		argv = append([]string{"/bin/sh", "-c", `read answer; exec "$@"`, "sh"}, argv...)
	}
	window, err := openWindow(x.dir, os.Environ(), cmd.Env, cmd.Cwd, recorded(file, argv))
	if err != nil {
		return model.Place{}, nil, err
	}
	return model.Place{Kind: "terminal", App: id, Label: window, CanFocus: true}, func(ctx context.Context) (int, error) { return x.m.readRecord(ctx, file) }, nil
}

// openWindow starts a terminal app of the person's: it outlives the host. The
// name says where it can be typed into and read.
func openWindow(dir string, base []string, env map[string]string, cwd string, argv []string) (name string, err error) {
	place, err := os.MkdirTemp(dir, "window-")
	if err != nil {
		return "", err
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(exe, argv...)
	cmd.Dir = cwd
	cmd.Env = append(slices.Clone(base), roleEnv+"=window", "HANDOFF_WINDOW="+place)
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	up, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	go func() { _, _ = cmd.Process.Wait() }()
	if !bufio.NewScanner(up).Scan() {
		return "", errors.New("the terminal app did not start")
	}
	return filepath.Base(place), nil
}

// windowRole is the terminal app: a pty, keys from a socket, the screen in a file.
func windowRole() int {
	dir := os.Getenv("HANDOFF_WINDOW")
	keys, err := net.Listen("unix", filepath.Join(dir, "k"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	screen, err := os.Create(filepath.Join(dir, "screen"))
	if err != nil {
		return 1
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Env = os.Environ()
	for i, kv := range cmd.Env {
		if strings.HasPrefix(kv, roleEnv+"=") {
			cmd.Env[i] = "TERM=xterm-256color"
		}
	}
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// It outlives the host on purpose, but not by much a test that was killed.
	time.AfterFunc(10*time.Minute, func() { os.Exit(1) })
	_ = os.WriteFile(filepath.Join(dir, "argv"), []byte(strings.Join(os.Args, "\n")), 0o600)
	_ = os.WriteFile(filepath.Join(dir, "pid"), []byte(fmt.Sprint(os.Getpid())), 0o600)
	fmt.Println("up")
	go func() {
		for {
			c, err := keys.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(f, c)
			_ = c.Close()
		}
	}()
	_, _ = io.Copy(screen, f)
	_ = cmd.Wait()
	return 0
}

var _ interface {
	Tabs
	Natives
	processes.Ledger
	chats.Harnesses
	chats.Publisher
} = (*matrixHost)(nil)
