package handoff

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
	"github.com/whippletree-app/whippletree/backend/terminals"
	"github.com/whippletree-app/whippletree/extensions/rehearsal"
)

// TestRehearsal is the main job with a whole agent program, a real terminal of
// ours and the real store: chat, answer an approval, continue in a tab, type
// there, queue meanwhile, exit there, go on here; one branch, no row twice.
func TestRehearsal(t *testing.T) {
	s := newPlay(t)
	sum, err := s.chats.Create(ctx, chats.CreateRequest{ClientID: "c", Harness: rehearsal.ID, Cwd: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	id := sum.ID
	s.send(id, "hello")
	s.idle(id, 1)
	s.send(id, "run echo")
	s.until("the approval", func() bool { return len(s.chats.Approvals()) == 1 })
	card := s.chats.Approvals()[0]
	var allow string
	for _, o := range card.Options {
		if o.Kind == agent.OptionAllowOnce {
			allow = o.ID
		}
	}
	if won, _, err := s.chats.Answer(ctx, chats.Caller{By: "window"}, chats.Answer{ApprovalID: card.ID, Answer: agent.ApprovalAnswer{OptionID: allow}}); err != nil || !won {
		t.Fatal(won, err)
	}
	s.idle(id, 2)
	before := s.get(id).Items

	res, err := s.m.ToTerminal(ctx, Request{ChatID: id})
	if err != nil {
		t.Fatal(err)
	}
	s.owned(id)
	if got := s.get(id).Items; texts(got) != texts(before) || len(got) != len(before) {
		t.Fatalf("the rows changed on the way out:\n%s\n%s", rowsOf(before), rowsOf(got))
	}
	s.send(id, "plan") // queued
	if err := s.terms.Input(res.TerminalID, []byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	s.until("the terminal's turn", func() bool {
		items := s.get(id).Items
		last := items[len(items)-1]
		return len(items) > len(before)+1 && last.Via == "terminal" && last.Type == agent.ItemText && !last.Open()
	})
	if err := s.terms.Input(res.TerminalID, []byte("/exit\r")); err != nil {
		t.Fatal(err)
	}
	s.hand(id, model.HandApp)
	s.until("the queued turn", func() bool {
		c := s.get(id)
		return len(c.Queue) == 0 && c.Turn == model.TurnIdle && c.LastEnd != nil && c.Items[len(c.Items)-1].Via == ""
	})
	// What is in the agent's own transcript is what the chat shows, once.
	c := s.get(id)
	seen := map[string]int{}
	for _, r := range c.Items {
		if r.Type == agent.ItemUser {
			seen[r.Text]++
		}
	}
	if seen["hello"] != 2 || seen["run echo"] != 1 || seen["plan"] != 1 {
		t.Fatal(seen)
	}
	h, _, _ := s.Harness(rehearsal.ID)
	again := newCollector()
	mctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Handover.Mirror(mctx, *c.Handle, agent.Position{}, again) }()
	<-again.caught
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if want, got := again.line(), line(c.Items); want != got {
		t.Fatalf("the transcript and the chat differ:\n%s\n%s", want, got)
	}
}

func rowsOf(rows []model.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%d %s %s %s %q\n", r.Seq, r.ID, r.Type, r.State, r.Text)
	}
	return b.String()
}

// line is the conversation without what only the host or the agent knows.
func line(rows []model.Row) string {
	var items []agent.Item
	for _, r := range rows {
		items = append(items, r.Item)
	}
	return lineOf(items)
}

func lineOf(items []agent.Item) string {
	var list []string
	for _, it := range items {
		switch it.Type {
		case agent.ItemUser, agent.ItemText, agent.ItemReasoning, agent.ItemTool, agent.ItemPlan:
			list = append(list, fmt.Sprintf("%s %s %q %q", it.Type, it.State, it.Text, it.Output))
		}
	}
	return strings.Join(list, "\n")
}

type collector struct {
	order  []string
	items  map[string]agent.Item
	caught chan struct{}
}

func newCollector() *collector {
	return &collector{items: map[string]agent.Item{}, caught: make(chan struct{}, 1)}
}

func (c *collector) Item(it agent.Item) {
	if _, ok := c.items[it.ID]; !ok {
		c.order = append(c.order, it.ID)
	}
	c.items[it.ID] = it
}
func (c *collector) State(agent.MirrorState) {}
func (c *collector) CaughtUp(agent.Position) { wake(c.caught) }
func (c *collector) line() string {
	var list []agent.Item
	for _, id := range c.order {
		list = append(list, c.items[id])
	}
	return lineOf(list)
}

// rehearsalStage is a host with the rehearsal harness and real terminals.
type rehearsalStage struct {
	stage
	h     agent.Harness
	terms *terminals.Manager
}

func (s *rehearsalStage) Harness(id string) (agent.Harness, bool, bool) {
	return s.h, true, id == rehearsal.ID
}

func (s *rehearsalStage) idle(id string, turns int) {
	s.Helper()
	s.until("turn "+fmt.Sprint(turns), func() bool {
		c := s.get(id)
		return c.Turn == model.TurnIdle && c.LastEnd != nil && len(c.Items) > 0 && c.Items[len(c.Items)-1].Turn == int64(turns)
	})
}

func (s *rehearsalStage) OpenTab(ctx context.Context, spec TabSpec) (model.Terminal, error) {
	return s.terms.Create(ctx, terminals.CreateSpec{Cwd: spec.Cwd, Argv: spec.Argv, Env: spec.Env, Title: spec.Title, ChatID: spec.ChatID})
}

func newPlay(t *testing.T) *rehearsalStage {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color"}
	kit := &agentkit.Host{Home: dir, DataDir: filepath.Join(dir, "data"), Executable: exe, Env: func() []string { return env },
		Watcher: agentkit.NewWatcher(agentkit.WatcherOptions{}), Exits: processes.NewExitWatcher()}
	s := &rehearsalStage{stage: stage{T: t, dir: dir, news: make(chan struct{}, 1)}, h: rehearsal.New(kit)}
	if s.st, err = store.Open(filepath.Join(dir, "db")); err != nil {
		t.Fatal(err)
	}
	s.terms = terminals.New(terminals.Options{Shell: "/bin/sh", Home: dir, Env: env, Exits: kit.Exits})
	overrides := func(string) chats.Overrides { return chats.Overrides{Args: []string{"--pace", "none"}} }
	s.chats = chats.New(chats.Options{Store: s.st, Harnesses: s, Publisher: s, Overrides: overrides,
		MayAnswer: func(chats.Caller) error { return nil }})
	s.m = New(Options{Chats: s.chats, Store: s.st, Harnesses: s, Overrides: overrides, Tabs: s, Exits: kit.Exits,
		Watch: func(d string) Watch { return kit.Watcher.Watch(d) }, RunDir: dir, LockDir: filepath.Join(dir, "locks"), Holder: "host"})
	if _, err := s.chats.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.close()
		c, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if err := s.terms.Stop(c); err != nil {
			t.Error(err)
		}
		kit.Exits.Close()
		if err := kit.Watcher.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
