package agenttest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// freshRun is one conversation that shows all the agent has, played once for
// the rules that look at it from several sides.
type freshRun struct {
	once     sync.Once
	ok       bool
	rec      *Recorder
	provider agent.ChatProvider
	session  agent.ChatSession
	req      agent.OpenRequest
	handle   agent.Handle
	live     []agent.Item
	marks    []mark       // where the mirror stood after each turn
	follower []agent.Item // of a mirror that ran beside the chat

	steered    sync.Once
	deliveries []agent.Delivery // of a text given to a running turn
}

// mark is a position of a mirror and the rows up to it.
type mark struct {
	at   agent.Position
	rows []agent.Item
}

// played returns the fresh run.
func (s *suite) played(t *testing.T) *freshRun {
	t.Helper()
	f := &s.fresh
	f.once.Do(func() { s.play(t, f) })
	if !f.ok {
		t.Fatal("there is no fresh run to look at")
	}
	return f
}

func (s *suite) play(t *testing.T, f *freshRun) {
	c := open(t, s, s.Open(t))
	f.rec, f.provider, f.session, f.req = c.rec, c.provider, c.session, c.req
	c.rec.Decide = First
	var handover agent.Handover
	sink := NewMirrorSink()
	stop := func() {}
	if h := c.rec.NativeHandle(); s.Handover != nil && h != nil {
		handover = s.Handover(t)
		stop = StartMirror(t, handover, *h, agent.Position{}, sink)
	}
	here := func() {
		if handover == nil {
			return
		}
		own := NewMirrorSink()
		end := StartMirror(t, handover, *c.rec.NativeHandle(), agent.Position{}, own)
		own.MustWait(t, s.deadline(), "CaughtUp", func() bool { _, n := own.Position(); return n > 0 })
		end()
		at, _ := own.Position()
		f.marks = append(f.marks, mark{at, own.Items()})
	}
	for _, p := range []string{s.Prompts.Text, s.Prompts.Reasoning, s.Prompts.Approval, s.Prompts.Question, s.Prompts.Plan, s.Prompts.Subagents} {
		if p != "" {
			c.ask(p, agent.OutcomeCompleted)
			here()
		}
	}
	if s.Prompts.Running != "" {
		p := c.running(s.Prompts.Running)
		c.cancel()
		c.wait(p)
		here()
	}
	if s.Prompts.AgentTurn != "" {
		own := len(c.rec.OwnEnds())
		c.ask(s.Prompts.AgentTurn, agent.OutcomeCompleted)
		c.rec.MustWait(t, s.deadline(), "a turn of the agent's own", func() bool { return len(c.rec.OwnEnds()) > own })
		c.ask(s.Prompts.Text, agent.OutcomeCompleted)
	}
	c.close()
	f.live = c.rec.Items()
	if h := c.rec.NativeHandle(); h != nil {
		f.handle = *h
	}
	if handover != nil {
		want := compared(f.live, f.live)
		ctx, cancel := c.ctx()
		defer cancel()
		// Whether it got there is for the rule to say.
		_ = sink.wait(ctx, func() bool { return len(differences(want, compared(f.live, sink.Items()))) == 0 })
		stop()
		f.follower = sink.Items()
	}
	f.ok = true
}

// First takes the first option, and for questions the first choice.
func First(_ context.Context, a agent.Approval) agent.ApprovalAnswer {
	var ans agent.ApprovalAnswer
	if len(a.Options) > 0 {
		ans.OptionID = a.Options[0].ID
	}
	for _, q := range a.Questions {
		if ans.Answers == nil {
			ans.Answers = map[string]agent.QuestionAnswer{}
		}
		if len(q.Options) > 0 {
			ans.Answers[q.ID] = agent.QuestionAnswer{OptionIDs: []string{q.Options[0].ID}}
		} else {
			ans.Answers[q.ID] = agent.QuestionAnswer{Other: "my own words"}
		}
	}
	return ans
}

func testMirrorIsLive(t *testing.T, s *suite) {
	f := s.played(t)
	first := MirrorRows(t, s.Handover(t), f.handle, s.deadline())
	sameRows(t, f.live, first)
	sameRows(t, first, MirrorRows(t, s.Handover(t), f.handle, s.deadline())) // read again, the same
	for _, it := range first {
		if it.Open() {
			t.Errorf("nobody writes, and item %s (%s) is open", it.ID, it.Type)
		}
	}
}

func testMirrorFollows(t *testing.T, s *suite) {
	f := s.played(t)
	sameRows(t, f.live, f.follower)
}

func testMirrorGoesOn(t *testing.T, s *suite) {
	f := s.played(t)
	for n, m := range f.marks {
		sink := NewMirrorSink()
		stop := StartMirror(t, s.Handover(t), f.handle, m.at, sink)
		sink.MustWait(t, s.deadline(), "CaughtUp", func() bool { _, n := sink.Position(); return n > 0 })
		stop()
		all := slices.Clone(m.rows)
		for _, it := range sink.Items() {
			i := slices.IndexFunc(all, func(o agent.Item) bool { return o.ID == it.ID })
			switch {
			case i < 0:
				all = append(all, it)
			case agent.SameRow(all[i], it) && !all[i].Open() && !openAbove(m.rows, it):
				t.Errorf("from the position after turn %d the closed row %s is given out again", n+1, it.ID)
			default:
				all[i] = it
			}
		}
		if d := differences(compared(f.live, f.live), compared(f.live, all)); len(d) > 0 {
			t.Errorf("from the position after turn %d: %s", n+1, d[0])
		}
	}
}

// openAbove reports whether the row's sub-agent was still at work there: then its
// rows may have been read from a file of their own, ahead of the position.
func openAbove(rows []agent.Item, it agent.Item) bool {
	return slices.ContainsFunc(rows, func(p agent.Item) bool { return p.ID == it.ParentID && p.Open() })
}

// testImportIsLive: the list of stored sessions is how an import begins.
func testImportIsLive(t *testing.T, s *suite) {
	f := s.played(t)
	h := s.Handover(t)
	list := storedSessions(t, s, h)
	if list == nil {
		return // the agent's sessions cannot be listed
	}
	var found []agent.StoredSession
	for _, st := range list {
		if st.Handle.NativeID == f.handle.NativeID {
			found = append(found, st)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the session of the fresh run is listed %d times", len(found))
	}
	st := found[0]
	if titles := f.rec.Titles(); st.Title == "" || len(titles) > 0 && st.Title != titles[len(titles)-1] {
		t.Errorf("the title is %q, live it was %q", st.Title, titles)
	}
	if st.Handle.Cwd != f.req.WorkingDirectory || st.Handle.Harness != f.handle.Harness || st.UpdatedAt <= 0 {
		t.Errorf("the listed session is %+v", st)
	}
	sameRows(t, f.live, MirrorRows(t, h, st.Handle, s.deadline()))
}

// storedSessions reads the whole list in pages; nil when there is none.
func storedSessions(t *testing.T, s *suite, h agent.Handover) []agent.StoredSession {
	t.Helper()
	im, ok := h.(agent.Importer)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), s.deadline())
	defer cancel()
	all := []agent.StoredSession{}
	for cursor := ""; ; {
		list, next, err := im.Stored(ctx, "", cursor, 50)
		if err != nil {
			t.Fatalf("Stored: %v", err)
		}
		all = append(all, list...)
		if cursor = next; cursor == "" {
			return all
		}
	}
}

func testUsageInFile(t *testing.T, s *suite) {
	c := open(t, s, s.Open(t))
	c.ask(s.Prompts.Text, agent.OutcomeCompleted)
	c.close()
	usages := c.rec.Usages()
	if len(usages) == 0 {
		return // the agent does not count
	}
	sink := NewMirrorSink()
	stop := StartMirror(t, s.Handover(t), *c.rec.NativeHandle(), agent.Position{}, sink)
	sink.MustWait(t, s.deadline(), "CaughtUp", func() bool { _, n := sink.Position(); return n > 0 })
	stop()
	stored := sink.Now().Usage
	if stored == nil {
		t.Fatal("the mirror tells no usage")
	}
	counts := func(u agent.Usage) [4]int { return [4]int{u.Input, u.Output, u.CacheRead, u.CacheWrite} }
	if live := usages[len(usages)-1]; counts(live) != counts(*stored) {
		t.Errorf("live the turn used %v (input, output, cache read and written), in the file it is %v", counts(live), counts(*stored))
	}
}
