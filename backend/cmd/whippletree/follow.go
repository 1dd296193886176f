package main

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// watcher receives what happens in a chat, one call at a time. It must not call
// the client: what asks (an approval) is done beside it.
type watcher interface {
	row(model.Row)
	text(row model.Row, more string) // more was appended to row
	card(model.ApprovalCard)
	notice(agent.Notice)
}

// follower keeps the rows of a chat and tells a watcher what is new since it
// began, and when the turn of one prompt ended.
type follower struct {
	to     watcher
	prompt string // client id of the prompt that is waited for; "" = none

	mu    sync.Mutex
	rows  map[string]model.Row
	begun bool  // the first snapshot was taken
	turn  int64 // of the prompt, 0: not known yet
	ends  map[int64]agent.TurnEnd
	end   chan agent.TurnEnd
	done  bool
}

func newFollower(to watcher, prompt string) *follower {
	return &follower{to: to, prompt: prompt, rows: map[string]model.Row{}, ends: map[int64]agent.TurnEnd{}, end: make(chan agent.TurnEnd, 1)}
}

// start subscribes. show tells whether rows that are there already are told.
func (f *follower) start(ctx context.Context, c *api.Client, chatID string, show bool) error {
	_, err := c.Subscribe(ctx, api.TopicChat+chatID, api.Subscriber{
		Snapshot: func(raw json.RawMessage) { f.snapshot(raw, show) },
		Event:    f.event,
	})
	return err
}

func (f *follower) snapshot(raw json.RawMessage, show bool) {
	var c model.Chat
	if json.Unmarshal(raw, &c) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	told := f.begun || show
	f.begun = true
	for _, r := range c.Items {
		if told {
			f.take(r)
		} else {
			f.rows[r.ID] = r
			f.own(r)
		}
	}
	for _, card := range c.Approvals {
		if card.State == model.CardOpen {
			f.to.card(card)
		}
	}
	if f.turn != 0 && c.Turn == model.TurnIdle && c.LastEnd != nil {
		f.ends[f.turn] = *c.LastEnd
	}
	f.finish()
}

func (f *follower) event(e api.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e.Type {
	case api.EventRow:
		var r model.Row
		if json.Unmarshal(e.Data, &r) == nil {
			f.take(r)
		}
	case api.EventAppend:
		var a api.Appended
		if json.Unmarshal(e.Data, &a) == nil {
			f.append(a)
		}
	case api.EventApproval:
		var c model.ApprovalCard
		if json.Unmarshal(e.Data, &c) == nil {
			f.to.card(c)
		}
	case api.EventNotice:
		var n agent.Notice
		if json.Unmarshal(e.Data, &n) == nil {
			f.to.notice(n)
		}
	case api.EventQueue:
		var q []model.QueueEntry
		if json.Unmarshal(e.Data, &q) == nil {
			f.queue(q)
		}
	case api.EventTurn:
		var t api.TurnChanged
		if json.Unmarshal(e.Data, &t) == nil && t.End != nil {
			f.ends[t.Turn] = *t.End
		}
	}
	f.finish()
}

func (f *follower) take(r model.Row) {
	old, known := f.rows[r.ID]
	f.rows[r.ID] = r
	f.own(r)
	if known && len(r.Text) > len(old.Text) && r.Text[:len(old.Text)] == old.Text {
		f.to.text(r, r.Text[len(old.Text):])
	}
	f.to.row(r)
	if !known && r.Text != "" {
		f.to.text(r, r.Text)
	}
}

// own finds the turn of the prompt.
func (f *follower) own(r model.Row) {
	if r.Type == agent.ItemUser && r.ClientID == f.prompt && f.prompt != "" {
		f.turn = r.Turn
	}
}

func (f *follower) append(a api.Appended) {
	r, ok := f.rows[a.ID]
	if !ok {
		return
	}
	if r.Type == agent.ItemTool {
		r.Output += a.Text
		f.rows[a.ID] = r
		return
	}
	r.Text += a.Text
	f.rows[a.ID] = r
	f.to.text(r, a.Text)
}

// queue finds out that the prompt was not accepted.
func (f *follower) queue(q []model.QueueEntry) {
	for _, e := range q {
		if e.ClientID == f.prompt && e.State == model.QueueFailed {
			f.finishWith(agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: e.Error})
		}
	}
}

func (f *follower) finish() {
	if end, ok := f.ends[f.turn]; ok && f.turn != 0 {
		f.finishWith(end)
	}
}

func (f *follower) finishWith(end agent.TurnEnd) {
	if !f.done {
		f.done = true
		f.end <- end
	}
}

// wait returns how the prompt's turn ended.
func (f *follower) wait(ctx context.Context, c *api.Client) (agent.TurnEnd, error) {
	select {
	case end := <-f.end:
		return end, nil
	case <-c.Done():
		return agent.TurnEnd{Outcome: agent.OutcomeInterrupted, Text: "the host ended"}, nil
	case <-ctx.Done():
		return agent.TurnEnd{}, ctx.Err()
	}
}

// outcome is the exit of a command whose turn ended.
func outcome(end agent.TurnEnd) error {
	switch end.Outcome {
	case agent.OutcomeCompleted:
		return nil
	case agent.OutcomeCanceled:
		return &exitError{code: exitCanceled}
	case agent.OutcomeInterrupted:
		return fail(exitInterrupted, end.Fix, "the turn was interrupted: %s", orElse(end.Text, "the host ended"))
	}
	return fail(exitFailed, end.Fix, "the turn failed: %s", orElse(end.Text, end.Reason))
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
