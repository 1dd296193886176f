package claudecode

import (
	"slices"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// The task tools are one plan row: live, in the mirror and after a resume.
func TestRealTasksAreOnePlan(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, nil)
	l.completed(chat, "scenario:todo")
	want := []agent.PlanEntry{{Text: "Step one", Status: "done"}, {Text: "Step two", Status: "active"}}
	if got := rec.row(t, ofType(agent.ItemPlan)).Entries; !slices.Equal(got, want) {
		t.Errorf("plan: %+v", got)
	}
	for _, it := range rec.rows() {
		if it.Type == agent.ItemTool {
			t.Errorf("a call is a row beside the plan: %+v", it)
		}
	}
	l.completed(chat, "hello")
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the rows", func() bool { return s.caught > 0 && len(s.items) >= len(rec.rows()) })
	stop()
	sameRows(t, rec.rows(), s)

	rec2 := newRecorder()
	chat2 := l.open(rec2, func(r *agent.OpenRequest) { r.Resume = rec.ready.Handle })
	l.completed(chat2, "scenario:todo-more")
	want[1].Status = "done"
	if got := rec2.row(t, ofType(agent.ItemPlan)).Entries; !slices.Equal(got, want) {
		t.Errorf("plan after the resume: %+v", got)
	}
}
