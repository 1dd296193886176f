package claudecode

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/e2e/agents"
)

// A sub-agent in the background can be ended by itself; nothing else ends.
func TestRealBackgroundSubagentIsEndedByItself(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:task-background-hold")
	if err := l.server.WaitHeld(l.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	sub := rec.row(t, ofType(agent.ItemSubagent))
	if sub.State != agent.StateRunning || !sub.Cancelable {
		t.Errorf("while it runs: %+v", sub)
	}
	end := chat.(agent.ItemCanceler).CancelItem
	if err := end(l.ctx(), "toolu_nothing"); err == nil {
		t.Error("ended what is not there")
	}
	if err := end(l.ctx(), sub.ID); err != nil {
		t.Fatal(err)
	}
	if sub = rec.row(t, ofType(agent.ItemSubagent)); sub.State != agent.StateCanceled || sub.Cancelable {
		t.Errorf("after it was ended: %+v", sub)
	}
	if err := end(l.ctx(), sub.ID); err == nil {
		t.Error("ended it twice")
	}
	// The program tells its model of it, in a turn of its own.
	rec.wait(t, "the agent's own turn", func() bool { return len(rec.turns) == 2 && rec.turns[1].End != nil })
	l.completed(chat, "hello after that")
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
	stop()
	sameRows(t, rec.rows(), s)
}

// One of two sub-agents that the turn waits for is ended by itself: the other one
// and the turn go on.
func TestRealForegroundSubagentIsEndedByItself(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:task-hold") }()
	if err := l.server.WaitHeld(l.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	held := func(it agent.Item) bool { return it.Title == "Stand still" }
	rec.wait(t, "the offer to end it", func() bool {
		for _, it := range rec.items {
			if held(it) && it.Cancelable {
				return true
			}
		}
		return false
	})
	if err := chat.(agent.ItemCanceler).CancelItem(l.ctx(), rec.row(t, held).ID); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeCompleted {
		t.Errorf("end: %+v", end)
	}
	if it := rec.row(t, held); it.State != agent.StateCanceled || it.Cancelable {
		t.Errorf("ended: %+v", it)
	}
	if it := rec.row(t, func(it agent.Item) bool { return it.Title == "Look around" }); it.State != agent.StateCompleted {
		t.Errorf("the other: %+v", it)
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
	stop()
	sameRows(t, rec.rows(), s)
}

// A finished sub-agent that is sent on has a row of its own for that, live and in
// the mirror.
func TestRealFinishedSubagentIsSentOn(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	turns := func(n int) func() bool {
		return func() bool { return len(rec.turns) == n && rec.turns[n-1].End != nil }
	}
	l.completed(chat, "scenario:task-background")
	rec.wait(t, "its report", turns(2))
	id := ""
	metas, err := os.ReadDir(subagentsDir(transcriptOf(t, l, rec)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metas {
		if rest, ok := strings.CutPrefix(m.Name(), "agent-"); ok && strings.HasSuffix(rest, ".jsonl") {
			id = strings.TrimSuffix(rest, ".jsonl")
		}
	}
	l.completed(chat, "scenario:send-on to="+id)
	rec.wait(t, "its second report", turns(4))
	var subs []agent.Item
	for _, it := range rec.rows() {
		if it.Type == agent.ItemSubagent {
			subs = append(subs, it)
		}
		if it.Name == "SendMessage" {
			t.Errorf("the message is a row beside the agent's: %+v", it)
		}
	}
	if len(subs) != 2 || subs[1].Title != subs[0].Title || subs[1].State != agent.StateCompleted || subs[1].Output != "Looked around." ||
		subs[1].Detail.Task.Prompt != "scenario:task-child" {
		t.Fatalf("sub-agents: %+v", subs)
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
	stop()
	sameRows(t, rec.rows(), s)
}

func transcriptOf(t *testing.T, l *lab, rec *recorder) string {
	t.Helper()
	path, ok := transcriptPath(configDir(l.host, nil), rec.ready.Handle.NativeID, l.cwd)
	if !ok {
		t.Fatal("there is no transcript")
	}
	return path
}

// A compaction runs visibly and leaves the one row that the mirror has, too.
func TestRealCompactionIsARunningRow(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, nil)
	l.completed(chat, "hello")
	if end, err := chat.(agent.CommandRunner).RunCommand(l.ctx(), "compact", ""); err != nil || end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("%+v %v", end, err)
	}
	ran := slices.IndexFunc(rec.log, func(s string) bool {
		return strings.HasPrefix(s, "item compaction compacting:") && strings.HasSuffix(s, "running")
	})
	if ran < 0 {
		t.Errorf("it did not run visibly: %v", rec.log)
	}
	n := 0
	for _, it := range rec.rows() {
		if it.Type == agent.ItemCompaction {
			n++
			if it.State != agent.StateCompleted || it.Trigger != "manual" || it.TokensBefore == 0 {
				t.Errorf("row: %+v", it)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d compactions are shown", n)
	}
	l.completed(chat, "hello after that")
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
	stop()
	sameRows(t, rec.rows(), s)
}

// An answer that is given again changes nothing where the first one arrived.
func TestRealAnswerGivenAgain(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	var chat agent.ChatSession
	rec.decide = func(a agent.Approval) agent.ApprovalAnswer {
		// Before the first one: this one is taken.
		if err := chat.(agent.Reanswerer).Reanswer(l.ctx(), a.ID, agent.ApprovalAnswer{OptionID: optionAllow}); err != nil {
			t.Error(err)
		}
		return agent.ApprovalAnswer{OptionID: optionDeny}
	}
	chat = l.open(rec, nil)
	l.completed(chat, "scenario:bash-allow")
	if it := rec.row(t, named("Bash")); it.State != agent.StateCompleted {
		t.Errorf("row: %+v", it)
	}
	rec.wait(t, "one acknowledgement", func() bool { return len(rec.acked) == 1 })
	// The agent does not ask any more: that is an acknowledgement.
	if err := chat.(agent.Reanswerer).Reanswer(l.ctx(), rec.approvals[0].ID, agent.ApprovalAnswer{OptionID: optionDeny}); err != nil {
		t.Fatal(err)
	}
	if len(rec.acked) != 2 {
		t.Errorf("acknowledged: %v", rec.acked)
	}
	l.completed(chat, "hello after that")
}

// Where the echo does not come the tool's result says that the answer arrived.
func TestToolResultAcknowledgesItsAnswer(t *testing.T) {
	rec := newRecorder()
	s := &session{events: rec, asked: map[string]*asked{}, replies: map[string]chan controlReply{}}
	s.asked["r1"] = &asked{request: &toolRequest{ToolUseID: "t1", Input: json.RawMessage("{}")}, cancel: func() {}}
	s.worked("t1")
	if len(rec.acked) != 0 {
		t.Error("acknowledged what was not answered")
	}
	s.asked["r1"].answered = true
	s.worked("t2")
	s.worked("t1")
	s.worked("t1")
	if !slices.Equal(rec.acked, []string{"r1"}) {
		t.Errorf("acknowledged: %v", rec.acked)
	}
}
