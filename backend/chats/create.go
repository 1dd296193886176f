package chats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

type creation struct {
	done chan struct{}
	sum  model.ChatSummary
	err  error
}

// Create makes a chat. The same ClientID again gives the same chat, also when
// both calls run at once. ErrTrustNeeded carries the question.
func (m *Manager) Create(ctx context.Context, r CreateRequest) (model.ChatSummary, error) {
	if r.ClientID == "" {
		r.ClientID = uuid.NewString()
	}
	m.mu.Lock()
	if f := m.clients[r.ClientID]; f != nil {
		m.mu.Unlock()
		select {
		case <-f.done:
			return f.sum, f.err
		case <-ctx.Done():
			return model.ChatSummary{}, context.Cause(ctx)
		}
	}
	f := &creation{done: make(chan struct{})}
	m.clients[r.ClientID] = f
	m.mu.Unlock()
	f.sum, f.err = m.create(ctx, r)
	m.mu.Lock()
	delete(m.clients, r.ClientID)
	m.mu.Unlock()
	close(f.done)
	return f.sum, f.err
}

func (m *Manager) create(ctx context.Context, r CreateRequest) (model.ChatSummary, error) {
	if old, err := m.o.Store.ChatByClientID(ctx, r.ClientID); err == nil {
		if s, ok := m.Summary(old.ID); ok {
			return s, nil
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return model.ChatSummary{}, typed(err)
	}
	h, enabled, ok := m.o.Harnesses.Harness(r.Harness)
	switch {
	case !ok:
		return model.ChatSummary{}, Fail(CodeNotFound, "No agent %q is known here.", r.Harness)
	case !enabled:
		return model.ChatSummary{}, Fail(CodeUnavailable, "%s is switched off in Settings.", h.Identity.DisplayName)
	}
	if err := m.checkKind(ctx, &r, h); err != nil {
		return model.ChatSummary{}, err
	}
	if check, ok := h.Provider.(agent.OptionsChecker); ok && len(r.Options) > 0 {
		if issues := check.CheckOptions(r.Options); len(issues) > 0 {
			return model.ChatSummary{}, &Error{Code: CodeInvalid, Issues: issues,
				Message: fmt.Sprintf("The options of %s cannot be used: %s %s.", h.Identity.DisplayName, issues[0].Path, issues[0].Message)}
		}
	}
	if r.Adopt != nil {
		if s, ok := m.bySession(r.Adopt); ok {
			return s, nil // one chat per session
		}
	}
	now := m.used()
	rec := store.ChatRecord{
		ID: uuid.NewString(), ClientID: r.ClientID, Title: trimTitle(r.Title), Harness: r.Harness, Provider: h.ProviderID, Kind: r.Kind,
		Cwd: r.Cwd, Handle: r.Adopt, Model: r.Model, Mode: r.Mode, Thinking: r.Thinking, Features: r.Features, Options: r.Options,
		Hand: model.Hand{State: model.HandApp}, CreatedAt: now, UpdatedAt: now,
	}
	if rec.Title != "" {
		rec.Extra, _ = json.Marshal(extra{Titled: true})
	}
	if r.Adopt != nil {
		rec.Hand = model.Hand{State: model.HandReattaching, Since: now, Note: "The conversation is being read."}
	}
	stored, _, err := m.o.Store.CreateChat(ctx, rec)
	if err != nil {
		return model.ChatSummary{}, typed(err)
	}
	s := m.atRest(stored, 0)
	m.mu.Lock()
	m.listed[s.ID] = s
	m.mu.Unlock()
	m.o.Publisher.Publish(topicChats, eventUpsert, s)
	if a, ok := m.guard().(Adopter); ok && r.Adopt != nil {
		if err := a.Adopt(ctx, s.ID); err != nil {
			m.o.Log.Warn("a session could not be adopted", "chat", s.ID, "err", err)
		}
		if now, ok := m.Summary(s.ID); ok {
			s = now
		}
	}
	return s, nil
}

// Adopter is a Guard that also reads in sessions found elsewhere.
type Adopter interface {
	// Adopt looks who owns the session of a new chat, reads its rows and sets
	// its hand.
	Adopt(ctx context.Context, chatID string) error
}

func (m *Manager) checkKind(ctx context.Context, r *CreateRequest, h agent.Harness) error {
	if r.Adopt != nil {
		if r.Cwd == "" {
			r.Cwd = r.Adopt.Cwd
		}
		handle := *r.Adopt
		if handle.Harness = r.Harness; h.Extends != "" {
			handle.Harness = h.Extends
		}
		r.Adopt = &handle
		r.Kind = agent.KindWorkspace
		if handle.NativeID == "" {
			return Fail(CodeInvalid, "The session to open has no id.")
		}
		if h.Handover == nil {
			return Fail(CodeUnsupported, "Sessions of %s cannot be opened here.", h.Identity.DisplayName)
		}
	}
	if r.Kind == "" {
		if r.Kind = agent.KindWorkspace; r.Cwd == "" {
			r.Kind = agent.KindConfined
		}
	}
	if h.Provider == nil && r.Adopt == nil {
		return Fail(CodeUnsupported, "%s has no chats.", h.Identity.DisplayName)
	}
	if kinds := h.Traits.Kinds; len(kinds) > 0 && !slices.Contains(kinds, r.Kind) && r.Adopt == nil {
		return Fail(CodeUnsupported, "%s offers no %s chats.", h.Identity.DisplayName, r.Kind)
	}
	switch r.Kind {
	case agent.KindConfined:
		r.Cwd = ""
		return nil
	case agent.KindWorkspace:
	default:
		return Fail(CodeInvalid, "A chat is confined or workspace, not %q.", r.Kind)
	}
	if !filepath.IsAbs(r.Cwd) {
		return Fail(CodeInvalid, "The folder %q is not an absolute path.", r.Cwd)
	}
	r.Cwd = filepath.Clean(r.Cwd)
	if r.Adopt != nil {
		return nil // read first; trust is asked for before the first prompt starts an agent
	}
	if st, err := os.Stat(r.Cwd); err != nil || !st.IsDir() {
		return &Error{Code: CodeInvalid, Message: "There is no folder " + r.Cwd + ".", Fix: "mkdir -p " + quote(r.Cwd)}
	}
	q, err := m.question(ctx, h, r.Cwd)
	if err != nil {
		return &Error{Code: CodeUnavailable, Message: err.Error(), cause: err}
	}
	if q.Needed {
		return &Error{Code: CodeTrustNeeded, Message: "This folder would start programs of its own (" + names(q.Starts) + "). Decide first whether you trust it.", Trust: &q}
	}
	return nil
}

func names(starts []agent.ProjectStart) string {
	var list []string
	for i, s := range starts {
		if i == 3 {
			list = append(list, "...")
			break
		}
		list = append(list, s.Kind+" "+s.Name)
	}
	return strings.Join(list, ", ")
}
