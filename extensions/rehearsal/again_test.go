package rehearsal

import (
	"context"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
)

// answering answers every request at once and tells of acknowledgements.
type answering struct {
	*agenttest.Recorder
	asked, acked chan string
}

func (a *answering) Approval(_ context.Context, q agent.Approval) agent.ApprovalAnswer {
	a.asked <- q.ID
	return agent.ApprovalAnswer{OptionID: "yes"}
}

func (a *answering) ApprovalAcked(id string) { a.acked <- id }

// A request that is not open any more got the answer, whatever became of its
// acknowledgement.
func TestAnAnswerGivenAgain(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	events := &answering{agenttest.NewRecorder(), make(chan string, 10), make(chan string, 10)}
	s, err := New(h).Provider.Open(ctx, request(t, "--no-ack"), events)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	end, err := s.Prompt(ctx, agent.Prompt{Text: "run echo", ClientID: "c1"})
	if err != nil || end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("%+v %v", end, err)
	}
	id := <-events.asked
	if len(events.acked) != 0 {
		t.Fatal("it was acknowledged already")
	}
	if err := s.(agent.Reanswerer).Reanswer(ctx, id, agent.ApprovalAnswer{OptionID: "yes"}); err != nil {
		t.Fatal(err)
	}
	if got := <-events.acked; got != id {
		t.Errorf("acknowledged was %q, not %q", got, id)
	}
}
