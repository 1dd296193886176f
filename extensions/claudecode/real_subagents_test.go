package claudecode

import (
	"syscall"
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

// A sub-agent in the background ends with its process, in the chat and in the
// mirror.
func TestRealBackgroundSubagentDiesWithItsProcess(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:task-background-hold")
	if err := l.server.WaitHeld(l.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	if sub := rec.row(t, ofType(agent.ItemSubagent)); sub.State != agent.StateRunning {
		t.Errorf("while it runs: %+v", sub)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the running sub-agent", func() bool {
		for _, it := range s.items {
			if it.Type == agent.ItemSubagent && it.State == agent.StateRunning {
				return true
			}
		}
		return false
	})
	if err := syscall.Kill(rec.ready.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	rec.wait(t, "the exit", func() bool { return rec.exit != nil })
	sub := rec.row(t, ofType(agent.ItemSubagent))
	if sub.State != agent.StateCanceled {
		t.Errorf("after its process: %+v", sub)
	}
	stop()
	again, stopAgain := l.mirror(*rec.ready.Handle, agent.Position{})
	again.wait(l.ctx(), t, "the end of the transcript", func() bool { return again.caught > 0 })
	stopAgain()
	if got := again.items[sub.ID]; !agent.SameRow(got, sub) {
		t.Errorf("mirror: %s\nchat: %s", agent.RowBytes(got), agent.RowBytes(sub))
	}
}
