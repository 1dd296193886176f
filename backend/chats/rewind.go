package chats

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// What a rewind takes back.
const (
	RewindConversation = "conversation"
	RewindFiles        = "files"
	RewindBoth         = "both"
)

// Rewind goes back to before a message of the person's: the conversation, the
// files, or both. Files come first: when they cannot be put back nothing else
// changes.
func (m *Manager) Rewind(ctx context.Context, id, itemID, what string) error {
	if what == "" {
		what = RewindConversation
	}
	if what != RewindConversation && what != RewindFiles && what != RewindBoth {
		return Fail(CodeInvalid, "What can go back is the %s, the %s or %s, not %q.", RewindConversation, RewindFiles, RewindBoth, what)
	}
	return m.errand(ctx, id, itemID, func(c *chat, row model.Row) *errand {
		e := &errand{do: func(ctx context.Context, l *link) error {
			conversation, can := l.session.(agent.Rewinder)
			if !can && what != RewindFiles {
				return Fail(CodeUnsupported, "This agent cannot go back.")
			}
			if what != RewindConversation {
				files, can := l.session.(agent.FileRewinder)
				if !can {
					return Fail(CodeUnsupported, "This agent cannot put files back.")
				}
				done, err := files.RewindFiles(ctx, row.NativeID)
				if err == nil && !done.Possible {
					return Fail(CodeUnsupported, "The files were not put back: %s", done.WhyNot)
				}
				if err != nil {
					return &Error{Code: CodeUnsupported, Message: "The files were not put back: " + err.Error(), cause: err}
				}
			}
			if what == RewindFiles {
				return nil
			}
			if err := conversation.Rewind(ctx, row.NativeID); err != nil {
				return &Error{Code: CodeUnsupported, Message: "The agent did not go back: " + err.Error(), cause: err}
			}
			return nil
		}}
		e.done = func(err error) error {
			switch {
			case err != nil:
				return err
			case what == RewindFiles:
				c.putRows([]model.Row{c.addRow(agent.Item{
					ID: "files-back-" + itoa(c.now().UnixNano()), Type: agent.ItemNotice, Level: agent.LevelInfo, At: c.now().UnixMilli(),
					Text: "The files that the agent changed were put back to how they were before: " + firstWords(row.Text),
				})})
				return nil
			}
			return c.cutRows(row.Seq)
		}
		return e
	})
}

// firstWords shortens a message for a line that names it.
func firstWords(text string) string {
	if t := trimTitle(text); t != "" {
		return t
	}
	return "a message without text"
}

// RewindPreview is what going back to before a message would do. Files is nil
// when the agent cannot put files back.
type RewindPreview struct {
	Conversation bool
	WhyNot       string
	Rows         int64
	Files        *agent.FileRewind
}

// PreviewRewind tells what [Manager.Rewind] would do and changes nothing. A
// sleeping agent is started for it: only the agent knows its files.
func (m *Manager) PreviewRewind(ctx context.Context, id, itemID string) (RewindPreview, error) {
	p := &RewindPreview{}
	err := m.errand(ctx, id, itemID, func(c *chat, row model.Row) *errand {
		e := &errand{do: func(ctx context.Context, l *link) error {
			if _, p.Conversation = l.session.(agent.Rewinder); !p.Conversation {
				p.WhyNot = "This agent cannot go back."
			}
			files, can := l.session.(agent.FileRewinder)
			if !can {
				return nil
			}
			would, err := files.PreviewRewind(ctx, row.NativeID)
			if err != nil {
				would = agent.FileRewind{WhyNot: err.Error()}
			}
			p.Files = &would
			return nil
		}}
		e.done = func(err error) error {
			p.Rows = c.tl.last - row.Seq + 1
			return err
		}
		return e
	})
	if err != nil {
		return RewindPreview{}, err // the agent may still be writing to p
	}
	return *p, nil
}

// errand lets the agent do something about a message of the person's.
func (m *Manager) errand(ctx context.Context, id, itemID string, what func(*chat, model.Row) *errand) error {
	c, err := m.chat(ctx, id)
	if err != nil {
		return err
	}
	out := make(chan error, 1)
	if err := c.do(ctx, func() {
		row, err := c.messageRow(itemID)
		if err != nil {
			out <- err
			return
		}
		e := what(c, row)
		e.out = out
		c.errand = e
		c.pump()
	}); err != nil {
		return err
	}
	_, err = await(ctx, c, out, func(e error) (struct{}, error) { return struct{}{}, e })
	return err
}

// messageRow finds the message of the person's that the chat may go back to now.
func (c *chat) messageRow(itemID string) (model.Row, error) {
	row, err := c.m.o.Store.Row(c.ctx, c.id, itemID)
	switch {
	case err != nil:
		return row, typed(err)
	case row.Type != agent.ItemUser:
		return row, Fail(CodeInvalid, "Only a message of yours can be gone back to.")
	case row.NativeID == "":
		return row, Fail(CodeBusy, "The agent has not named this message yet; try again in a moment.")
	case c.busy() || !c.sendable():
		return row, Fail(CodeBusy, "Going back waits for the end of the turn.")
	case c.errand != nil:
		return row, Fail(CodeBusy, "The chat is going back already.")
	}
	return row, nil
}

// errand is something the agent does for a person between turns. It passes the
// same gate as a prompt: the ownership probe, the start of a sleeping agent, and
// nothing else is sent while it runs.
type errand struct {
	do   func(context.Context, *link) error
	done func(error) error // on the chat's goroutine, once do was tried; may change the outcome
	out  chan error        // gets exactly one value
}

// finish ends an errand with what became of it.
func (e *errand) finish(err error) { e.out <- e.done(err) }

// dropErrand ends an errand that did not come to run.
func (c *chat) dropErrand(err error) {
	if e := c.errand; e != nil {
		c.errand = nil
		e.finish(err)
	}
}

// runErrand hands the errand to the agent.
func (c *chat) runErrand() {
	e, l := c.errand, c.live
	c.errand = nil
	c.call(l, func(ctx context.Context) (any, error) { return nil, e.do(ctx, l) }, func(_ any, err error) {
		e.finish(err)
		if l == c.live {
			c.step(hapEnded)
			c.rest()
		}
	})
}

// cutRows forgets every row from seq on.
func (c *chat) cutRows(seq int64) error {
	if err := c.m.o.Store.DeleteRows(c.ctx, c.id, seq); err != nil {
		return typed(err)
	}
	for id, at := range c.tl.known {
		if at >= seq {
			delete(c.tl.known, id)
		}
	}
	c.tl.last = seq - 1
	clear(c.tl.lines)
	c.publish(eventRemoveRows, RemovedRows{From: seq})
	return nil
}
