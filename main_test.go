package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuitQuestionNamesWhatEnds(t *testing.T) {
	for _, tt := range []struct {
		turns, terminals int
		want             string
	}{
		{1, 0, "1 agent is working. Quitting stops it."},
		{3, 0, "3 agents are working. Quitting stops them."},
		{0, 1, "1 terminal has something running. Quitting stops it."},
		{2, 1, "2 agents are working and 1 terminal has something running. Quitting stops them."},
	} {
		if got, _, _ := strings.Cut(quitQuestion(tt.turns, tt.terminals), "\n"); got != tt.want {
			t.Errorf("%d, %d: %q", tt.turns, tt.terminals, got)
		}
	}
}

func TestHostProgramIsBesideTheWindowsOwn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "whippletree-desktop"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := hostProgram(filepath.Join(dir, "whippletree-desktop")); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Error("a missing host must say what to do:", err)
	}
	want := filepath.Join(dir, "whippletree")
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "whippletree-desktop")
	if err := os.Symlink(filepath.Join(dir, "whippletree-desktop"), link); err != nil {
		t.Fatal(err)
	}
	got, err := hostProgram(link)
	if err != nil {
		t.Fatal(err)
	}
	if want, err = filepath.EvalSymlinks(want); err != nil || got != want {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
}

func TestEnvironmentKeepsEverything(t *testing.T) {
	got := environment([]string{"A=1", "B=x=y", "EMPTY=", "broken"})
	if d := cmp.Diff(map[string]string{"A": "1", "B": "x=y", "EMPTY": ""}, got); d != "" {
		t.Error(d)
	}
}
