package agenttest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/contract.md anew")

const contractDoc = "../../../docs/contract.md"

// TestContractDocument: the document is what the tables say.
func TestContractDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# The contract of the agents, rule by rule

Written from the tables of backend/agent/agenttest by ` + "`go test ./backend/agent/agenttest -run ContractDocument -update`" + `; do not
edit. One call (` + "`agenttest.Hold`" + `) holds a harness to all of it, on its real program. A rule that cannot fail is worth nothing:
backend/agent/agenttest/mutation has a wrong harness for each, which must fail that rule and no other.
`)
	suite := ""
	for _, r := range places(Rules()) {
		if r.Suite != suite {
			suite = r.Suite
			fmt.Fprintf(&b, "\n## %s\n\n| rule | what must hold |\n| --- | --- |\n", suite)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, r.Says)
	}
	b.WriteString("\nThe places of StopAt, DeathAt and CloseAt:")
	for _, at := range AllPlaces {
		fmt.Fprintf(&b, " `%s`", at)
	}
	b.WriteString(".\n")
	if *update {
		if err := os.WriteFile(contractDoc, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(contractDoc)
	if err != nil || string(is) != b.String() {
		t.Errorf("docs/contract.md is not what the tables say (%v); run this test with -update", err)
	}
}

// places writes the rules of all places as one.
func places(rules []Rule) (out []Rule) {
	seen := map[string]bool{}
	for _, r := range rules {
		for _, verb := range []string{"StopAt/", "DeathAt/", "CloseAt/"} {
			if strings.HasPrefix(r.Name, verb) {
				r.Name = verb + "*"
			}
		}
		if key := r.Suite + r.Name; !seen[key] {
			seen[key] = true
			out = append(out, r)
		}
	}
	return out
}

// TestRulesAreNamed: names are unique within a suite, and every rule says what it
// demands.
func TestRulesAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if key := r.Suite + "/" + r.Name; seen[key] || r.Says == "" {
			t.Errorf("%s is there twice, or says nothing", key)
		} else {
			seen[key] = true
		}
	}
}
