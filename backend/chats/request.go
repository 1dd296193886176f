package chats

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// request is what the agent is started with. What costs time (private folder,
// trust, servers, the transcript of a rebuilt context) is filled in beside the
// chat's goroutine.
type request struct {
	agent.OpenRequest
	harness string
	rebuilt bool
	fault   error // of the person's settings
}

func (c *chat) request() *request {
	c.fallBack()
	r := &request{harness: c.rec.Harness, OpenRequest: agent.OpenRequest{
		ChatID: c.id, Kind: c.rec.Kind, WorkingDirectory: c.rec.Cwd,
		Model: c.rec.Model, Mode: c.rec.Mode, Thinking: c.rec.Thinking, Features: c.rec.Features, Options: c.rec.Options,
	}}
	o := c.m.o.Overrides(c.rec.Harness)
	r.Binary, r.Args, r.Env, r.fault = o.Binary, o.Args, o.Env, o.Err
	if c.rec.Kind == agent.KindWorkspace {
		r.Resume = c.rec.Handle
	} else if c.turn.n > 1 {
		r.rebuilt = true
	}
	return r
}

func (r *request) complete(ctx context.Context, m *Manager, h agent.Harness) error {
	if r.fault != nil {
		return &Error{
			Code: CodeUnavailable, Message: "The settings of " + h.Identity.DisplayName + " cannot be used: " + r.fault.Error() + ".",
			Fix: "whippletree doctor", cause: r.fault,
		}
	}
	var err error
	r.Instruction = m.o.Instruction(r.ChatID, r.Kind)
	if r.Kind == agent.KindConfined {
		if r.WorkingDirectory, err = m.privateDir(r.ChatID); err != nil {
			return fmt.Errorf("the chat's private folder: %w", err)
		}
		if r.rebuilt {
			r.Instruction, err = m.rebuild(ctx, r.ChatID, r.Instruction)
			if err != nil {
				return err
			}
		}
	} else {
		if st, err := os.Stat(r.WorkingDirectory); err != nil || !st.IsDir() {
			return &Error{Code: CodeUnavailable, Message: "The folder " + r.WorkingDirectory + " is not there any more.", Fix: "mkdir -p " + quote(r.WorkingDirectory)}
		}
		q, err := m.question(ctx, h, r.WorkingDirectory)
		if err != nil {
			return err
		}
		// What a folder starts by itself stays off until a person allowed it.
		r.ProjectSourcesOff = q.State != "trusted" && (q.State == "untrusted" || len(q.Starts) > 0)
	}
	if r.MCPServers, err = m.o.Servers(ctx, r.ChatID, r.Kind); err != nil {
		return fmt.Errorf("the app's own tools for the agent: %w", err)
	}
	return nil
}

func (m *Manager) privateDir(chatID string) (string, error) {
	if m.o.PrivateDir == nil {
		return "", fmt.Errorf("none is configured")
	}
	return m.o.PrivateDir(chatID)
}

// rebuild gives a new process of a confined chat, which keeps no session of its
// own, the end of the conversation as far as an instruction can hold it.
func (m *Manager) rebuild(ctx context.Context, chatID, instruction string) (string, error) {
	rows, err := m.o.Store.Tail(ctx, chatID, 60)
	if err != nil {
		return "", err
	}
	const head = "\n\nThe conversation so far, shortened (your process was restarted):\n"
	room := agent.LimitInstruction - agent.UTF16Len(instruction) - len(head)
	var parts []string
	for i := len(rows) - 1; i >= 0; i-- {
		var who string
		switch rows[i].Type {
		case agent.ItemUser:
			who = "Person: "
		case agent.ItemText:
			who = "You: "
		default:
			continue
		}
		if rows[i].Provisional || (i == len(rows)-1 && rows[i].Type == agent.ItemUser) {
			continue // the prompt that is about to be sent
		}
		part := who + rows[i].Text + "\n"
		n := agent.UTF16Len(part)
		if n > room {
			break
		}
		room -= n
		parts = append([]string{part}, parts...)
	}
	if len(parts) == 0 {
		return instruction, nil
	}
	return instruction + head + strings.Join(parts, ""), nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// question tells what a folder would start and whether a person allowed it.
func (m *Manager) question(ctx context.Context, h agent.Harness, cwd string) (model.TrustQuestion, error) {
	root := m.o.Project(cwd).Root
	if root == "" {
		root = cwd
	}
	q := model.TrustQuestion{Cwd: cwd, Root: root, State: "unknown", Starts: []agent.ProjectStart{}}
	state, err := m.trustOf(ctx, cwd)
	if err != nil {
		return q, err
	}
	if state != "" {
		q.State = state
	}
	if p, ok := h.Provider.(agent.ProjectStarter); ok {
		starts, err := p.ProjectStarts(ctx, cwd)
		if err != nil {
			return q, fmt.Errorf("what the folder would start: %w", err)
		}
		q.Starts = append(q.Starts, starts...)
	}
	q.Needed = q.State == "unknown" && len(q.Starts) > 0
	return q, nil
}

// trustOf is the decision for a folder: its own, else its project root's; "" when
// nobody was asked.
func (m *Manager) trustOf(ctx context.Context, cwd string) (string, error) {
	state, err := m.o.Store.Trust(ctx, cwd)
	if err != nil || state != "" {
		return state, typed(err)
	}
	state, err = m.o.Store.Trust(ctx, m.o.Project(cwd).Root)
	return state, typed(err)
}

// TrustCheck tells what a folder would start by itself and whether it is
// allowed to.
func (m *Manager) TrustCheck(ctx context.Context, harness, cwd string) (model.TrustQuestion, error) {
	h, _, ok := m.o.Harnesses.Harness(harness)
	if !ok {
		return model.TrustQuestion{}, Fail(CodeNotFound, "No agent %q is known here.", harness)
	}
	return m.question(ctx, h, cwd)
}

// TrustGrant stores a person's decision for the project of a folder; state is
// trusted or untrusted.
func (m *Manager) TrustGrant(ctx context.Context, who Caller, cwd, state string) (model.TrustQuestion, error) {
	if err := m.o.MayAnswer(who); err != nil {
		return model.TrustQuestion{}, err
	}
	if state != "trusted" && state != "untrusted" {
		return model.TrustQuestion{}, Fail(CodeInvalid, "A folder is trusted or untrusted, not %q.", state)
	}
	root := m.o.Project(cwd).Root
	if root == "" {
		root = cwd
	}
	if err := m.o.Store.SetTrust(ctx, root, state); err != nil {
		return model.TrustQuestion{}, typed(err)
	}
	return model.TrustQuestion{Cwd: cwd, Root: root, State: state, Starts: []agent.ProjectStart{}}, nil
}
