package chats

import (
	"errors"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/model"
)

// An agent is not started half configured.
func TestSettingsThatCannotBeUsedStartNothing(t *testing.T) {
	s := newStage(t, func(o *Options) {
		o.Overrides = func(string) Overrides { return Overrides{Err: errors.New("line 3 is not NAME=VALUE")} }
	})
	id := s.chat()
	s.send(id, "c1", "go")
	s.log.until(t, "the prompt to fail", func() bool {
		q := s.get(id).Queue
		return len(q) == 1 && q[0].State == model.QueueFailed
	})
	if q := s.get(id).Queue[0]; !strings.Contains(q.Error, "line 3 is not NAME=VALUE") {
		t.Errorf("the reason is not told: %+v", q)
	}
	if len(s.agent.opens) != 0 {
		t.Error("an agent was started")
	}
}
