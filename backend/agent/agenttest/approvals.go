package agenttest

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Approval implements [agent.Events]. It is the one call that blocks: until the
// answer, the end of the turn, or ctx.
func (r *Recorder) Approval(ctx context.Context, a agent.Approval) agent.ApprovalAnswer {
	r.mu.Lock()
	r.checkApproval(a)
	n := len(r.approvals)
	r.approvals = append(r.approvals, Asked{Approval: a})
	turn := r.turnCtx
	if turn == nil {
		var cancel context.CancelFunc
		turn, cancel = context.WithCancel(context.Background())
		cancel()
	}
	decide := r.Decide
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()

	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(turn, cancel)
	defer stop()
	var ans agent.ApprovalAnswer
	if decide != nil {
		ans = decide(wait, a)
	} else {
		<-wait.Done()
	}
	if wait.Err() != nil {
		ans = agent.ApprovalAnswer{Canceled: true}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.approvals[n].Answer, r.approvals[n].Done = ans, true
	r.approvals[n].Withdrawn = ctx.Err() != nil
	close(r.changed)
	r.changed = make(chan struct{})
	return ans
}

func (r *Recorder) checkApproval(a agent.Approval) {
	if r.exit != nil {
		r.violate(RuleAfterExit, "after_exit: approval %s came after Exit", a.ID)
	}
	if r.turn == "" {
		r.violate(RuleApprovals, "approval %s came outside a turn", a.ID)
	}
	if a.ID == "" || a.Title == "" {
		r.violate(RuleApprovals, "invalid_string: approval %q has no id or no title", a.ID)
	}
	for _, other := range r.approvals {
		if other.Approval.ID == a.ID && !other.Done {
			r.violate(RuleApprovals, "duplicate: approval %s is pending already", a.ID)
		}
	}
	if a.ItemID != "" && r.byID[a.ItemID] == nil {
		r.violate(RuleApprovals, "approval %s belongs to item %s, which was never published", a.ID, a.ItemID)
	}
	switch a.Kind {
	case agent.ApprovalTool, agent.ApprovalPlan, agent.ApprovalMode:
	case agent.ApprovalQuestion:
		if len(a.Questions) == 0 {
			r.violate(RuleApprovals, "invalid_array: approval %s is a question without questions", a.ID)
		}
	default:
		r.violate(RuleApprovals, "invalid_enum: approval %s has the kind %q", a.ID, a.Kind)
	}
	if len(a.Options) == 0 && a.Kind != agent.ApprovalQuestion {
		r.violate(RuleApprovals, "invalid_array: approval %s offers no option", a.ID)
	}
	seen := map[string]bool{}
	for _, o := range a.Options {
		if o.ID == "" || o.Label == "" || seen[o.ID] {
			r.violate(RuleApprovals, "invalid_id: approval %s has an option without id or label, or one twice: %q", a.ID, o.ID)
		}
		seen[o.ID] = true
		switch o.Reach {
		case "once", "session", "always":
		default:
			r.violate(RuleApprovals, "invalid_enum: option %s of approval %s reaches %q", o.ID, a.ID, o.Reach)
		}
	}
}

// ApprovalAcked implements [agent.Events].
func (r *Recorder) ApprovalAcked(id string) {
	defer r.enter("ApprovalAcked")()
	for i := len(r.approvals) - 1; i >= 0; i-- {
		a := &r.approvals[i]
		if a.Approval.ID != id {
			continue
		}
		if !a.Approval.Acknowledges || !a.Done || a.Answer.Canceled || a.Acked {
			r.violate(RuleAcks, "approval %s was acknowledged without an answer, twice, or though it said that it would not be", id)
		}
		a.Acked = true
		return
	}
	r.violate(RuleAcks, "approval %s was acknowledged and never asked", id)
}
