package claudecode

import (
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// A steered text stands in the agent's queue, is taken after the running tool
// and is a row of the person's, in the same turn.
func TestRealSteerIsFollowedThroughTheQueue(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	steered := make(chan struct{})
	rec.decide = func(agent.Approval) agent.ApprovalAnswer {
		<-steered
		return agent.ApprovalAnswer{OptionID: optionAllow}
	}
	chat := l.open(rec, nil)
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:bash-allow") }()
	rec.wait(t, "the request", func() bool { return len(rec.approvals) == 1 })
	if err := chat.(agent.Steerer).Steer(l.ctx(), agent.Prompt{Text: "also say hi", ClientID: "steer-1"}); err != nil {
		t.Fatal(err)
	}
	rec.wait(t, "the queue", func() bool { return slices.Contains(rec.deliverys, "steer-1 accepted") })
	close(steered)
	if end := <-done; end.Outcome != agent.OutcomeCompleted {
		t.Errorf("end: %+v", end)
	}
	rec.wait(t, "the delivery", func() bool { return slices.Contains(rec.deliverys, "steer-1 completed") })
	if row := rec.row(t, func(it agent.Item) bool { return it.ClientID == "steer-1" }); row.Text != "also say hi" {
		t.Errorf("row: %+v", row)
	}
	asked := l.server.Turns()
	if len(asked) != 2 || !strings.Contains(string(asked[1].Raw), "also say hi") {
		t.Errorf("the model was asked %d times", len(asked))
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
	stop()
	sameRows(t, rec.rows(), s)
}
