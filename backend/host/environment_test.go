package host

import (
	"slices"
	"testing"
)

// A command in a tab finds the host of the tab, also where its data was moved.
func TestProgramsOfAMovedHostFindIt(t *testing.T) {
	h := &Host{o: Options{Home: "/moved", Env: []string{"A=1"}}}
	if got := h.withHome([]string{"A=1"}); !slices.Equal(got, []string{"A=1"}) {
		t.Errorf("at the system's place: %q", got)
	}
	h.o.Env = []string{"A=1", HomeVariable + "=moved"}
	if got := h.withHome([]string{HomeVariable + "=/other", "A=1"}); !slices.Equal(got, []string{"A=1", HomeVariable + "=/moved"}) {
		t.Errorf("moved: %q", got)
	}
}
