package chats

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

type setAnswer struct {
	notice *agent.Notice
	err    error
}

// set changes one setting of the chat: model, mode, thinking, title, archived,
// autoMode or feature:<id>. out gets exactly one value.
func (c *chat) set(name string, value json.RawMessage, out chan setAnswer) {
	text := func() (string, bool) {
		var s string
		err := json.Unmarshal(value, &s)
		return s, err == nil
	}
	flag := func() (bool, bool) {
		var b bool
		err := json.Unmarshal(value, &b)
		return b, err == nil
	}
	bad := func(what string) { out <- setAnswer{err: Fail(CodeInvalid, "%s takes %s.", name, what)} }
	done := func() {
		c.saveRecord()
		c.refresh()
		out <- setAnswer{}
	}
	switch feature, isFeature := strings.CutPrefix(name, "feature:"); {
	case name == "title":
		s, ok := text()
		if s = trimTitle(s); !ok || s == "" {
			bad("a text")
			return
		}
		c.rec.Title, c.extra.Titled = s, true
		c.tellTitle()
		done()
	case name == "archived":
		b, ok := flag()
		if !ok {
			bad("true or false")
			return
		}
		c.rec.Archived = b
		done()
	case name == "autoMode":
		b, ok := flag()
		if !ok {
			bad("true or false")
			return
		}
		if b && !c.m.o.Policy().AutoMode {
			out <- setAnswer{err: &Error{Code: CodeNotAllowed, Message: "The settings do not allow the automatic mode.", Fix: "whippletree settings set approvals.allowAutoMode true"}}
			return
		}
		c.rec.AutoMode = nil
		if b {
			c.rec.AutoMode = &model.AutoMode{On: true, Since: c.wall()}
		}
		c.publishDetail()
		done()
	case name == "model", name == "mode", name == "thinking":
		s, ok := text()
		if !ok {
			bad("a text")
			return
		}
		c.setAgent(name, s, out)
	case isFeature && feature != "":
		c.setFeature(feature, value, out)
	default:
		out <- setAnswer{err: Fail(CodeInvalid, "A chat has no setting %q.", name)}
	}
}

func (c *chat) setAgent(name, value string, out chan setAnswer) {
	if c.phase == phOpening { // the start has its values already
		c.whenOpen = append(c.whenOpen, func() { c.setAgent(name, value, out) })
		return
	}
	keep := func() {
		switch name {
		case "model":
			c.rec.Model = value
		case "mode":
			c.rec.Mode = value
		case "thinking":
			c.rec.Thinking = value
		}
		c.saveRecord()
		c.refresh()
	}
	s := c.session()
	if s == nil {
		keep() // taken when the agent is started
		out <- setAnswer{}
		return
	}
	var do func(context.Context) (*agent.Notice, error)
	if s, ok := s.(agent.ModelSetter); ok && name == "model" {
		do = func(ctx context.Context) (*agent.Notice, error) { return s.SetModel(ctx, value) }
	}
	if s, ok := s.(agent.ModeSetter); ok && name == "mode" {
		do = func(ctx context.Context) (*agent.Notice, error) { return s.SetMode(ctx, value) }
	}
	if s, ok := s.(agent.ThinkingSetter); ok && name == "thinking" {
		do = func(ctx context.Context) (*agent.Notice, error) { return s.SetThinking(ctx, value) }
	}
	c.apply(do, keep, out)
}

func (c *chat) setFeature(id string, value json.RawMessage, out chan setAnswer) {
	if c.phase == phOpening {
		c.whenOpen = append(c.whenOpen, func() { c.setFeature(id, value, out) })
		return
	}
	keep := func() {
		f := maps.Clone(c.rec.Features)
		if f == nil {
			f = map[string]json.RawMessage{}
		}
		f[id] = value
		c.rec.Features = f
		c.saveRecord()
	}
	if c.session() == nil {
		keep()
		out <- setAnswer{}
		return
	}
	var do func(context.Context) (*agent.Notice, error)
	if s, ok := c.session().(agent.FeatureSetter); ok {
		do = func(ctx context.Context) (*agent.Notice, error) { return s.SetFeature(ctx, id, value) }
	}
	c.apply(do, keep, out)
}

// apply tells the living agent. One that cannot change it while it lives is
// let go of when idle: the next prompt starts it with the new value.
func (c *chat) apply(do func(context.Context) (*agent.Notice, error), keep func(), out chan setAnswer) {
	if do == nil {
		switch {
		case c.busy():
			out <- setAnswer{err: Fail(CodeBusy, "This agent can change it only between turns.")}
		case c.rec.Handle == nil:
			out <- setAnswer{err: Fail(CodeUnsupported, "This agent cannot change it in a chat that has begun.")}
		default:
			keep()
			c.forget()
			out <- setAnswer{}
		}
		return
	}
	l := c.live
	c.call(l, func(ctx context.Context) (any, error) { return do(ctx) }, func(v any, err error) {
		if err != nil {
			out <- setAnswer{err: &Error{Code: CodeUnsupported, Message: "The agent did not take it: " + err.Error(), cause: err}}
			return
		}
		keep()
		n, _ := v.(*agent.Notice)
		out <- setAnswer{notice: n}
	})
}
