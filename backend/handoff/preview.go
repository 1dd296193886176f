package handoff

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
)

// placeApp is a tab of ours.
const placeApp = "app"

// Preview is what the dialog shows before anything happens.
func (m *Manager) Preview(ctx context.Context, chatID string) (model.HandoffPreview, error) {
	rel, busy, err := m.o.Chats.Inspect(ctx, chatID)
	if err != nil {
		return model.HandoffPreview{}, err
	}
	p := model.HandoffPreview{Running: busy, Places: m.places()}
	h, err := m.possible(rel)
	if err != nil {
		p.Why = err.Error()
		return p, nil
	}
	cmd, lost, err := m.command(ctx, h, rel)
	if err != nil {
		p.Why = err.Error()
		return p, nil
	}
	p.Command, p.Lost, p.Printed = cmd, lost, Printed(cmd)
	switch {
	case rel.Hand.State != model.HandApp && rel.Hand.State != "":
		p.Why = "The session is not the app's now."
	case rel.Hand.Pending != nil:
		p.Why = "It is going to a terminal already, after this turn."
	case busy:
		p.Why = "The agent is working: continue after this turn, or stop and continue."
	default:
		p.CanNow = true
	}
	return p, nil
}

func (m *Manager) places() []model.PlaceChoice {
	list := []model.PlaceChoice{}
	if m.o.Tabs != nil {
		list = append(list, model.PlaceChoice{ID: placeApp, Label: "A tab here", Default: true})
	}
	if m.o.Natives != nil {
		for _, c := range m.o.Natives.Choices() {
			c.Default = c.Default && len(list) == 0
			list = append(list, c)
		}
	}
	return list
}

// possible says why a chat can never be handed over, if so.
func (m *Manager) possible(rel chats.Released) (agent.Harness, error) {
	h, err := m.handover(rel.Harness)
	switch {
	case rel.Kind == agent.KindConfined:
		return h, chats.Fail(chats.CodeUnsupported, "A confined chat keeps no session of the agent and cannot be continued in a terminal.")
	case err != nil:
		return h, err
	case rel.Handle.NativeID == "":
		return h, chats.Fail(chats.CodeUnsupported, "The agent has no session yet. Send it a message first.")
	}
	if st, err := os.Stat(rel.Cwd); err != nil || !st.IsDir() {
		return h, chats.Fail(chats.CodeUnavailable, "The folder %s is not there any more.", rel.Cwd)
	}
	return h, nil
}

func (m *Manager) command(ctx context.Context, h agent.Harness, rel chats.Released) (agent.Command, []string, error) {
	o := m.o.Overrides(rel.Harness)
	cmd, lost, err := h.Handover.TerminalCommand(ctx, agent.TerminalRequest{Handle: rel.Handle, Mode: rel.Mode, Model: rel.Model,
		Thinking: rel.Thinking, Binary: o.Binary, Args: o.Args})
	if err == nil && len(cmd.Argv) == 0 {
		err = errors.New("the agent names no command")
	}
	if cmd.Cwd == "" {
		cmd.Cwd = rel.Cwd
	}
	return cmd, lost, err
}

// Printed is the command as a line for a POSIX shell, quoted once.
func Printed(cmd agent.Command) string {
	var words []string
	if cmd.Cwd != "" {
		words = append(words, "cd", "--", quote(cmd.Cwd), "&&")
	}
	names := make([]string, 0, len(cmd.Env))
	for k := range cmd.Env {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		words = append(words, k+"="+quote(cmd.Env[k]))
	}
	for _, a := range cmd.Argv {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

func quote(s string) string {
	if q, err := syntax.Quote(s, syntax.LangPOSIX); err == nil {
		return q
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
}
