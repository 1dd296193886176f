package agentsdoc

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A harness that declares something else fails here until `make generate`.
func TestThePageIsCurrent(t *testing.T) {
	got, err := os.ReadFile("../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Page(), string(got)); d != "" {
		t.Errorf("docs/agents.md is not what the harnesses declare: run `make generate`\n%s", d)
	}
}
