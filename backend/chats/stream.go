package chats

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// appendLimit bounds one append event; JSON escaping may make it six times as
// long and it must stay below agent.LimitPayloadBytes.
const appendLimit = 32 << 10

// show publishes a streaming row: the first change at once, then at most one
// event in a frame.
func (c *chat) show(l *line, now time.Time) {
	if c.due[dlSave].IsZero() {
		c.deadline(dlSave, now.Add(c.m.o.SaveEvery))
	}
	if wait := c.m.o.Frame - now.Sub(l.last); wait > 0 && !l.last.IsZero() {
		if c.due[dlFrame].IsZero() {
			c.deadline(dlFrame, now.Add(wait))
		}
		if !slices.Contains(c.tl.dirty, l) {
			c.tl.dirty = append(c.tl.dirty, l)
		}
		return
	}
	c.flush(l, now)
}

// frame publishes what waited for its frame.
func (c *chat) frame(now time.Time) {
	list := c.tl.dirty
	c.tl.dirty = nil
	for _, l := range list {
		if l.dirty {
			c.show(l, now)
		}
	}
}

// flush publishes what of l the clients do not have.
func (c *chat) flush(l *line, now time.Time) {
	end := len(wholeRunes(l.buf))
	long := end > agent.LimitOutputShown
	switch {
	case !l.dirty:
		return
	case long && l.announced && now.Sub(l.last) < c.m.o.SaveEvery && l.row.Provisional:
		// Beyond what is shown the row is only replaced, four times a second.
		if !slices.Contains(c.tl.dirty, l) {
			c.tl.dirty = append(c.tl.dirty, l)
		}
		if c.due[dlFrame].IsZero() {
			c.deadline(dlFrame, l.last.Add(c.m.o.SaveEvery))
		}
		return
	case l.whole || !l.announced || long:
		row := l.full()
		if l.row.Provisional {
			if row.Type == agent.ItemTool {
				row.Output = row.Output[:end]
			} else {
				row.Text = row.Text[:end]
			}
		}
		c.publish(eventRow, shown(row))
		l.announced, l.whole, l.sent = true, false, end
	default:
		for l.sent < end {
			part := wholeRunes(l.buf[l.sent:min(end, l.sent+appendLimit)])
			c.publish(eventAppend, Appended{ID: l.row.ID, At: l.sent, Text: string(part)})
			l.sent += len(part)
		}
	}
	l.dirty, l.last = l.sent < end, now
}

// settle stores a row that does not change by itself any more and then shows it
// as settled.
func (c *chat) settle(l *line) {
	row := l.full()
	if err := c.m.o.Store.PutRows(c.ctx, c.id, row); err != nil {
		c.storeFault(err)
		row.Provisional, l.row.Provisional = true, true
		l.unsaved = true
	} else {
		l.unsaved = false
	}
	l.dirty, l.whole, l.announced, l.sent, l.last = false, false, true, len(l.buf), c.now()
	c.publish(eventRow, shown(row))
}

// save stores the streaming rows as provisional ones, without waiting: each time
// what it costs to store them stays in proportion to what was added.
func (c *chat) save() {
	id, rows := c.id, c.unsaved(false)
	if len(rows) > 0 {
		_ = c.m.o.Store.Send(func(tx *store.Tx) error { return tx.PutRows(id, rows...) }, nil)
	}
	for _, l := range c.tl.lines {
		if l.unsaved && len(l.buf) <= 256<<10 { // its time comes, also when nothing is added
			c.deadline(dlSave, l.savedAt.Add(4*c.m.o.SaveEvery))
			return
		}
	}
}

// saveNow makes the store hold every row, for a page that is read from it.
func (c *chat) saveNow(ctx context.Context) error {
	rows := c.unsaved(true)
	if len(rows) == 0 {
		return nil
	}
	return typed(c.m.o.Store.PutRows(ctx, c.id, rows...))
}

func (c *chat) unsaved(all bool) (rows []model.Row) {
	now := c.now()
	for _, l := range c.ordered() {
		if !l.unsaved || !all && !l.worthSaving(now, c.m.o.SaveEvery) {
			continue
		}
		rows = append(rows, l.full())
		l.unsaved, l.saved, l.savedAt = false, len(l.buf), now
	}
	return rows
}

// worthSaving says whether a streaming row is stored anew: a short one each time,
// one beyond 16 KiB every fourth time, a very long one when it grew by a fifth.
func (l *line) worthSaving(now time.Time, every time.Duration) bool {
	switch {
	case len(l.buf) > 256<<10:
		return len(l.buf) >= l.saved*6/5
	case len(l.buf) > 16<<10:
		return now.Sub(l.savedAt) >= 4*every
	}
	return true
}

// ordered are the lines in the order of their places.
func (c *chat) ordered() []*line {
	list := make([]*line, 0, len(c.tl.lines))
	for _, l := range c.tl.lines {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *line) int { return int(a.row.Seq - b.row.Seq) })
	return list
}

// wholeRunes cuts an unfinished character off the end.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
