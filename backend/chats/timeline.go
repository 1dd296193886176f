package chats

import (
	"bytes"
	"context"
	"reflect"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// line is a row of the running turn. The field that grows (Output of a tool,
// else Text) is kept apart in buf, so that appending costs what was appended.
type line struct {
	row       model.Row
	buf       []byte
	sent      int  // bytes of buf the clients have
	announced bool // the clients have the row
	whole     bool // the next event must be the whole row
	dirty     bool // something is unpublished
	unsaved   bool // something is not stored
	saved     int  // bytes of buf that were stored last
	savedAt   time.Time
	last      time.Time
}

func (l *line) growing() *string {
	if l.row.Type == agent.ItemTool {
		return &l.row.Output
	}
	return &l.row.Text
}

// full is the row with all its text.
func (l *line) full() model.Row {
	row := l.row
	if row.Type == agent.ItemTool {
		row.Output = string(l.buf)
	} else {
		row.Text = string(l.buf)
	}
	return row
}

// set takes a snapshot. It is an append when the text only grew and all else
// stayed.
func (l *line) set(it agent.Item) {
	text := it.Text
	if it.Type == agent.ItemTool {
		text = it.Output
	}
	old := l.row.Item
	l.row.Item = it
	*l.growing() = ""
	grew := len(text) >= len(l.buf) && string(l.buf) == text[:len(l.buf)]
	if !grew {
		l.buf = append(l.buf[:0:0], text...)
		l.sent, l.whole = 0, true
	} else {
		l.buf = append(l.buf, text[len(l.buf):]...)
	}
	if !reflect.DeepEqual(old, l.row.Item) {
		l.whole = true
	}
	l.dirty, l.unsaved = true, true
}

// timeline holds the rows of the running turn and knows which others exist.
type timeline struct {
	lines  map[string]*line
	known  map[string]int64  // every row's place by item id
	byUser map[string]string // client or native id of a prompt -> our row's id
	users  bool              // byUser has those of earlier runs too
	// closed are the rows that the host closed at a turn's end; the agent may
	// still bring their true end in a later turn (a background task).
	closed map[string]bool
	last   int64 // place of the last row
	dirty  []*line
	late   int // what came after its end, dropped
}

// item handles a snapshot of the agent.
func (c *chat) item(it agent.Item) {
	for _, is := range agent.ValidateItem(it) {
		if is.Path == "$.id" || is.Path == "$.type" {
			c.tl.late++
			c.m.o.Log.Warn("an item of the agent was dropped", "chat", c.id, "why", is.Path+" "+is.Message)
			return
		}
	}
	now := c.now()
	it = unattach(it)
	if it.Type == agent.ItemUser && c.echo(it) {
		return
	}
	if !c.turn.open && !c.wake(it) {
		c.tl.late++
		return
	}
	c.evidence()
	l := c.tl.lines[it.ID]
	if l == nil {
		if l = c.line(it); l == nil {
			c.tl.late++
			return
		}
	}
	if it.At == 0 {
		it.At = l.row.At // the same snapshot again is the same row
	}
	if it.At == 0 {
		it.At = c.wall()
	}
	if it.EndedAt > 0 {
		it.EndedAt = max(it.EndedAt, it.StartedAt) // the agent's clock was set back
	}
	l.set(it)
	l.row.Provisional = l.row.Open()
	if it.Type == agent.ItemError {
		c.turn.errorShown = true
	}
	if l.row.Provisional {
		c.show(l, now)
		return
	}
	c.settle(l)
}

// line makes the line of an item that is not of the running turn's known ones.
func (c *chat) line(it agent.Item) *line {
	l := &line{row: model.Row{Seq: c.tl.last + 1, Turn: c.turn.n}}
	if _, ok := c.tl.known[it.ID]; ok {
		if !c.tl.closed[it.ID] {
			return nil // a row of an ended turn is not touched
		}
		row, err := c.m.o.Store.Row(c.ctx, c.id, it.ID)
		if err != nil {
			return nil
		}
		l.row, l.announced = row, true
		l.buf = []byte(*l.growing())
		l.sent = len(l.buf)
	} else {
		c.tl.last++
		c.tl.known[it.ID] = l.row.Seq
		l.whole = true
	}
	c.tl.lines[it.ID] = l
	return l
}

// wake opens a turn of the agent's own for activity without a prompt. What
// follows a stopped or failed turn is a straggler of that one and does not.
func (c *chat) wake(it agent.Item) bool {
	switch it.Type {
	case agent.ItemNotice, agent.ItemCompaction:
		return true
	case agent.ItemText, agent.ItemReasoning, agent.ItemTool, agent.ItemSubagent:
	default:
		return false
	}
	if _, known := c.tl.known[it.ID]; known && !c.tl.closed[it.ID] {
		return false
	}
	if c.phase != phIdle && c.phase != phProbing {
		return false
	}
	if end := c.rec.LastEnd; end != nil && end.Outcome != agent.OutcomeCompleted {
		return false
	}
	c.turn.implicit = true
	c.step(hapAgentTurn)
	return c.turn.open
}

// echo reconciles the agent's copy of a prompt with our row, by client id or
// native id and never by its text. Ours keeps its text and gets the native id.
func (c *chat) echo(it agent.Item) bool {
	id := c.userRow(it)
	if id == "" && c.loadUsers() == nil {
		id = c.userRow(it) // of an earlier run of the host
	}
	if id == "" {
		return false
	}
	native := it.NativeID
	if native == "" {
		native = it.ID
	}
	c.tl.byUser[native], c.tl.byUser[it.ID] = id, id
	c.evidence()
	if l := c.tl.lines[id]; l != nil && l.row.NativeID != native {
		l.row.NativeID, l.whole = native, true
		c.settle(l)
	} else if l == nil {
		if row, err := c.m.o.Store.Row(c.ctx, c.id, id); err == nil && row.NativeID != native {
			row.NativeID = native
			c.putRows([]model.Row{row})
		}
	}
	return true
}

// loadUsers reads, once, which prompts earlier runs of the host have sent.
func (c *chat) loadUsers() error {
	if c.tl.users {
		return nil
	}
	err := c.tl.loadUsers(c.ctx, c.m.o.Store, c.id, c.promptID)
	c.tl.users = err == nil
	return typed(err)
}

// userRow finds our row of a user item.
func (c *chat) userRow(it agent.Item) string {
	for _, key := range []string{it.ClientID, it.NativeID, it.ID} {
		if id := c.tl.byUser[key]; key != "" && id != "" {
			return id
		}
	}
	return ""
}

// append handles text that grew.
func (c *chat) append(id, text string) {
	l := c.tl.lines[id]
	if l == nil || !l.row.Provisional || !c.turn.open {
		c.tl.late++
		return
	}
	if !c.turn.accepted {
		c.evidence()
	}
	l.buf = append(l.buf, text...)
	l.dirty, l.unsaved = true, true
	c.show(l, c.now())
}

// closeLines closes every row that is still open at the turn's end.
func (c *chat) closeLines(state agent.ItemState, now time.Time) []model.Row {
	var rows []model.Row
	for _, l := range c.ordered() {
		if !l.row.Open() && !l.unsaved && !l.row.Provisional {
			continue
		}
		if l.row.Open() {
			c.tl.closed[l.row.ID] = true
		}
		l.row.CloseAt(state, now)
		l.row.Provisional = false
		l.buf = bytes.ToValidUTF8(l.buf, []byte("\uFFFD"))
		rows = append(rows, l.full())
	}
	return rows
}

// addRow adds a settled row of the host's own (prompts, ends, notices).
func (c *chat) addRow(it agent.Item) model.Row {
	c.tl.last++
	row := model.Row{Item: it, Seq: c.tl.last, Turn: c.turn.n}
	c.tl.known[it.ID] = row.Seq
	return row
}

// putRows stores and shows rows that are known or new, settled all of them.
func (c *chat) putRows(rows []model.Row) {
	if len(rows) == 0 {
		return
	}
	if err := c.m.o.Store.PutRows(c.ctx, c.id, rows...); err != nil {
		c.storeFault(err)
		for i := range rows {
			rows[i].Provisional = true
		}
	}
	for _, row := range rows {
		c.publish(eventRow, shown(row))
	}
}

func (c *chat) storeFault(err error) {
	c.m.o.Log.Error("a chat could not be stored", "chat", c.id, "err", err)
	c.publish(eventNotice, agent.Notice{Level: agent.LevelWarning, Text: typed(err).Error()})
}

// load reads which rows exist.
func (tl *timeline) load(ctx context.Context, st *store.Store, chatID string) error {
	tl.lines, tl.byUser, tl.closed = map[string]*line{}, map[string]string{}, map[string]bool{}
	known, err := st.ItemIDs(ctx, chatID)
	if err != nil {
		return err
	}
	tl.known = known
	_, tl.last, err = st.CountRows(ctx, chatID)
	return err
}

// loadUsers reads the ids of the prompts, for the reconciliation with what a
// transcript says. named tells the native id of a prompt whose echo was never
// seen; "" when nobody knows.
func (tl *timeline) loadUsers(ctx context.Context, st *store.Store, chatID string, named func(clientID string) string) error {
	for after := int64(0); ; {
		rows, err := st.After(ctx, chatID, after, 500)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			after = r.Seq
			if r.Type != agent.ItemUser {
				continue
			}
			native := r.NativeID
			if native == "" && r.ClientID != "" {
				native = named(r.ClientID)
			}
			for _, key := range []string{r.ClientID, native} {
				if key != "" {
					tl.byUser[key] = r.ID
				}
			}
		}
	}
}
