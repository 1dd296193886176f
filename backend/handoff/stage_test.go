package handoff

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
)

var ctx = context.Background()

// stage is one host: chats and handoff on a real store, terminals that are
// processes with a pipe for a keyboard.
type stage struct {
	*testing.T
	dir   string
	p     *troupe
	st    *store.Store
	chats *chats.Manager
	m     *Manager
	exits *processes.ExitWatcher
	tabs  *tabs
	news  chan struct{}
	crash func(string) error
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t, dir: t.TempDir(), p: newTroupe(t), tabs: &tabs{}, exits: processes.NewExitWatcher(), news: make(chan struct{}, 1)}
	t.Cleanup(s.exits.Close)
	s.open()
	t.Cleanup(func() {
		s.close()
		s.tabs.close()
	})
	return s
}

func (s *stage) open() {
	s.Helper()
	st, err := store.Open(filepath.Join(s.dir, "db"))
	if err != nil {
		s.Fatal(err)
	}
	s.st = st
	s.chats = chats.New(chats.Options{Store: st, Harnesses: s.p, Publisher: s, IdleAfter: -1,
		MayAnswer:  func(chats.Caller) error { return nil },
		PrivateDir: func(string) (string, error) { return s.dir, nil }})
	s.m = New(Options{Chats: s.chats, Store: st, Harnesses: s.p, Tabs: s.tabs, Exits: s.exits,
		Watch: func(d string) Watch { return s.p.watcher.Watch(d) }, RunDir: s.dir, LockDir: filepath.Join(s.dir, "locks"),
		Holder: "host-" + s.Name(), StillFor: 50 * time.Millisecond,
		crash: func(_, step string) error {
			if s.crash != nil {
				return s.crash(step)
			}
			return nil
		}})
	if _, err := s.chats.Start(ctx); err != nil {
		s.Fatal(err)
	}
	if err := s.m.Start(ctx); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) close() {
	if s.m == nil {
		return
	}
	c, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, stop := range []func(context.Context) error{s.m.Stop, s.chats.Stop} {
		if err := stop(c); err != nil {
			s.Error(err)
		}
	}
	if err := s.st.Close(); err != nil {
		s.Error(err)
	}
	s.m = nil
}

func (s *stage) Publish(string, string, any) { wake(s.news) }

// until waits for a condition; every change of a chat wakes it.
func (s *stage) until(what string, cond func() bool) {
	s.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for !cond() {
		again := time.NewTimer(50 * time.Millisecond) // for what is no event of ours
		select {
		case <-s.news:
		case <-again.C:
		case <-late.C:
			s.Fatalf("waited in vain for %s", what)
		}
		again.Stop()
	}
}

func (s *stage) get(id string) model.Chat {
	s.Helper()
	c, err := s.chats.Get(ctx, id)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *stage) hand(id string, state model.HandState) model.Hand {
	s.Helper()
	var hand model.Hand
	s.until("hand "+string(state), func() bool {
		sum, _ := s.chats.Summary(id)
		hand = sum.Hand
		return hand.State == state
	})
	return hand
}

func (s *stage) owned(id string) model.Hand {
	s.Helper()
	s.until("an owner", func() bool {
		sum, _ := s.chats.Summary(id)
		return sum.Hand.State == model.HandMirror && sum.Hand.Ownership != nil && sum.Hand.Ownership.Pid > 0
	})
	return s.hand(id, model.HandMirror)
}

func (s *stage) chat() string {
	s.Helper()
	sum, err := s.chats.Create(ctx, chats.CreateRequest{ClientID: "c-" + s.Name(), Harness: "scribe", Cwd: s.dir})
	if err != nil {
		s.Fatal(err)
	}
	return sum.ID
}

func (s *stage) send(id, text string) chats.Sent {
	s.Helper()
	sent, err := s.chats.Send(ctx, chats.SendRequest{ChatID: id, ClientID: "client-" + text, Text: text})
	if err != nil {
		s.Fatal(err)
	}
	return sent
}

// said sends a prompt and waits for the end of its turn.
func (s *stage) said(id, text string) {
	s.Helper()
	s.send(id, text)
	s.rows(id, "re: "+text)
	s.until("idle", func() bool { sum, _ := s.chats.Summary(id); return sum.Turn == model.TurnIdle })
}

// rows waits until the chat's last row is this text.
func (s *stage) rows(id, last string) []model.Row {
	s.Helper()
	var rows []model.Row
	s.until("the row "+last, func() bool {
		rows = s.get(id).Items
		return len(rows) > 0 && rows[len(rows)-1].Text == last && !rows[len(rows)-1].Provisional
	})
	return rows
}

func texts(rows []model.Row) string {
	var list []string
	for _, r := range rows {
		list = append(list, r.Text)
	}
	return strings.Join(list, "|")
}

// oneBranch holds the transcript against its rule: every record follows the one
// before it.
func (s *stage) oneBranch(session string) {
	s.Helper()
	list, err := s.p.home.entries(session)
	if err != nil {
		s.Fatal(err)
	}
	last := ""
	for i, e := range list {
		if e.Parent != last {
			s.Fatalf("record %d (%s) branches off", i, e.Text)
		}
		last = e.ID
	}
}

func (s *stage) session(id string) string {
	s.Helper()
	sum, _ := s.chats.Summary(id)
	if sum.Handle == nil {
		s.Fatal("no session")
	}
	return sum.Handle.NativeID
}

func (s *stage) toTerminal(id string, r Request) Result {
	s.Helper()
	r.ChatID = id
	res, err := s.m.ToTerminal(ctx, r)
	if err != nil {
		s.Fatal(err)
	}
	return res
}

// tabs are processes whose stdin is the keyboard.
type tabs struct {
	mu   sync.Mutex
	list []*tab
	fail error
}

type tab struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (x *tabs) OpenTab(_ context.Context, spec TabSpec) (model.Terminal, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fail != nil {
		return model.Terminal{}, x.fail
	}
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Dir = spec.Cwd
	cmd.Env = os.Environ()
	for k, v := range spec.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		return model.Terminal{}, err
	}
	t := &tab{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.out.Scan() // up
	x.list = append(x.list, t)
	go func() { _, _ = cmd.Process.Wait() }()
	return model.Terminal{ID: fmt.Sprintf("tab%d", len(x.list)), Title: spec.Title, ChatID: spec.ChatID}, nil
}

func (x *tabs) last() *tab {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.list[len(x.list)-1]
}

func (t *tab) typed(line string) {
	_, _ = io.WriteString(t.in, line+"\n")
	if line != "quit" {
		t.out.Scan()
	}
}

func (x *tabs) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range x.list {
		_ = t.cmd.Process.Kill()
	}
}

// cli starts the agent's own program in a terminal that is not ours.
func (s *stage) cli(session string) *tab {
	s.Helper()
	cmd, in, out := s.p.start("tui", session)
	t := &tab{cmd: cmd, in: in, out: out}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	s.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	return t
}

var _ agent.Handover = (*troupe)(nil)
