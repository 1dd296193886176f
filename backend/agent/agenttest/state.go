package agenttest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// testSetters sets everything the agent offers, and something that it does not.
func testSetters(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	cats := c.rec.Catalogs()
	if cr, ok := c.provider.(agent.Cataloger); ok {
		ctx, cancel := c.ctx()
		defer cancel()
		cat, err := cr.Catalog(ctx, c.req.WorkingDirectory)
		if err != nil {
			t.Fatalf("Catalog: %v", err)
		}
		if cat.Hash == "" {
			t.Error("the catalog has no hash")
		}
		cats = append(cats, cat)
	}
	if len(cats) == 0 {
		return
	}
	cat := cats[len(cats)-1]
	ctx, cancel := c.ctx()
	defer cancel()
	reported := func(what string, is func(agent.Settings) bool) {
		t.Helper()
		c.rec.MustWait(t, cfg.deadline(), what+" in force", func() bool { return is(c.rec.InForce()) })
	}
	if s, ok := c.session.(agent.ModelSetter); ok {
		for _, m := range cat.Models {
			if _, err := s.SetModel(ctx, m.ID); err != nil {
				t.Fatalf("SetModel(%s): %v", m.ID, err)
			}
			reported("model "+m.ID, func(s agent.Settings) bool { return s.Model == m.ID })
		}
	}
	if s, ok := c.session.(agent.ModeSetter); ok {
		for _, m := range cat.Modes {
			if _, err := s.SetMode(ctx, m.ID); err != nil {
				t.Fatalf("SetMode(%s): %v", m.ID, err)
			}
			reported("mode "+m.ID, func(s agent.Settings) bool { return s.Mode == m.ID })
		}
		if _, err := s.SetMode(ctx, "no-such-mode"); err == nil {
			t.Error("SetMode took a mode that is not offered")
		}
	}
	if s, ok := c.session.(agent.ThinkingSetter); ok && len(cat.Models) > 0 {
		for _, th := range cat.Models[0].Thinking {
			if _, err := s.SetThinking(ctx, th.ID); err != nil {
				t.Fatalf("SetThinking(%s): %v", th.ID, err)
			}
		}
	}
}

// testResume: a second process continues the conversation, and the mirror of
// it shows the rows that both turns had live.
func testResume(t *testing.T, cfg *suite) {
	c := open(t, cfg, cfg.Open(t))
	if cfg.Prompts.Approval != "" {
		c.rec.Decide = firstOption
		c.ask(cfg.Prompts.Approval, agent.OutcomeCompleted)
	}
	c.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	if cfg.Prompts.Running != "" {
		p := c.running(cfg.Prompts.Running)
		c.cancel()
		c.wait(p)
	}
	h := c.rec.NativeHandle()
	if h == nil {
		t.Fatal("there is no handle to resume")
	}
	live := c.rec.Items()
	c.close()
	if cfg.Handover != nil {
		sameRows(t, live, MirrorRows(t, cfg.Handover(t), *h, cfg.deadline()))
	}

	req := c.req
	req.Resume = h
	again := open(t, cfg, req)
	again.ask(cfg.Prompts.Text, agent.OutcomeCompleted)
	next := again.rec.NativeHandle()
	if next == nil {
		t.Fatal("the resumed chat has no handle")
	}
	live = append(live, again.rec.Items()...)
	again.close()
	if cfg.Handover != nil {
		sameRows(t, live, MirrorRows(t, cfg.Handover(t), *next, cfg.deadline()))
	}
}

// testResumeUnknown: silence would look like a conversation that was lost.
func testResumeUnknown(t *testing.T, s *suite) {
	first := open(t, s, s.Open(t))
	first.ask(s.Prompts.Text, agent.OutcomeCompleted)
	first.close()
	if s.Unstored == nil {
		return
	}
	h := *first.rec.NativeHandle()
	s.Unstored(t, h)
	req := first.req
	req.Resume = &h
	ctx, cancel := first.ctx()
	defer cancel()
	rec := NewRecorder()
	if again, err := s.New(t).Open(ctx, req, rec); err == nil {
		_ = again.Close(ctx)
		t.Error("a session whose file is gone was begun anew in silence")
	}
}

// sameRows compares rows by [agent.RowBytes], in order: of all that have the same
// parent. How the rows of a sub-agent lie between those of others is chance, and
// they are shown below its own. Notices, errors and texts
// that were taken back are not compared, user rows only where the provider
// publishes them.
func sameRows(t *testing.T, live, mirror []agent.Item) {
	t.Helper()
	if d := differences(compared(live, live), compared(live, mirror)); len(d) > 0 {
		t.Error(d[0])
	}
}

// compared are the rows that are compared with those of a live chat.
func compared(live, rows []agent.Item) (out []agent.Item) {
	users := slices.ContainsFunc(live, func(it agent.Item) bool { return it.Type == agent.ItemUser })
	for _, it := range shown(rows) {
		if it.Type != agent.ItemUser || users {
			out = append(out, it)
		}
	}
	return nested(out)
}

// nested puts each row behind its parent and what is below that already.
func nested(rows []agent.Item) (out []agent.Item) {
	below := map[string][]agent.Item{}
	known := map[string]bool{"": true}
	for _, it := range rows {
		known[it.ID] = true
	}
	for _, it := range rows {
		parent := it.ParentID
		if !known[parent] {
			parent = "" // it stands as far from its parent as it is without one
		}
		below[parent] = append(below[parent], it)
	}
	var put func(parent string)
	put = func(parent string) {
		list := below[parent]
		delete(below, parent)
		for _, it := range list {
			out = append(out, it)
			put(it.ID)
		}
	}
	put("")
	return out
}

// differences tells, in order, where two lists of rows are not the same.
func differences(live, mirror []agent.Item) (list []string) {
	for i := range max(len(live), len(mirror)) {
		switch {
		case i >= len(live):
			list = append(list, fmt.Sprintf("row %d is in the mirror only: %s", i, agent.RowBytes(mirror[i])))
		case i >= len(mirror):
			list = append(list, fmt.Sprintf("row %d was live only: %s", i, agent.RowBytes(live[i])))
		case !agent.SameRow(live[i], mirror[i]):
			list = append(list, fmt.Sprintf("row %d differs\n  live:   %s\n  mirror: %s", i, agent.RowBytes(live[i]), agent.RowBytes(mirror[i])))
		}
	}
	return list
}
