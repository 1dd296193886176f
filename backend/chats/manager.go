package chats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// Manager owns all chats. A chat's goroutine is started by the first call that
// needs it; a chat nobody looks at costs a row in the list.
type Manager struct {
	o Options

	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	grd     Guard
	chats   map[string]*chat
	listed  map[string]model.ChatSummary
	asked   map[string][]model.ApprovalCard
	rules   []model.ApprovalRule
	clients map[string]*creation // creations in flight by client id
	stopped bool
	lastUse int64 // newest stamp of a chat's use
}

// New makes a Manager; Start reads what the store knows.
func New(o Options) *Manager {
	o.defaults()
	m := &Manager{o: o, chats: map[string]*chat{}, listed: map[string]model.ChatSummary{},
		asked: map[string][]model.ApprovalCard{}, clients: map[string]*creation{}}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	return m
}

// SetGuard sets who is asked before every write. It is set before Start.
func (m *Manager) SetGuard(g Guard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grd = g
}

func (m *Manager) guard() Guard {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grd
}

// Start puts in order what a killed host left and reads the list of chats. It
// returns the turns that were found open.
func (m *Manager) Start(ctx context.Context) ([]store.Interrupted, error) {
	left, err := m.o.Store.Recover(ctx)
	if err != nil {
		return nil, typed(err)
	}
	for _, l := range left {
		it := agent.Item{ID: "end-" + itoa(l.Turn.Turn), Type: agent.ItemNotice, Level: agent.LevelWarning, At: m.o.Wall().UnixMilli(), Text: l.Turn.End.Text}
		if _, err := m.o.Store.PutRow(ctx, l.ChatID, model.Row{Item: it, Turn: l.Turn.Turn}); err != nil {
			return left, typed(err)
		}
	}
	recs, err := m.o.Store.Chats(ctx)
	if err != nil {
		return left, typed(err)
	}
	queued, err := m.o.Store.CountQueued(ctx)
	if err != nil {
		return left, typed(err)
	}
	rules, err := m.o.Store.Rules(ctx)
	if err != nil {
		return left, typed(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = rules
	for _, rec := range recs {
		m.listed[rec.ID] = m.atRest(rec, queued[rec.ID])
		m.lastUse = max(m.lastUse, rec.UpdatedAt)
	}
	return left, nil
}

// atRest is the summary of a chat whose goroutine does not run.
func (m *Manager) atRest(rec store.ChatRecord, queued int) model.ChatSummary {
	s := model.ChatSummary{
		ID: rec.ID, Title: rec.Title, Harness: rec.Harness, Provider: rec.Provider, Kind: rec.Kind, Cwd: rec.Cwd,
		Project: m.o.Project(rec.Cwd), Handle: rec.Handle, Aliases: rec.Aliases, Turn: model.TurnIdle, Hand: rec.Hand,
		Model: rec.Model, Mode: rec.Mode, Thinking: rec.Thinking, Queued: queued, Unread: rec.Unread, LastEnd: rec.LastEnd,
		CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt, Archived: rec.Archived,
	}
	s.State = restState(&s)
	return s
}

// Stop ends every agent and goroutine: a running turn ends as interrupted. It
// returns when all is gone, or with ctx's cause.
func (m *Manager) Stop(ctx context.Context) error {
	m.mu.Lock()
	m.stopped = true
	list := slices.Collect(maps.Values(m.chats))
	m.mu.Unlock()
	for _, c := range list {
		_ = c.do(ctx, func() {
			c.ending = true
			c.step(hapKill)
		})
	}
	all := make(chan struct{})
	go func() {
		for _, c := range list {
			<-c.done
			if c.phase != phStuck { // what did not end keeps its calls; the ledger has it
				c.work.Wait()
			}
		}
		close(all)
	}()
	select {
	case <-all:
		m.cancel(errors.New("the host was stopped"))
		return nil
	case <-ctx.Done():
		m.cancel(errors.New("the host was stopped"))
		return context.Cause(ctx)
	}
}

// chat returns the running chat, starting its goroutine when needed.
func (m *Manager) chat(ctx context.Context, id string) (*chat, error) {
	m.mu.Lock()
	c := m.chats[id]
	s, ok := m.listed[id]
	stopped := m.stopped
	m.mu.Unlock()
	switch {
	case c != nil:
		return c, nil
	case !ok:
		return nil, Fail(CodeNotFound, "There is no such chat.")
	case stopped:
		return nil, Fail(CodeUnavailable, "The host is being stopped.")
	}
	c = &chat{m: m, id: id, topic: topicChat + id, ctx: m.ctx, mail: make(chan msg, mailSize), done: make(chan struct{}), listed: s,
		steering: map[string]*steering{}, read: map[string]bool{}, stay: make(chan error, 1)}
	if err := c.load(ctx); err != nil {
		return nil, typed(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if other := m.chats[id]; other != nil {
		return other, nil
	}
	if m.stopped {
		return nil, Fail(CodeUnavailable, "The host is being stopped.")
	}
	m.chats[id] = c
	c.timer = time.NewTimer(time.Hour)
	c.timer.Stop()
	go c.run()
	return c, nil
}

func (c *chat) load(ctx context.Context) error {
	st := c.m.o.Store
	var err error
	if c.rec, err = st.Chat(ctx, c.id); err != nil {
		return err
	}
	if len(c.rec.Extra) > 0 {
		if err := json.Unmarshal(c.rec.Extra, &c.extra); err != nil {
			return err
		}
	}
	if c.queue, err = st.Queue(ctx, c.id); err != nil {
		return err
	}
	// What waited when the host ended is sent when a person says so: nobody
	// looked at it since.
	c.held = len(c.queue) > 0 && handApp(c.rec.Hand)
	if t, err := st.LastTurn(ctx, c.id); err == nil {
		c.turn = turn{n: t.Turn, origin: t.Origin, client: t.ClientID}
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if tail, err := st.Tail(ctx, c.id, 1); err == nil && len(tail) == 1 {
		c.turn.n = max(c.turn.n, tail[0].Turn)
	}
	return c.tl.load(ctx, st, c.id)
}

// with runs fn on the chat's goroutine.
func (m *Manager) with(ctx context.Context, id string, fn func(*chat) error) error {
	c, err := m.chat(ctx, id)
	if err != nil {
		return err
	}
	var ferr error
	if err := c.do(ctx, func() { ferr = fn(c) }); err != nil {
		return err
	}
	return ferr
}

func (m *Manager) list(s model.ChatSummary) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.listed[s.ID]; ok {
		m.listed[s.ID] = s
	}
}

func (m *Manager) setCards(id string, cards []model.ApprovalCard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(cards) == 0 {
		delete(m.asked, id)
		return
	}
	m.asked[id] = cards
}

// List returns all chats, the last used first.
func (m *Manager) List() []model.ChatSummary {
	m.mu.Lock()
	list := slices.Collect(maps.Values(m.listed))
	m.mu.Unlock()
	slices.SortFunc(list, func(a, b model.ChatSummary) int {
		if a.UpdatedAt != b.UpdatedAt {
			return int(b.UpdatedAt - a.UpdatedAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Summary returns one row of the list.
func (m *Manager) Summary(id string) (model.ChatSummary, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.listed[id]
	return s, ok
}

// bySession finds the chat of a session; agents made of one built-in agent share
// its sessions.
func (m *Manager) bySession(h *agent.Handle) (model.ChatSummary, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var best model.ChatSummary
	for _, s := range m.listed {
		if s.Handle == nil || cmp.Or(s.Handle.Harness, s.Harness) != h.Harness ||
			(s.Handle.NativeID != h.NativeID && !slices.Contains(s.Aliases, h.NativeID)) {
			continue
		}
		now, was := s.Handle.NativeID == h.NativeID, best.Handle != nil && best.Handle.NativeID == h.NativeID
		if best.ID == "" || now && !was || now == was && s.UpdatedAt > best.UpdatedAt {
			best = s
		}
	}
	return best, best.ID != ""
}

// RunningTurns counts chats in which something runs.
func (m *Manager) RunningTurns() int {
	n := 0
	for _, s := range m.List() {
		if s.Turn != model.TurnIdle {
			n++
		}
	}
	return n
}
