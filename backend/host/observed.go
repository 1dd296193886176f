package host

import (
	"context"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/sessions"
	"github.com/whippletree-app/whippletree/backend/terminals/native"
)

// observed is what the host sees of sessions, whoever started them: the sources
// of the harnesses, the processes of the machine, our own chats.
type observed struct {
	host     *Host
	registry *sessions.Registry
	runner   *sessions.Runner
	known    sessions.Recognizers
	starts   *processes.StartWatcher
	// Closed when the sources were started, and when the processes that ran
	// before the host have been looked at.
	sourced, scanned chan struct{}

	mu     sync.Mutex
	chats  []chatChange // not told to the registry yet
	wake   chan struct{}
	closed bool
}

type chatChange struct {
	sum     model.ChatSummary
	removed bool
}

func (h *Host) newObserved(list []agent.Harness) (*observed, error) {
	o := &observed{host: h, known: sessions.Recognizers{}, wake: make(chan struct{}, 1),
		sourced: make(chan struct{}), scanned: make(chan struct{})}
	var err error
	o.registry, err = sessions.New(sessions.Options{
		Exits: h.exits, Terminals: h.terminals, Native: located{h.native}, Memory: h.store,
		Project: h.projects.Of, Follow: h.projects.Follow, Ours: h.ledger.has,
		OnChange: func(c sessions.Change) {
			h.notices.session(c.Session, c.Removed)
			if c.Removed {
				h.hub.Publish(api.TopicSessions, api.EventRemove, api.Removed{IDs: []string{keyText(c.Session.Key)}})
				return
			}
			h.hub.Publish(api.TopicSessions, api.EventUpsert, c.Session)
		},
		OnDiagnostic: func(source, code, message string) {
			h.log.Warn("session source", "source", source, "code", code, "message", message)
		},
		Log: h.log, Now: h.o.Now,
	})
	if err != nil {
		return nil, err
	}
	o.runner = sessions.NewRunner(o.registry, h.harnesses.setSource)
	for _, x := range list {
		if x.Recognizer != nil {
			o.known[x.Identity.Harness] = x.Recognizer
		}
	}
	return o, nil
}

func keyText(k model.SessionKey) string { return k.Harness + "/" + k.ID }

// located says where a process runs, as the registry asks for it.
type located struct{ native *native.Terminals }

func (l located) Locate(ctx context.Context, t *processes.Table, pid int) model.Place {
	return l.native.Locate(ctx, t, pid).Place
}

// start begins to observe, in the background.
func (o *observed) start() {
	for _, c := range o.host.chats.List() {
		o.registry.SetChat(c, 0)
		o.host.notices.published(api.TopicChats, c)
	}
	for _, card := range o.host.chats.Approvals() {
		o.host.notices.published(api.TopicApprovals, card)
	}
	for _, x := range o.host.harnesses.builtin {
		id := x.Identity.Harness
		if x.Source != nil {
			o.runner.Add(sessions.Source{ID: x.SourceID, Harnesses: []string{id}, Source: x.Source})
		}
		if _, on, _ := o.host.harnesses.Harness(id); on {
			o.runner.SetEnabled(id, true)
		}
	}
	close(o.sourced)
	o.host.wg.Go(func() {
		defer close(o.scanned)
		// Watching begins first: what starts during the look is told as well.
		w := processes.NewStartWatcher(func(ids []processes.Identity) { o.registry.Started(o.known, ids) })
		o.mu.Lock()
		closed := o.closed
		if !closed {
			o.starts = w
		}
		o.mu.Unlock()
		if closed {
			w.Close()
			return
		}
		o.registry.Scan(o.known)
	})
	o.host.wg.Go(o.tellChats)
}

// firstLook bounds how long a list of sessions waits for the sources.
const firstLook = 2 * time.Second

// looked waits until every source and the table of processes were looked at
// once and each process has its place, two seconds at most: a host that was started for one command must not
// answer that there is nothing.
func (o *observed) looked(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	for _, done := range []chan struct{}{o.sourced, o.scanned} {
		select {
		case <-done:
		case <-ctx.Done():
			return
		case <-o.host.ctx.Done():
			return
		}
	}
	o.runner.Settled(ctx)
	o.registry.Bound(ctx)
}

func (o *observed) stop(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	starts := o.starts
	o.mu.Unlock()
	return wait(ctx, func() {
		if starts != nil {
			starts.Close()
		}
		o.runner.Close()
		o.registry.Close()
	})
}

// switched starts or stops the source of a harness at once.
func (o *observed) switched(harness string, on bool) {
	o.runner.SetEnabled(harness, on)
	if on {
		o.host.wg.Go(func() { o.registry.Scan(o.known) })
	}
}

// activity of a terminal: a program may have started below it.
func (h *Host) activity() {
	if h.observed == nil {
		return
	}
	h.observed.mu.Lock()
	w := h.observed.starts
	h.observed.mu.Unlock()
	if w != nil {
		w.Hint()
	}
}

// publisher passes the events of the chats on and keeps the sessions' rows
// informed of them.
type publisher struct{ host *Host }

func (p publisher) Publish(topic, typ string, data any) {
	p.host.hub.Publish(topic, typ, data)
	if topic == api.TopicChats || topic == api.TopicApprovals {
		p.host.notices.published(topic, data)
	}
	if topic != api.TopicChats || p.host.observed == nil {
		return
	}
	switch x := data.(type) {
	case model.ChatSummary:
		p.host.observed.chat(chatChange{sum: x})
	case chats.Removed:
		for _, id := range x.IDs {
			p.host.hub.End(api.TopicChat + id)
			p.host.observed.chat(chatChange{sum: model.ChatSummary{ID: id}, removed: true})
		}
	}
}

func (o *observed) chat(c chatChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.chats = append(o.chats, c)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// tellChats asks the chats for their agent's process, which the goroutine that
// publishes cannot, and tells the registry.
func (o *observed) tellChats() {
	running := 0
	for {
		select {
		case <-o.wake:
		case <-o.host.ctx.Done():
			return
		}
		o.mu.Lock()
		list := o.chats
		o.chats = nil
		o.mu.Unlock()
		if n := o.host.chats.RunningTurns(); n != running {
			running = n
			o.host.infoChanged()
		}
		latest := map[string]int{}
		for i, c := range list {
			latest[c.sum.ID] = i
		}
		for i, c := range list {
			switch {
			case c.removed:
				o.registry.RemoveChat(c.sum.ID)
			case latest[c.sum.ID] == i:
				pid := 0
				if rel, _, err := o.host.chats.Inspect(o.host.ctx, c.sum.ID); err == nil {
					pid = rel.Pid
				}
				o.registry.SetChat(c.sum, pid)
			}
		}
	}
}

// focus brings the place of a session to the front.
func (o *observed) focus(ctx context.Context, key model.SessionKey) (api.FocusResult, error) {
	row, ok := o.registry.Session(key)
	if !ok {
		return api.FocusResult{}, &api.Error{Code: api.CodeNotFound, Message: "There is no session " + keyText(key) + ".", Fix: "whippletree ls"}
	}
	if row.ChatID != "" && row.Place.TerminalID == "" && (row.Pid == 0 || row.Place.Kind == "" || row.Place.Kind == "none") {
		return api.FocusResult{Exact: "exact", ChatID: row.ChatID}, nil
	}
	id, _, ok := o.registry.Identity(key)
	if !ok {
		return api.FocusResult{Exact: "unavailable", ChatID: row.ChatID, Why: "no process of this session is known"}, nil
	}
	table, err := processes.Snapshot()
	if err != nil {
		return api.FocusResult{}, err
	}
	if !table.Has(id) {
		return api.FocusResult{Exact: "unavailable", ChatID: row.ChatID, Why: "its process has ended"}, nil
	}
	got := o.host.native.Focus(ctx, o.host.native.Locate(ctx, table, id.Pid))
	return api.FocusResult{Exact: string(got.Exactness), TerminalID: got.TerminalID, ChatID: row.ChatID, Why: got.Why}, nil
}

// placeOf says where a process runs, for the banner of a chat.
func (h *Host) placeOf(pid int) model.Place {
	table, err := processes.Snapshot()
	if err != nil {
		return model.Place{Kind: "external", External: true, WhyNot: err.Error()}
	}
	return h.native.Locate(h.ctx, table, pid).Place
}
