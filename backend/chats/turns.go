package chats

import (
	"strconv"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// begin numbers a prompted turn and stores it with its prompt, in one
// transaction, before the agent gets to see it.
func (c *chat) begin() bool {
	if c.errand != nil {
		return true // no turn
	}
	e := c.entry(c.sending)
	now := c.wall()
	c.newTurn(agent.OriginPrompt, now)
	c.turn.client = c.sending
	row := c.userItem(e)
	c.rec.UpdatedAt = c.m.used()
	c.rec.Hand.Note = "" // what happened to the hand-over is seen by now
	if c.rec.Title == "" {
		c.rec.Title = trimTitle(e.Text)
	}
	rec, id, t := c.record(), c.id, store.Turn{Turn: c.turn.n, Origin: agent.OriginPrompt, ClientID: c.sending, StartedAt: now}
	err := c.m.o.Store.Do(c.ctx, func(tx *store.Tx) error {
		if _, err := tx.ClaimQueued(id, t.ClientID); err != nil {
			return err
		}
		if err := tx.OpenTurn(id, t); err != nil {
			return err
		}
		if _, err := tx.PutRow(id, row); err != nil {
			return err
		}
		return tx.PutChat(rec)
	})
	if err != nil {
		// Nothing was stored, so nothing is sent: the opening is given up.
		c.storeFault(err)
		c.turn.open = false
		c.turn.n--
		c.tl.last--
		delete(c.tl.known, row.ID)
		clear(c.tl.lines)
		c.held = true
		c.park(typed(err).Error())
		return false
	}
	e.State = model.QueueSending
	c.answer(Sent{State: model.QueueSending, Turn: c.turn.n}, nil)
	c.publish(eventTurn, TurnChanged{Turn: c.turn.n, Origin: agent.OriginPrompt, State: model.TurnOpening, At: now})
	c.publish(eventRow, shown(row))
	c.publishQueue()
	return true
}

func (c *chat) newTurn(origin agent.TurnOrigin, now int64) {
	c.turn = turn{n: c.turn.n + 1, open: true, origin: origin, startedAt: now, began: c.now(), implicit: c.turn.implicit && origin == agent.OriginAgent}
	c.owedErr, c.suspect = "", false
	c.deadline(dlIdle, noTime)
}

// userItem makes the row of a prompt. A prompt that is sent again after a
// refusal gets a row of its own.
func (c *chat) userItem(e *model.QueueEntry) model.Row {
	id := "user-" + e.ClientID
	for n := 2; ; n++ {
		if _, taken := c.tl.known[id]; !taken {
			break
		}
		id = "user-" + e.ClientID + "-" + strconv.Itoa(n)
	}
	c.tl.byUser[e.ClientID] = id
	row := c.addRow(agent.Item{ID: id, Type: agent.ItemUser, At: c.wall(), Text: e.Text, Attachments: e.Attachments, ClientID: e.ClientID})
	l := &line{row: row, buf: []byte(row.Text), announced: true}
	l.row.Text = ""
	l.sent = len(l.buf)
	c.tl.lines[id] = l
	return row
}

// beginAgent numbers a turn of the agent's own.
func (c *chat) beginAgent() {
	now := c.wall()
	c.newTurn(agent.OriginAgent, now)
	c.turn.accepted = true
	t := store.Turn{Turn: c.turn.n, Origin: agent.OriginAgent, StartedAt: now}
	if err := c.m.o.Store.OpenTurn(c.ctx, c.id, t); err != nil {
		c.storeFault(err)
	}
	c.publish(eventTurn, TurnChanged{Turn: c.turn.n, Origin: agent.OriginAgent, State: model.TurnRunning, At: now})
	c.listen()
}

// evidence says that the agent has the prompt: whatever it does in the turn
// shows it. The queue lets go of the prompt, its row stays.
func (c *chat) evidence() {
	if c.turn.accepted || !c.turn.open || c.phase == phOpening || c.phase == phAborting {
		return
	}
	c.turn.accepted = true
	if c.turn.client != "" {
		c.setQueue(c.turn.client, model.QueueAccepted, "")
	}
}

// end gives the turn its one end: open rows are closed first, the approvals
// withdrawn, all of it stored in one transaction, then shown.
func (c *chat) end(end agent.TurnEnd) {
	if c.errand != nil {
		c.dropErrand(Fail(CodeUnavailable, "%s", end.Text))
		return
	}
	if !c.turn.open {
		c.tl.late++
		return
	}
	if end.Outcome == agent.OutcomeCanceled && c.ending {
		end = c.canceledEnd()
	}
	c.turn.open = false
	c.withdrawAll()
	now := c.turnEnded()
	rows := c.closeLines(closedState(end.Outcome), now)
	if row, ok := c.endRow(end); ok {
		rows = append(rows, row)
	}
	c.rec.LastEnd, c.rec.UpdatedAt, c.rec.Unread = &end, c.m.used(), true
	rec, id, n := c.record(), c.id, c.turn.n
	client, accepted := c.turn.client, c.turn.accepted
	err := c.m.o.Store.DoUrgent(c.ctx, func(tx *store.Tx) error {
		if err := tx.PutRows(id, rows...); err != nil {
			return err
		}
		if err := tx.EndTurn(id, n, end, now.UnixMilli()); err != nil {
			return err
		}
		return tx.PutChat(rec)
	})
	if err != nil {
		c.storeFault(err)
	}
	if client != "" && !accepted {
		// It was handed over and then stopped or lost: the row tells of it, and
		// sending it again is a person's decision.
		c.turn.accepted = true
		c.setQueue(client, model.QueueAccepted, "")
	}
	for _, row := range rows {
		c.publish(eventRow, shown(row))
	}
	c.tellTitle()
	c.finish(end)
}

// turnEnded is when the running turn ends: as long after its beginning as it
// took, whatever was done to the clock.
func (c *chat) turnEnded() time.Time {
	return time.UnixMilli(c.turn.startedAt).Add(max(0, c.now().Sub(c.turn.began)))
}

func (c *chat) finish(end agent.TurnEnd) {
	now := c.turnEnded()
	clear(c.tl.lines)
	c.tl.dirty = nil
	c.due[dlFrame], c.due[dlSave], c.due[dlSilence], c.due[dlAnswer] = noTime, noTime, noTime, noTime
	c.silent = 0
	c.sending = ""
	c.rest()
	c.lookUp()
	c.publish(eventTurn, TurnChanged{Turn: c.turn.n, Origin: c.turn.origin, State: model.TurnIdle, At: now.UnixMilli(), End: &end})
}

// refuse ends a turn whose prompt the agent did not take: the prompt stays in
// the queue as failed and the ones behind it wait for a person.
func (c *chat) refuse(end agent.TurnEnd) {
	if c.errand != nil {
		c.dropErrand(&Error{Code: CodeUnavailable, Message: end.Text, Fix: end.Fix})
		return
	}
	client := c.turn.client
	c.held = true
	was := c.turn.open
	if was && client != "" && !c.turn.accepted {
		c.turn.accepted = true
		c.setQueue(client, model.QueueFailed, end.Text)
	}
	c.end(end)
}

// endRow makes the row that keeps a bad end visible at its place.
func (c *chat) endRow(end agent.TurnEnd) (model.Row, bool) {
	id := "end-" + strconv.FormatInt(c.turn.n, 10)
	if _, taken := c.tl.known[id]; taken {
		return model.Row{}, false
	}
	it := agent.Item{ID: id, At: c.wall()}
	switch end.Outcome {
	case agent.OutcomeFailed:
		if c.turn.errorShown {
			return model.Row{}, false
		}
		it.Type, it.Reason, it.Text = agent.ItemError, end.Reason, end.Text
		if it.Text == "" {
			it.Text = "The turn failed."
		}
	case agent.OutcomeInterrupted:
		it.Type, it.Level, it.Text = agent.ItemNotice, agent.LevelWarning, end.Text
	default:
		return model.Row{}, false
	}
	return c.addRow(it), true
}

func closedState(o agent.Outcome) agent.ItemState {
	switch o {
	case agent.OutcomeCompleted:
		return agent.StateCompleted
	case agent.OutcomeFailed:
		return agent.StateFailed
	}
	return agent.StateCanceled
}

func trimTitle(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	r := []rune(s)
	if len(r) > 80 {
		return strings.TrimSpace(string(r[:79])) + "…"
	}
	return s
}
