package chats

import (
	"context"
	"slices"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// Mirrored is a batch of what a transcript says, in order.
type Mirrored struct {
	Items    []agent.Item
	State    *agent.MirrorState
	Position *agent.Position
	// Via is terminal for rows written elsewhere, "" for an import.
	Via string
}

// ApplyMirror puts mirrored rows into the timeline: known ones are replaced
// where they changed, new ones follow in order. It answers how many were new.
func (m *Manager) ApplyMirror(ctx context.Context, chatID string, b Mirrored) (fresh int, err error) {
	err = m.with(ctx, chatID, func(c *chat) error {
		fresh, err = c.applyMirror(b)
		return err
	})
	return fresh, err
}

func (c *chat) applyMirror(b Mirrored) (int, error) {
	if c.busy() && handApp(c.rec.Hand) { // a look at the transcript that comes too late: the running turn owns its rows
		c.lookAgain = true
		return 0, Fail(CodeBusy, "The transcript is read when the turn has ended.")
	}
	if err := c.loadUsers(); err != nil {
		return 0, err
	}
	var rows []model.Row
	at := map[string]int{} // of an id in rows
	fresh := 0
	for _, it := range b.Items {
		if len(agent.ValidateItem(it)) > 0 && (it.ID == "" || agent.UTF16Len(it.ID) > agent.LimitID) {
			c.tl.late++
			continue
		}
		it = unattach(it)
		if it.Type == agent.ItemUser {
			if id := c.userRow(it); id != "" {
				c.echoed(it)
				continue
			}
			c.found(it)
		}
		if i, ok := at[it.ID]; ok {
			rows[i].Item, rows[i].Provisional = it, it.Open()
			continue
		}
		row := model.Row{Item: it, Via: b.Via, Provisional: it.Open()}
		if _, ok := c.tl.known[it.ID]; ok {
			old, err := c.m.o.Store.Row(c.ctx, c.id, it.ID)
			if err != nil {
				return fresh, typed(err)
			}
			if agent.SameRow(old.Item, it) && old.Provisional == row.Provisional {
				continue
			}
			row.Seq, row.Turn, row.Via = old.Seq, old.Turn, old.Via
		} else {
			fresh++
			if it.Type == agent.ItemUser && it.ParentID == "" {
				c.turn.n++
				for _, key := range []string{it.ClientID, it.NativeID, it.ID} {
					if key != "" {
						c.tl.byUser[key] = it.ID
					}
				}
			}
			row = c.addRow(it)
			row.Via, row.Provisional = b.Via, it.Open()
		}
		at[it.ID] = len(rows)
		rows = append(rows, row)
	}
	if b.State != nil {
		c.mirrorState(*b.State, b.Via != "")
	}
	if b.Position != nil {
		c.rec.Applied = *b.Position
	}
	rec, id := c.record(), c.id
	err := c.m.o.Store.Do(c.ctx, func(tx *store.Tx) error {
		if err := tx.PutRows(id, rows...); err != nil {
			return err
		}
		return tx.PutChat(rec)
	})
	if err != nil {
		c.storeFault(err)
		return fresh, typed(err)
	}
	for _, row := range rows {
		c.publish(eventRow, shown(row))
	}
	if fresh > 0 {
		c.rec.UpdatedAt = c.m.used()
	}
	c.refresh()
	return fresh, nil
}

// promptID is the native id of a prompt of ours, where the harness can tell it.
func (c *chat) promptID(clientID string) string {
	h, _, _ := c.m.o.Harnesses.Harness(c.rec.Harness)
	n, ok := h.Handover.(agent.PromptNamer)
	if !ok || c.rec.Handle == nil {
		return ""
	}
	return n.PromptID(*c.rec.Handle, clientID)
}

// echoed is echo without a running turn: the prompt was seen in the transcript,
// so a delivery that a crash left unknown is known now.
func (c *chat) echoed(it agent.Item) {
	id := c.userRow(it)
	native := it.NativeID
	if native == "" {
		native = it.ID
	}
	c.tl.byUser[native], c.tl.byUser[it.ID] = id, id
	row, err := c.m.o.Store.Row(c.ctx, c.id, id)
	if err != nil {
		return
	}
	if row.NativeID == "" {
		row.NativeID = native
		c.putRows([]model.Row{row})
	}
	if e := c.entry(row.ClientID); e != nil && e.State == model.QueueUnknown {
		c.setQueue(row.ClientID, model.QueueAccepted, "")
	}
}

// found settles a message whose delivery was unknown and that has no row of ours
// yet: the transcript shows it.
func (c *chat) found(it agent.Item) {
	for _, e := range c.queue {
		if e.State == model.QueueUnknown && (it.ClientID == e.ClientID || it.NativeID != "" && c.promptID(e.ClientID) == it.NativeID) {
			c.setQueue(e.ClientID, model.QueueAccepted, "")
			return
		}
	}
}

// lookUp has the transcript read for messages whose delivery is unknown, once the
// chat is idle.
func (c *chat) lookUp() {
	f, ok := c.m.guard().(Finder)
	unknown := slices.ContainsFunc(c.queue, func(e model.QueueEntry) bool { return e.State == model.QueueUnknown })
	if !ok || !c.lookAgain || c.busy() || !handApp(c.rec.Hand) {
		return
	}
	c.lookAgain = false
	if unknown {
		f.LookUp(c.id)
	}
}

// Finder is a Guard that reads a chat's transcript, beside the caller, to learn
// the fate of prompts whose delivery is unknown.
type Finder interface{ LookUp(chatID string) }

// mirrorState takes what a transcript says beside its rows. elsewhere says that it
// is read for what was done in a terminal: model and mode of our own turns are
// known better than the transcript tells.
func (c *chat) mirrorState(s agent.MirrorState, elsewhere bool) {
	if s.Title != "" && !c.extra.Titled {
		c.rec.Title = trimTitle(s.Title)
	}
	if s.Model != "" && elsewhere {
		c.rec.Model = s.Model
	}
	if s.Mode != "" && elsewhere {
		c.rec.Mode = s.Mode
	}
	if s.Status != "" {
		c.mirrored = model.SessionState(s.Status)
		c.askedElsewhere(s.Status == agent.StatusWaiting && c.rec.Hand.State == model.HandMirror)
	}
	hand := c.rec.Hand
	hand.Branches = s.Branches
	c.rec.Hand = hand
}

// Unknown lists prompts whose delivery a crash left open.
func (m *Manager) Unknown(ctx context.Context, chatID string) (ids []string, err error) {
	err = m.with(ctx, chatID, func(c *chat) error {
		for _, e := range c.queue {
			if e.State == model.QueueUnknown {
				ids = append(ids, e.ClientID)
			}
		}
		return nil
	})
	return ids, err
}
