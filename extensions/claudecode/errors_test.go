package claudecode

import (
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Every way in which a turn goes wrong, as the real program told it. "success"
// stands in all of these ends.
func TestFaultsByKind(t *testing.T) {
	for _, c := range []struct {
		capture string
		outcome agent.Outcome
		reason  string
		text    string // in the end's text
		fix     string
		error   bool     // an error row
		notices []string // in order, parts of their texts
		texts   []string // of the answer's rows, as shown
		cut     []bool   // which of them are marked as cut off
	}{
		{capture: "20-err-e401", outcome: agent.OutcomeFailed, reason: "not_signed_in", text: "Invalid API key", fix: signInCommand, error: true, notices: []string{"The sign-in was refused; trying again"}},
		{capture: "22-rate-limit", outcome: agent.OutcomeFailed, reason: "rate_limit", text: "429", error: true, notices: []string{"The limit is reached; trying again"}},
		{capture: "22-overloaded", outcome: agent.OutcomeFailed, reason: "overloaded", text: "529", error: true, notices: []string{"The service is overloaded; trying again"}},
		{capture: "22-server-error", outcome: agent.OutcomeFailed, reason: "server_error", text: "500", error: true, notices: []string{"The service has a fault; trying again"}},
		{capture: "22-error-400", outcome: agent.OutcomeFailed, reason: "failed", text: "too strange", error: true},
		{
			capture: "22-drop-to-the-end", outcome: agent.OutcomeFailed, reason: "server_error", text: "Connection dropped", error: true,
			notices: []string{"The connection failed; trying again"},
		},
		{
			capture: "20-err-drop", outcome: agent.OutcomeCompleted, notices: []string{"The connection failed; trying again"},
			texts: []string{"This will be cut off in the middle of things"}, cut: []bool{false},
		},
		{
			capture: "22-max-tokens", outcome: agent.OutcomeFailed, reason: "failed", text: "output token maximum", error: true,
			texts: slices.Repeat([]string{"This goes on and on and"}, 4), cut: slices.Repeat([]bool{true}, 4),
		},
		{
			capture: "22-refusal", outcome: agent.OutcomeFailed, reason: "refused", text: "safeguards", error: true,
			notices: []string{"safeguards stopped the response above"}, texts: []string{"I cannot", "I cannot"}, cut: []bool{true, true},
		},
		{
			capture: "22-subagent-retry", outcome: agent.OutcomeCompleted, notices: []string{"The service is overloaded; trying again in"},
			texts: []string{"Made it at the second try.", "The helper is done."}, cut: []bool{false, false},
		},
		{
			capture: "22-limit-warning", outcome: agent.OutcomeCompleted, notices: []string{"93 % of the limit of 5 hours is used; it begins anew on"},
			texts: []string{"Nearly there."}, cut: []bool{false},
		},
		{
			capture: "22-limit-reached", outcome: agent.OutcomeFailed, reason: "rate_limit", text: "5-hour limit", error: true,
			notices: []string{"The limit of 5 hours is reached; it begins anew on"},
		},
	} {
		t.Run(c.capture, func(t *testing.T) {
			p := newPeer(t, captured(t, c.capture))
			rec := newRecorder()
			chat := p.mustOpen(rec, nil)
			end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "what I wrote", ClientID: "c1"})
			if err != nil || end.Outcome != c.outcome || end.Reason != c.reason || !strings.Contains(end.Text, c.text) || end.Fix != c.fix {
				t.Errorf("end: %+v %v", end, err)
			}
			if err := chat.Close(t.Context()); err != nil {
				t.Error(err)
			}
			var notices, texts, mine []string
			var cut []bool
			failed := false
			for _, it := range rec.rows() {
				switch it.Type {
				case agent.ItemNotice:
					notices = append(notices, it.Text)
				case agent.ItemText:
					texts, cut = append(texts, it.Text), append(cut, it.Truncated)
				case agent.ItemUser:
					mine = append(mine, it.Text)
				case agent.ItemError:
					failed = true
				}
				if it.Open() {
					t.Errorf("a row stayed open: %+v", it)
				}
			}
			if failed != c.error || !slices.Equal(texts, c.texts) || !slices.Equal(cut, c.cut) {
				t.Errorf("error %v, texts %q, cut %v", failed, texts, cut)
			}
			if len(notices) != len(c.notices) {
				t.Fatalf("notices: %q", notices)
			}
			for i, part := range c.notices {
				if !strings.Contains(notices[i], part) {
					t.Errorf("notice %d: %q", i, notices[i])
				}
			}
			// What the program says in the person's place is not the person's.
			if len(mine) != 1 || !strings.HasPrefix(mine[0], "scenario:") && mine[0] != "what I wrote" {
				t.Errorf("the person said %q", mine)
			}
		})
	}
}

func TestLimitsAreWindowsOfThePlan(t *testing.T) {
	p := newPeer(t, captured(t, "22-limit-warning"))
	rec := newRecorder()
	chat := p.mustOpen(rec, nil)
	if _, err := chat.Prompt(t.Context(), agent.Prompt{Text: "x", ClientID: "c1"}); err != nil {
		t.Fatal(err)
	}
	if err := chat.Close(t.Context()); err != nil {
		t.Error(err)
	}
	last := rec.usage[len(rec.usage)-1]
	if want := (agent.PlanWindow{Label: "5 hours", UsedPercent: 93, ResetsAt: 1796070000000}); !slices.Equal(last.Windows, []agent.PlanWindow{want}) || last.Output == 0 {
		t.Errorf("usage: %+v", last)
	}
}

// Records that the program writes as if they were the person's never are.
func TestWhatThePersonNeverSaid(t *testing.T) {
	for name, line := range map[string]string{
		"meta":            `{"type":"user","uuid":"u","isMeta":true,"message":{"role":"user","content":"x"}}`,
		"synthetic":       `{"type":"user","uuid":"u","isSynthetic":true,"message":{"role":"user","content":[{"type":"text","text":"Output token limit hit."}]}}`,
		"summary":         `{"type":"user","uuid":"u","isCompactSummary":true,"message":{"role":"user","content":"This session is being continued"}}`,
		"of the harness":  `{"type":"user","uuid":"u","rowSource":"harness","message":{"role":"user","content":"x"}}`,
		"a note":          `{"type":"user","uuid":"u","origin":{"kind":"task-notification"},"message":{"role":"user","content":"<task-notification></task-notification>"}}`,
		"of a peer":       `{"type":"user","uuid":"u","origin":{"kind":"peer","from":"x"},"message":{"role":"user","content":"x"}}`,
		"interrupted":     `{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`,
		"reminder":        `{"type":"user","uuid":"u","message":{"role":"user","content":"<system-reminder>x</system-reminder>"}}`,
		"printed":         `{"type":"user","uuid":"u","message":{"role":"user","content":"<local-command-stdout>Compacted</local-command-stdout>"}}`,
		"a result":        `{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}`,
		"a sub-agent's":   `{"type":"user","uuid":"u","parent_tool_use_id":"t","message":{"role":"user","content":"do this"}}`,
		"of a side chain": `{"type":"user","uuid":"u","isSidechain":true,"message":{"role":"user","content":"do this"}}`,
	} {
		r, err := parseRecord([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		newRows(func(it agent.Item) {
			if it.Type == agent.ItemUser {
				t.Errorf("%s: %+v", name, it)
			}
		}).add(&r, -1)
	}
}
