package agenttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// wireRules disturb what the agent writes; what comes of it may not differ.
func wireRules() []rule[*suite] {
	on := func(s *suite) bool { return s.shim != nil && s.Prompts.Text != "" }
	same := func(d func(*suite) disturbance) func(*testing.T, *suite) {
		return func(t *testing.T, s *suite) { s.undisturbed(t, d(s)) }
	}
	return []rule[*suite]{
		{"Wire/Splits", "Any split of the bytes gives the same rows, requests and ends.", on, testSplits},
		{"Wire/Characters", "No character is broken, wherever the bytes are cut (case S01).", func(s *suite) bool { return on(s) && s.Prompts.Characters != "" }, testCharacters},
		{"Wire/Noise", "Banners, colours, JSON scalars, logs and halves of objects between the messages change nothing (case S02).", on, same(func(*suite) disturbance { return disturbance{Noise: true} })},
		{"Wire/PrettyFirstReply", "A first reply that is printed over several lines is read (case S02).", on, same(func(*suite) disturbance { return disturbance{Pretty: true} })},
		{"Wire/StderrFlood", "Error output without end blocks and changes nothing (case S03).", on, same(func(s *suite) disturbance {
			return disturbance{Flood: cmpOr(s.Flood, 2<<20)}
		})},
		{"Wire/GiantLine", "A line over every limit is skipped, and the next ones are read.", on, same(func(*suite) disturbance { return disturbance{Giant: 9 << 20} })},
		{"Wire/ChildHoldsOutput", "A child that keeps the output open keeps neither turn nor Close waiting (case S04).", on, testChildHolds},
		{"Disorder", "Lines that come early, late, twice or unasked change no row, no request and no end.", func(s *suite) bool { return s.shim != nil && len(s.Disorder) > 0 }, testDisorder},
		{"Faults", "Each fault of the agent ends as it must.", func(s *suite) bool { return len(s.Faults) > 0 }, testFaults},
	}
}

func cmpOr(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

// story is what came of a chat, without what differs from run to run.
type story struct {
	rows     []string
	requests []string
	ends     []string
}

func (s story) lines() []string { return slices.Concat(s.ends, s.requests, s.rows) }

// told plays the prompts in a new chat, answering every request with its first
// option, and tells what came of it.
func (s *suite) told(t *testing.T, d *disturbance, apply func(*agent.OpenRequest), prompts ...string) story {
	t.Helper()
	req := s.Open(t)
	if apply != nil {
		apply(&req)
	}
	if d != nil {
		s.shim.before(t, &req, *d)
	}
	c := open(t, s, req)
	c.rec.Decide = First
	var out story
	for _, p := range prompts {
		end := c.wait(c.prompt(context.Background(), p))
		out.ends = append(out.ends, fmt.Sprintf("end %s %s", end.Outcome, end.Reason))
	}
	c.close()
	for _, a := range c.rec.Approvals() {
		line := fmt.Sprintf("request %s %q:", a.Approval.Kind, c.neutral(a.Approval.Title))
		for _, o := range a.Approval.Options {
			line += fmt.Sprintf(" %s/%s/%s", o.ID, o.Kind, o.Reach)
		}
		out.requests = append(out.requests, line)
	}
	out.rows = c.shapes()
	return out
}

// shapes are the rows with ordinals for ids.
func (c *chat) shapes() (list []string) {
	known := map[string]int{"": 0}
	for _, it := range shown(c.rec.Items()) {
		known[it.ID] = len(known)
		text := c.neutral(fmt.Sprintf("%s below %d: '%s' %s '%s' %s '%s' %v %s", it.Type, known[it.ParentID], it.Text, it.Tool, it.Title, it.State, it.Output, it.Entries, it.AgentType))
		list = append(list, text)
	}
	return list
}

// neutral puts names for what is different in each run.
func (c *chat) neutral(text string) string {
	text = strings.ReplaceAll(text, c.req.WorkingDirectory, "$FOLDER")
	if h := c.rec.NativeHandle(); h != nil {
		text = strings.ReplaceAll(text, h.NativeID, "$SESSION")
	}
	return text
}

// shown leaves out what is compared nowhere: notices, and texts that were taken
// back.
func shown(in []agent.Item) (out []agent.Item) {
	for _, it := range in {
		if it.Type != agent.ItemNotice && it.Type != agent.ItemError && !it.Hidden() {
			out = append(out, it)
		}
	}
	return out
}

// ordinary is played with and without disturbance.
func (s *suite) ordinary() (prompts []string) {
	for _, p := range []string{s.Prompts.Characters, s.Prompts.Text, s.Prompts.Approval, s.Prompts.Subagents} {
		if p != "" {
			prompts = append(prompts, p)
		}
	}
	return prompts
}

// calm is what comes of the ordinary prompts when nothing is disturbed.
func (s *suite) calm(t *testing.T) []string {
	t.Helper()
	s.calmOnce.Do(func() { s.calmStory = s.told(t, nil, nil, s.ordinary()...).lines() })
	if s.calmStory == nil {
		t.Fatal("there is nothing to compare with")
	}
	return s.calmStory
}

func (s *suite) undisturbed(t *testing.T, d disturbance) {
	t.Helper()
	want := s.calm(t)
	sameLines(t, want, s.told(t, &d, nil, s.ordinary()...).lines())
}

func sameLines(t *testing.T, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			t.Errorf("more than without disturbance: %s", got[i])
		case i >= len(got):
			t.Errorf("missing: %s", want[i])
		case want[i] != got[i]:
			t.Errorf("differs\n  calm:      %s\n  disturbed: %s", want[i], got[i])
		default:
			continue
		}
		return
	}
}

func testSplits(t *testing.T, s *suite) {
	patterns := [][]int{{1}, {2, 3}, {4095, 1}}
	n := cmpOr(s.Splits, 5)
	for i := len(patterns); i < n; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		var cuts []int
		for range 1 + r.IntN(12) {
			cuts = append(cuts, 1+r.IntN(1<<r.IntN(12)))
		}
		patterns = append(patterns, cuts)
	}
	for _, cuts := range patterns[:n] {
		s.undisturbed(t, disturbance{Cuts: cuts})
		if t.Failed() {
			t.Fatalf("cut into pieces of %v bytes", cuts)
		}
	}
}

func testCharacters(t *testing.T, s *suite) {
	for _, cuts := range [][]int{{1}, {5, 2}} {
		got := s.told(t, &disturbance{Cuts: cuts}, nil, s.Prompts.Characters)
		all := strings.Join(got.rows, "\n")
		if !strings.Contains(all, Characters) || strings.Contains(all, "\ufffd") {
			t.Fatalf("cut into pieces of %v bytes the answer is\n%s", cuts, all)
		}
	}
}

func testChildHolds(t *testing.T, s *suite) {
	s.undisturbed(t, disturbance{HoldOutput: true})
	if s.Prompts.Running == "" {
		return
	}
	req := s.Open(t)
	s.shim.before(t, &req, disturbance{HoldOutput: true})
	c := open(t, s, req)
	p := c.running(s.Prompts.Running)
	c.kill()
	if end := c.wait(p); end.Outcome != agent.OutcomeFailed {
		t.Errorf("the agent was killed and its turn ended as %s", end.Outcome)
	}
	c.dead()
}

func testDisorder(t *testing.T, s *suite) {
	for _, d := range s.Disorder {
		t.Run(d.Name, func(t *testing.T) {
			plan := &disturbance{Moves: d.Moves, Repeats: d.Repeats, Inserts: d.Inserts}
			if d.Withdraws {
				testWithdrawn(t, s, d, plan)
				return
			}
			// Another prompt follows: nothing of the first may hang over it.
			prompts := []string{d.Prompt, s.Prompts.Text}
			sameLines(t, s.told(t, nil, d.Apply, prompts...).lines(), s.told(t, plan, d.Apply, prompts...).lines())
		})
	}
}

// testWithdrawn: a request that the agent took back is nobody's any more.
func testWithdrawn(t *testing.T, s *suite, d Disorder, plan *disturbance) {
	req := s.Open(t)
	if d.Apply != nil {
		d.Apply(&req)
	}
	s.shim.before(t, &req, *plan)
	c := open(t, s, req)
	p := c.prompt(context.Background(), d.Prompt)
	c.rec.MustWait(t, s.deadline(), "the withdrawal", func() bool {
		a := c.rec.Approvals()
		return len(a) > 0 && a[0].Withdrawn || closed(p.done)
	})
	a := c.rec.Approvals()
	if len(a) == 0 || !a[0].Withdrawn || !a[0].Answer.Canceled {
		t.Errorf("the request was not withdrawn: %+v", a)
	}
	if !closed(p.done) {
		c.cancel()
	}
	c.wait(p)
	c.nothingStands(nil)
}

func testFaults(t *testing.T, s *suite) {
	for _, f := range s.Faults {
		t.Run(f.Name, func(t *testing.T) { testFault(t, s, f) })
	}
}
