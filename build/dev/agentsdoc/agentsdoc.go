// Package agentsdoc writes docs/agents.md from what every built-in harness
// declares of itself (agent.Traits). A test compares with the committed page.
package agentsdoc

import (
	"fmt"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions"
)

// Page is the whole file.
func Page() string {
	var b strings.Builder
	b.WriteString(`# The agents and how a conversation is passed to them

Generated from the declarations in extensions/<agent> by ` + "`make generate`" + `; do not edit. Each line is held by a test on the
real agent in that folder; FORMAT.md beside it has the evidence.
`)
	for _, h := range extensions.Builtin(&agentkit.Host{}) {
		write(&b, h)
	}
	return b.String()
}

func write(b *strings.Builder, h agent.Harness) {
	t := h.Traits
	demo := ""
	if h.Identity.Demo {
		demo = " (a demonstration inside the app)"
	}
	fmt.Fprintf(b, "\n## %s%s\n\n| | |\n| --- | --- |\n", h.Identity.DisplayName, demo)
	row := func(what, value string) { fmt.Fprintf(b, "| %s | %s |\n", what, strings.ReplaceAll(value, "|", `\|`)) }
	row("id, mark", fmt.Sprintf("`%s`, %s", h.Identity.Harness, h.Identity.Mark))
	row("chats", kinds(t.Kinds))
	row("the agent between turns", choose(t.HoldsBetweenTurns, "lives on and holds the conversation", "is gone"))
	row("how ownership is proved", t.OwnershipProof)
	row("on disk while it waits", t.OnDiskWhileWaiting)
	row("resumed by", "`"+t.ResumeArgv+"`")
	row("id after a resume", choose(t.IDChangesOnResume, "a new one", "the same"))
	row("refuses a second writer", choose(t.LocksSession, "yes", "no: the guard is ours"))
	row("what a mirror sees", t.MirrorGranularity)
	if len(t.ConfinedResidue) > 0 {
		row("left behind by a confined chat", "`~/"+strings.Join(t.ConfinedResidue, "`, `~/")+"`")
	}
	row("verified", t.VerifiedVersion+", "+t.VerifiedOn)
}

func kinds(list []agent.Kind) string {
	var s []string
	for _, k := range list {
		s = append(s, string(k))
	}
	return strings.Join(s, ", ")
}

func choose(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}
