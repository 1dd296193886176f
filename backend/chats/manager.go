package chats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

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
}

type creation struct {
	done chan struct{}
	sum  model.ChatSummary
	err  error
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
		it := agent.Item{ID: "end-" + itoa(l.Turn.Turn), Type: agent.ItemNotice, Level: agent.LevelWarning, At: m.o.Now().UnixMilli(), Text: l.Turn.End.Text}
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
			c.work.Wait()
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
	c = &chat{m: m, id: id, topic: topicChat + id, ctx: m.ctx, mail: make(chan msg, mailSize), done: make(chan struct{}), listed: s}
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

// Create makes a chat. The same ClientID again gives the same chat, also when
// both calls run at once. ErrTrustNeeded carries the question.
func (m *Manager) Create(ctx context.Context, r CreateRequest) (model.ChatSummary, error) {
	if r.ClientID == "" {
		r.ClientID = uuid.NewString()
	}
	m.mu.Lock()
	if f := m.clients[r.ClientID]; f != nil {
		m.mu.Unlock()
		select {
		case <-f.done:
			return f.sum, f.err
		case <-ctx.Done():
			return model.ChatSummary{}, context.Cause(ctx)
		}
	}
	f := &creation{done: make(chan struct{})}
	m.clients[r.ClientID] = f
	m.mu.Unlock()
	f.sum, f.err = m.create(ctx, r)
	m.mu.Lock()
	delete(m.clients, r.ClientID)
	m.mu.Unlock()
	close(f.done)
	return f.sum, f.err
}

func (m *Manager) create(ctx context.Context, r CreateRequest) (model.ChatSummary, error) {
	if old, err := m.o.Store.ChatByClientID(ctx, r.ClientID); err == nil {
		if s, ok := m.Summary(old.ID); ok {
			return s, nil
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return model.ChatSummary{}, typed(err)
	}
	h, enabled, ok := m.o.Harnesses.Harness(r.Harness)
	switch {
	case !ok:
		return model.ChatSummary{}, Fail(CodeNotFound, "No agent %q is known here.", r.Harness)
	case !enabled:
		return model.ChatSummary{}, Fail(CodeUnavailable, "%s is switched off in Settings.", h.Identity.DisplayName)
	}
	if err := m.checkKind(ctx, &r, h); err != nil {
		return model.ChatSummary{}, err
	}
	if r.Adopt != nil {
		if s, ok := m.bySession(r.Adopt); ok {
			return s, nil // one chat per session
		}
	}
	now := m.o.Now().UnixMilli()
	rec := store.ChatRecord{
		ID: uuid.NewString(), ClientID: r.ClientID, Title: trimTitle(r.Title), Harness: r.Harness, Provider: h.ProviderID, Kind: r.Kind,
		Cwd: r.Cwd, Handle: r.Adopt, Model: r.Model, Mode: r.Mode, Thinking: r.Thinking, Features: r.Features, Options: r.Options,
		Hand: model.Hand{State: model.HandApp}, CreatedAt: now, UpdatedAt: now,
	}
	if rec.Title != "" {
		rec.Extra, _ = json.Marshal(extra{Titled: true})
	}
	if r.Adopt != nil {
		rec.Hand = model.Hand{State: model.HandReattaching, Since: now, Note: "The conversation is being read."}
	}
	stored, _, err := m.o.Store.CreateChat(ctx, rec)
	if err != nil {
		return model.ChatSummary{}, typed(err)
	}
	s := m.atRest(stored, 0)
	m.mu.Lock()
	m.listed[s.ID] = s
	m.mu.Unlock()
	m.o.Publisher.Publish(topicChats, eventUpsert, s)
	if a, ok := m.guard().(Adopter); ok && r.Adopt != nil {
		if err := a.Adopt(ctx, s.ID); err != nil {
			m.o.Log.Warn("a session could not be adopted", "chat", s.ID, "err", err)
		}
		if now, ok := m.Summary(s.ID); ok {
			s = now
		}
	}
	return s, nil
}

// Adopter is a Guard that also reads in sessions found elsewhere.
type Adopter interface {
	// Adopt looks who owns the session of a new chat, reads its rows and sets
	// its hand.
	Adopt(ctx context.Context, chatID string) error
}

func (m *Manager) checkKind(ctx context.Context, r *CreateRequest, h agent.Harness) error {
	if r.Adopt != nil {
		if r.Cwd == "" {
			r.Cwd = r.Adopt.Cwd
		}
		handle := *r.Adopt
		if handle.Harness = r.Harness; h.Extends != "" {
			handle.Harness = h.Extends
		}
		r.Adopt = &handle
		r.Kind = agent.KindWorkspace
		if handle.NativeID == "" {
			return Fail(CodeInvalid, "The session to open has no id.")
		}
		if h.Handover == nil {
			return Fail(CodeUnsupported, "Sessions of %s cannot be opened here.", h.Identity.DisplayName)
		}
	}
	if r.Kind == "" {
		if r.Kind = agent.KindWorkspace; r.Cwd == "" {
			r.Kind = agent.KindConfined
		}
	}
	if h.Provider == nil && r.Adopt == nil {
		return Fail(CodeUnsupported, "%s has no chats.", h.Identity.DisplayName)
	}
	if kinds := h.Traits.Kinds; len(kinds) > 0 && !slices.Contains(kinds, r.Kind) && r.Adopt == nil {
		return Fail(CodeUnsupported, "%s offers no %s chats.", h.Identity.DisplayName, r.Kind)
	}
	switch r.Kind {
	case agent.KindConfined:
		r.Cwd = ""
		return nil
	case agent.KindWorkspace:
	default:
		return Fail(CodeInvalid, "A chat is confined or workspace, not %q.", r.Kind)
	}
	if !filepath.IsAbs(r.Cwd) {
		return Fail(CodeInvalid, "The folder %q is not an absolute path.", r.Cwd)
	}
	r.Cwd = filepath.Clean(r.Cwd)
	if r.Adopt != nil {
		return nil // read first; trust is asked for before the first prompt starts an agent
	}
	if st, err := os.Stat(r.Cwd); err != nil || !st.IsDir() {
		return &Error{Code: CodeInvalid, Message: "There is no folder " + r.Cwd + ".", Fix: "mkdir -p " + quote(r.Cwd)}
	}
	q, err := m.question(ctx, h, r.Cwd)
	if err != nil {
		return &Error{Code: CodeUnavailable, Message: err.Error(), cause: err}
	}
	if q.Needed {
		return &Error{Code: CodeTrustNeeded, Message: "This folder would start programs of its own (" + names(q.Starts) + "). Decide first whether you trust it.", Trust: &q}
	}
	return nil
}

func names(starts []agent.ProjectStart) string {
	var list []string
	for i, s := range starts {
		if i == 3 {
			list = append(list, "...")
			break
		}
		list = append(list, s.Kind+" "+s.Name)
	}
	return strings.Join(list, ", ")
}
