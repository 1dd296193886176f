package chats

import (
	"context"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Case T10: the same answer is reported many times, first with partial tokens, and
// once more in a later turn (a resumed transcript). It counts once, with its last
// record, in its first turn.
func TestCaseT10_TheSameAnswerCountsOnce(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	var sc *scene
	turn := func(n int64, client string, uses ...agent.Usage) {
		s.send(id, client, "go")
		if n == 1 {
			sc = <-s.agent.scenes
		}
		<-sc.prompts
		for _, u := range uses {
			sc.Usage(u)
		}
		sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCompleted}}
		s.ends(id, n)
		s.settled(id)
	}
	m1 := func(out int) agent.Usage {
		return agent.Usage{MessageID: "m1", RequestID: "r1", Input: 10, Output: out, CostUSD: 0.5}
	}
	turn(1, "a", m1(1), m1(1), m1(185))
	turn(2, "b", m1(1), m1(1), m1(185), agent.Usage{MessageID: "m2", RequestID: "r2", Output: 7})
	// A report without ids is the whole turn; the last one of a turn wins.
	turn(3, "c", agent.Usage{Input: 3, Output: 1}, agent.Usage{Input: 3, Output: 4, Context: &agent.ContextUse{Used: 5, Max: 9}})
	got, err := s.m.Usage(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got.Total.Output != 185+7+4 || got.Total.Input != 13 || got.Total.CostUSD != 0.5 || !got.Estimate || got.Count != 3 {
		t.Errorf("%+v", got)
	}
	if len(got.Turns) != 3 || got.Turns[0].Turn != 3 || got.Turns[0].Usage.Output != 4 || got.Turns[1].Usage.Output != 7 || got.Turns[2].Usage.Output != 185 {
		t.Errorf("%+v", got.Turns)
	}
	if got.Context == nil || got.Context.Max != 9 || got.Turns[0].StartedAt == 0 || got.Turns[0].EndedAt < got.Turns[0].StartedAt {
		t.Errorf("%+v %+v", got.Context, got.Turns[0])
	}
}
