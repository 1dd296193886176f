package host

import (
	"testing"

	"github.com/whippletree-app/whippletree/backend/model"
)

func TestWhichChangesOfATabAreLookedAt(t *testing.T) {
	var c tabChanges
	tab := model.Terminal{ID: "1", Running: true, Title: "sh"}
	for _, step := range []struct {
		what   string
		change func()
		want   bool
	}{
		{"opened", func() {}, true},
		{"a title", func() { tab.Title = "working" }, false},
		{"a status", func() { tab.Program = &model.ProgramStatus{State: "working", At: 1} }, true},
		{"the same status", func() { tab.Program = &model.ProgramStatus{State: "working", At: 2} }, false},
		{"another status", func() { tab.Program = &model.ProgramStatus{State: "blocked", Kind: "permission", At: 3} }, true},
		{"a bell", func() { tab.Bell = true }, false},
		{"its end", func() { tab.Running, tab.Program = false, nil }, true},
	} {
		step.change()
		if got := c.changed(tab, false); got != step.want {
			t.Errorf("%s: %v", step.what, got)
		}
	}
	if !c.changed(tab, true) || !c.changed(tab, false) {
		t.Error("a removed tab was remembered")
	}
}
