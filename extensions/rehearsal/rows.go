package rehearsal

import (
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// row turns a block into a timeline item. Protocol and session file carry the
// same blocks, so that live, replay and mirror give the same rows.
func row(b wire.Block) agent.Item {
	it := agent.Item{ID: b.ID, ParentID: b.Helper, At: b.StartedAt, StartedAt: b.StartedAt, EndedAt: b.EndedAt}
	switch b.Kind {
	case wire.KindUser:
		it.Type, it.Text, it.ClientID, it.NativeID = agent.ItemUser, b.Text, b.ClientID, b.ID
	case wire.KindThought:
		it.Type, it.Text = agent.ItemReasoning, b.Text
	case wire.KindTool:
		it.Type, it.CallID, it.Title, it.State = agent.ItemTool, b.ID, b.Title, state(b.State)
		toolRow(&it, b.Tool)
	case wire.KindPlan:
		it.Type = agent.ItemPlan
		for _, s := range b.Steps {
			it.Entries = append(it.Entries, agent.PlanEntry{Text: s.Text, Status: s.State})
		}
	case wire.KindHelper:
		it.Type, it.AgentType, it.Title, it.State = agent.ItemSubagent, b.Role, b.Title, state(b.State)
	case wire.KindText:
		it.Type, it.Text = agent.ItemText, b.Text
	default: // a note, or a kind of a later version
		it.Type, it.Level, it.Text = agent.ItemNotice, agent.LevelInfo, b.Text
	}
	return it
}

func toolRow(it *agent.Item, t *wire.Tool) {
	it.Name, it.Tool = "unknown", agent.ToolOther
	if t == nil {
		return
	}
	it.Name, it.Output, it.Detail = t.Name, t.Output, &agent.Detail{}
	switch {
	case t.Run != nil:
		it.Tool = agent.ToolExecute
		it.Detail.Execute = &agent.ExecuteDetail{
			Command: t.Run.Command, Cwd: t.Run.Cwd, ExitCode: t.Run.ExitCode, DurationMs: t.Run.Millis,
		}
	case t.Edit != nil:
		it.Tool = agent.ToolEdit
		it.Detail.Edit = &agent.EditDetail{
			Path: t.Edit.Path, Diff: t.Edit.Diff, Added: t.Edit.Added, Removed: t.Edit.Removed, StartLine: t.Edit.Line,
		}
		it.Locations = []agent.Location{{Path: t.Edit.Path, Line: t.Edit.Line}}
	case t.Read != nil:
		it.Tool = agent.ToolRead
		it.Detail.Read = &agent.ReadDetail{Path: t.Read.Path, From: t.Read.From, To: t.Read.To}
		it.Locations = []agent.Location{{Path: t.Read.Path, Line: t.Read.From}}
	case t.Ask != nil:
		it.Tool = agent.ToolQuestion
		it.Detail.Question = &agent.QuestionDetail{Questions: questions(t.Ask.Questions), Answers: t.Ask.Answers}
	default:
		it.Detail = nil
	}
}

func state(s string) agent.ItemState {
	switch s {
	case wire.StateDone:
		return agent.StateCompleted
	case wire.StateFailed:
		return agent.StateFailed
	case wire.StateStopped:
		return agent.StateCanceled
	case wire.StateDeclined:
		return agent.StateDeclined
	}
	return agent.StateRunning
}

func questions(in []wire.Question) []agent.Question {
	var out []agent.Question
	for _, q := range in {
		a := agent.Question{
			ID: q.ID, Header: q.Header, Text: q.Text, Multi: q.Multi, AllowOther: q.Free,
			Placeholder: q.Hint, Skippable: q.Skip, Options: []agent.QuestionOption{},
		}
		for _, c := range q.Choices {
			a.Options = append(a.Options, agent.QuestionOption{ID: c.ID, Label: c.Label, Description: c.About})
		}
		out = append(out, a)
	}
	return out
}

// approval turns an ask into a request for a person, with the agent's options
// in its order and words.
func approval(a wire.Ask) agent.Approval {
	out := agent.Approval{
		ID: a.ID, ItemID: a.BlockID, Title: a.Title, Description: a.About,
		Questions: questions(a.Questions), Acknowledges: true,
	}
	switch a.Kind {
	case wire.AskPlan:
		out.Kind, out.Plan = agent.ApprovalPlan, &agent.PlanText{Text: a.Plan}
		out.ModeChange = &agent.ModeChange{From: a.FromMode, To: a.ToMode}
	case wire.AskQuestion:
		out.Kind = agent.ApprovalQuestion
	default:
		out.Kind = agent.ApprovalTool
	}
	for _, o := range a.Options {
		kind := agent.OptionKind(o.Means)
		switch kind {
		case agent.OptionAllowOnce, agent.OptionAllowAlways, agent.OptionRejectOnce, agent.OptionRejectAlways:
		default:
			kind = agent.OptionOther
		}
		out.Options = append(out.Options, agent.Option{
			ID: o.ID, Label: o.Label, Kind: kind, Description: o.About, Reach: o.Reach, AllowsComment: o.Comment,
		})
	}
	if t := a.Tool; t != nil {
		switch {
		case t.Run != nil:
			out.Preview = &agent.Preview{Command: t.Run.Command, Cwd: t.Run.Cwd}
		case t.Edit != nil:
			out.Preview = &agent.Preview{Path: t.Edit.Path, Diff: t.Edit.Diff, Files: []string{t.Edit.Path}}
		default:
			if raw, err := json.Marshal(t); err == nil {
				out.Preview = &agent.Preview{Input: raw}
			}
		}
	}
	return out
}

func answer(askID string, a agent.ApprovalAnswer) wire.Request {
	req := wire.Request{Do: wire.DoAnswer, AskID: askID, OptionID: a.OptionID, Comment: a.Comment, Canceled: a.Canceled}
	for id, q := range a.Answers {
		if req.Answers == nil {
			req.Answers = map[string]wire.Choice{}
		}
		req.Answers[id] = wire.Choice{IDs: q.OptionIDs, Own: q.Other, Skipped: q.Skipped}
	}
	return req
}

func turnEnd(t wire.Turn) agent.TurnEnd {
	switch t.Outcome {
	case wire.OutcomeCompleted:
		return agent.TurnEnd{Outcome: agent.OutcomeCompleted}
	case wire.OutcomeStopped:
		return agent.TurnEnd{Outcome: agent.OutcomeCanceled}
	}
	reason := t.Reason
	if reason == "" {
		reason = "failed"
	}
	return agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: reason, Text: t.Text}
}

func usage(u wire.Usage) agent.Usage {
	return agent.Usage{
		Input: u.Input, Output: u.Output, Reasoning: u.Reasoning,
		Context: &agent.ContextUse{Used: u.Context, Max: u.ContextMax},
	}
}

func settings(s wire.Settings) agent.Settings {
	return agent.Settings{Model: s.Model, Mode: s.Mode, Thinking: s.Thinking}
}
