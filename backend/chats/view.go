package chats

import (
	"context"
	"path/filepath"
	"reflect"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Topics and event types as backend/api names them; a test compares both.
const (
	topicChats     = "chats"
	topicChat      = "chat:"
	topicApprovals = "approvals"

	eventUpsert     = "upsert"
	eventRemove     = "remove"
	eventChat       = "chat"
	eventRow        = "row"
	eventAppend     = "append"
	eventRemoveRows = "removeRows"
	eventQueue      = "queue"
	eventApproval   = "approval"
	eventUsage      = "usage"
	eventCatalog    = "catalog"
	eventTurn       = "turn"
	eventPulse      = "pulse"
	eventNotice     = "notice"
)

type (
	// Appended, Removed, RemovedRows and TurnChanged have the shape of the types
	// of the same name in backend/api.
	Appended struct {
		ID   string `json:"id"`
		At   int    `json:"at"`
		Text string `json:"text"`
	}
	Removed struct {
		IDs []string `json:"ids"`
	}
	RemovedRows struct {
		From int64 `json:"from"`
	}
	TurnChanged struct {
		Turn   int64            `json:"turn"`
		Origin agent.TurnOrigin `json:"origin"`
		State  model.TurnState  `json:"state"`
		At     int64            `json:"at"`
		End    *agent.TurnEnd   `json:"end,omitempty"`
	}
)

func (c *chat) publish(typ string, data any) { c.m.o.Publisher.Publish(c.topic, typ, data) }

func base(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}

func (c *chat) summary() model.ChatSummary {
	r := &c.rec
	s := model.ChatSummary{
		ID: r.ID, Title: r.Title, Harness: r.Harness, Provider: r.Provider, Kind: r.Kind, Cwd: r.Cwd,
		Handle: r.Handle, Aliases: r.Aliases, Turn: c.phase.public(), Hand: r.Hand, Model: r.Model, Mode: r.Mode,
		Thinking: r.Thinking, Waiting: c.openAsks(), Queued: len(c.queue), Unread: r.Unread, LastEnd: r.LastEnd,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Archived: r.Archived, Project: c.listed.Project,
	}
	if c.turn.open {
		s.TurnSince = c.turn.startedAt
	}
	s.State = c.state(&s)
	return s
}

func (c *chat) state(s *model.ChatSummary) model.SessionState {
	switch {
	case s.Waiting > 0:
		return model.SessionWaiting
	case s.Turn == model.TurnOpening:
		return model.SessionStarting
	case c.turn.open || s.Turn == model.TurnStopping:
		return model.SessionRunning
	case s.Hand.State == model.HandMirror && c.mirrored != "":
		return c.mirrored
	}
	return restState(s)
}

// restState is the state of a chat in which nothing runs.
func restState(s *model.ChatSummary) model.SessionState {
	if s.LastEnd != nil && s.LastEnd.Outcome == agent.OutcomeFailed {
		if s.LastEnd.Reason == string(agent.ReasonNotSignedIn) || s.LastEnd.Reason == "rate_limit" {
			return model.SessionBlocked
		}
		if s.Unread {
			return model.SessionFailed
		}
	}
	return model.SessionIdle
}

// refresh publishes the summary when it changed.
func (c *chat) refresh() {
	if c.removed || c.steps > 0 {
		return
	}
	c.noteStop()
	s := c.summary()
	if reflect.DeepEqual(s, c.listed) {
		return
	}
	c.listed = s
	c.m.list(s)
	c.publish(eventChat, s)
	c.m.o.Publisher.Publish(topicChats, eventUpsert, s)
}

// detail is what a window shows of a chat beside its summary and keeps from its
// snapshot; it is published when it changes, in the same event.
type detail struct {
	model.ChatSummary
	Agent     agent.AgentInfo `json:"agent"`
	Abilities []agent.Ability `json:"abilities"`
	AutoMode  *model.AutoMode `json:"autoMode"`
	Silent    int64           `json:"silentSince"`
	Stopping  *model.Stopping `json:"stopping"`
}

func (c *chat) publishDetail() {
	c.publish(eventChat, detail{c.summary(), c.rec.Agent, c.rec.Abilities, c.rec.AutoMode, c.silent, c.stopping})
}

// snapshot is the chat at its tail.
func (c *chat) snapshot(ctx context.Context) (model.Chat, error) {
	if err := c.saveNow(ctx); err != nil {
		c.storeFault(err) // a full disk must not hide the chat
	}
	now := c.now()
	for _, l := range c.ordered() {
		// What is published before the snapshot is in it; what comes later
		// follows it, at the length the snapshot shows.
		l.last = time.Time{}
		c.flush(l, now)
	}
	rows, err := c.rows(ctx, 0, 0, 100)
	if err != nil {
		return model.Chat{}, err
	}
	out := model.Chat{
		ChatSummary: c.summary(), Agent: c.rec.Agent, Abilities: c.rec.Abilities, Catalog: c.catalog, Usage: c.rec.Usage,
		Items: rows, Total: c.tl.last, Queue: shownQueue(c.queue), Approvals: c.cards(), AutoMode: c.rec.AutoMode, Silent: c.silent, Stopping: c.stopping,
	}
	if len(rows) > 0 {
		out.First = rows[0].Seq
	}
	if c.rec.Kind == agent.KindWorkspace {
		out.Trust, _ = c.m.trustOf(ctx, c.rec.Cwd)
	}
	return out, nil
}

// rows reads a page; the rows of the running turn are as they stand.
func (c *chat) rows(ctx context.Context, before, after int64, limit int) ([]model.Row, error) {
	if limit <= 0 || limit > 500 {
		limit = 100
	}
	var rows []model.Row
	var err error
	fromEnd := after == 0
	if fromEnd {
		rows, err = c.m.o.Store.Before(ctx, c.id, before, limit)
	} else {
		rows, err = c.m.o.Store.After(ctx, c.id, after, limit)
	}
	if err != nil {
		return nil, typed(err)
	}
	for i := range rows {
		if l := c.tl.lines[rows[i].ID]; l != nil {
			row := l.full()
			if l.row.Provisional {
				if end := len(wholeRunes(l.buf)); row.Type == agent.ItemTool {
					row.Output = row.Output[:end]
				} else {
					row.Text = row.Text[:end]
				}
			}
			rows[i] = row
		}
	}
	if rows == nil {
		rows = []model.Row{}
	}
	return page(rows, fromEnd), nil
}
