package chats

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// A rule is an "always" of ours: it answers what allows once, for exactly one
// command or path of one tool in one project. The agent never learns of it.

// Rules lists the rules.
func (m *Manager) Rules() []model.ApprovalRule {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]model.ApprovalRule{}, m.rules...)
}

// RevokeRule takes a rule back. It is a person's to do.
func (m *Manager) RevokeRule(ctx context.Context, who Caller, id string) error {
	if err := m.o.MayAnswer(who); err != nil {
		return err
	}
	if err := m.o.Store.RemoveRule(ctx, id); err != nil {
		return typed(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = slices.DeleteFunc(m.rules, func(r model.ApprovalRule) bool { return r.ID == id })
	return nil
}

func (m *Manager) ruled(r model.ApprovalRule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = append(m.rules, r)
}

// offer says which rule a request could make; nil when none. There is one only
// where a person has nothing to choose: a tool, with one way to allow it once,
// that names its command or its path.
func (c *chat) offer(a agent.Approval) *model.RuleOffer {
	id := onlyOnce(a)
	l := c.tl.lines[a.ItemID]
	if id == "" || a.Preview == nil || l == nil || l.row.Name == "" {
		return nil
	}
	subject := a.Preview.Command
	if subject == "" {
		subject = a.Preview.Path
	}
	root := c.m.o.Project(c.rec.Cwd).Root
	if subject == "" || root == "" || c.rec.Kind != agent.KindWorkspace {
		return nil
	}
	return &model.RuleOffer{Project: root, Tool: l.row.Name, Pattern: subject, OptionID: id}
}

// ruleFor finds the rule that covers an offer: same project, agent and tool, and
// the exact command or path it was given for.
func (m *Manager) ruleFor(harness string, o *model.RuleOffer) string {
	if o == nil || !m.o.Policy().Rules {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rules {
		if r.Harness == harness && r.Project == o.Project && r.Tool == o.Tool && r.Pattern == o.Pattern {
			return r.ID
		}
	}
	return ""
}

// rule makes the rule of an answer that is to be remembered.
func (c *chat) rule(card model.ApprovalCard, r Answer) (*model.ApprovalRule, error) {
	o := card.Remember
	switch {
	case !r.Remember:
		return nil, nil
	case !c.m.o.Policy().Rules:
		return nil, &Error{Code: CodeNotAllowed, Message: "The settings do not allow remembered answers.", Fix: "whippletree settings set approvals.allowRules true"}
	case o == nil:
		return nil, Fail(CodeInvalid, "Nothing can be remembered of this request: it is no tool with one command or path and one way to allow it once.")
	case r.Answer.OptionID != o.OptionID:
		return nil, Fail(CodeInvalid, "Only the answer %q can be remembered: it allows this once.", o.OptionID)
	}
	return &model.ApprovalRule{
		ID: uuid.NewString(), Project: o.Project, Harness: c.rec.Harness, Tool: o.Tool, Pattern: o.Pattern, At: c.wall(),
	}, nil
}

// Audit lists cards with how they ended, newest first, at most limit (200 when
// 0, 1000 at most) of those after cursor; next is "" at the end.
func (m *Manager) Audit(ctx context.Context, cursor string, limit int) (list []model.ApprovalCard, next string, err error) {
	if limit <= 0 || limit > 1000 {
		limit = 200
	}
	list, next, err = m.o.Store.AuditApprovals(ctx, cursor, limit)
	return list, next, typed(err)
}
