package claudecode

import (
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Two sub-agents at once: each has its own row and rows below it, in the chat
// and in the mirror, and the list of sessions shows how each stands (T11).
func TestRealT11TwoSubagentsAtOnce(t *testing.T) {
	l := newLab(t)
	board := l.observe()
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:task-hold") }()
	if err := l.server.WaitHeld(l.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	row := board.wait(l.ctx(), t, "both sub-agents", true, func(s agent.Snapshot) bool {
		return len(s.Subagents) == 2 && (s.Subagents[0].Status == "completed") != (s.Subagents[1].Status == "completed")
	})
	titles := map[string]string{}
	for _, s := range row.Subagents {
		titles[s.Title+" "+s.Type] = s.Status
	}
	if titles["Look around general-purpose"] != "completed" || titles["Stand still Explore"] != "running" {
		t.Errorf("sub-agents: %+v", row.Subagents)
	}
	l.server.Release("half")
	if end := <-done; end.Outcome != agent.OutcomeCompleted {
		t.Errorf("end: %+v", end)
	}
	board.wait(l.ctx(), t, "both to be done", true, func(s agent.Snapshot) bool {
		return len(s.Subagents) == 2 && s.Subagents[0].EndedAt > 0 && s.Subagents[1].EndedAt > 0
	})
	below := map[string]string{}
	for _, it := range rec.rows() {
		if it.ParentID != "" {
			below[rec.row(t, func(x agent.Item) bool { return x.ID == it.ParentID }).Title] += it.Text
		}
		if it.Type == agent.ItemUser && it.ClientID == "" {
			t.Errorf("a sub-agent's task is the user's: %+v", it)
		}
	}
	if below["Look around"] != "Looked around." || below["Stand still"] == "" {
		t.Errorf("below: %q", below)
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
	stop()
	sameRows(t, rec.rows(), s)
}
