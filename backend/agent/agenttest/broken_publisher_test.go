package agenttest

import (
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func TestPublisherRules(t *testing.T) {
	good := agent.Snapshot{ID: "1", Harness: "h", Pid: 7, Cwd: "/w", Status: agent.StatusIdle}
	for _, c := range []struct {
		name, want string
		do         func(*Publications)
	}{
		{"nothing broken", "", func(p *Publications) {
			p.Reset([]agent.Snapshot{good})
			p.Upsert(good)
			p.Remove("h", "1")
			p.Diagnostic("watch-limited", "the limit is reached")
		}},
		{"upsert first", "before the first Reset", func(p *Publications) { p.Upsert(good) }},
		{"twice in a reset", "duplicate", func(p *Publications) { p.Reset([]agent.Snapshot{good, good}) }},
		{"another harness", "harness_not_enabled", func(p *Publications) {
			bad := good
			bad.Harness = "other"
			p.Reset([]agent.Snapshot{bad})
		}},
		{"relative folder", "invalid_path", func(p *Publications) {
			bad := good
			bad.Cwd = "w"
			p.Reset([]agent.Snapshot{bad})
		}},
		{"removed and not there", "not there", func(p *Publications) {
			p.Reset(nil)
			p.Remove("h", "1")
		}},
		{"diagnostic with a path", "path", func(p *Publications) { p.Diagnostic("x", "/home/somebody") }},
		{"diagnostic code", "kebab", func(p *Publications) { p.Diagnostic("Not Kebab", "x") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPublications("h")
			c.do(p)
			got := strings.Join(p.Violations(), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("violations %q, want %q", got, c.want)
			}
		})
	}
}

// TestPreviousStatusIsKept: a snapshot that cannot tell keeps what was known.
func TestPreviousStatusIsKept(t *testing.T) {
	p := NewPublications("h")
	p.Reset([]agent.Snapshot{{ID: "1", Harness: "h", Pid: 7, Cwd: "/w", Status: agent.StatusRunning}})
	p.Upsert(agent.Snapshot{ID: "1", Harness: "h", Pid: 7, Cwd: "/w"})
	if got := p.Sessions()["1"].Status; got != agent.StatusRunning {
		t.Errorf("status %q", got)
	}
}
