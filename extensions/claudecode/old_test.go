package claudecode

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// A version that is too old is told with the one that is needed, however it
// shows: in its first answer, by saying nothing of itself there, or by not
// knowing an option without which nothing works.
func TestTooOldSaysWhichVersionIsNeeded(t *testing.T) {
	frames := captured(t, "02-bash-allow")
	change := func(was, is string) []frame {
		list := slices.Clone(frames)
		for i := range list {
			list[i].M = bytes.ReplaceAll(list[i].M, []byte(was), []byte(is))
		}
		return list
	}
	const told = `"claude_code_version":"2.1.332"`
	for name, c := range map[string]struct {
		frames []frame
		env    []string
		want   string // "": it opens
	}{
		"in its first answer":    {frames: change(told, `"claude_code_version":"2.0.77"`), want: "Claude Code 2.0.77 is too old, at least " + oldest + " is needed; update it: claude update"},
		"only when asked":        {frames: change(told, `"x":1`), env: []string{versionEnv + "=1.0.128"}, want: "Claude Code 1.0.128 is too old"},
		"an option of ours":      {frames: frames, env: []string{versionEnv + "=1.0.11", oldEnv + "=--replay-user-messages"}, want: "Claude Code 1.0.11 is too old"},
		"new enough, when asked": {frames: change(told, `"x":1`), env: []string{versionEnv + "=2.1.7"}},
		"not for its age":        {frames: frames, env: []string{versionEnv + "=2.1.332", oldEnv + "=--replay-user-messages"}, want: "unknown option"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, c.frames)
			env := p.host.Env()
			p.host.Env = func() []string { return append(env, c.env...) }
			rec := newRecorder()
			chat, err := p.open(rec, nil)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := chat.Close(t.Context()); err != nil {
				t.Error(err)
			}
			// What was seen in newer versions only is not offered.
			if rec.ready.Agent.Version != "2.1.7" || agent.AbilityRewind.In(rec.ready.Abilities) || !agent.AbilityThinking.In(rec.ready.Abilities) {
				t.Errorf("%+v", rec.ready)
			}
			if _, err := chat.(agent.FileRewinder).PreviewRewind(t.Context(), "m1"); err == nil || !strings.Contains(err.Error(), rewindSince) {
				t.Errorf("going back: %v", err)
			}
		})
	}
}

// A program that reports no efforts has no thinking to set.
func TestAbilitiesFollowTheHandshake(t *testing.T) {
	list := (&launch{version: parseVersion(verifiedVersion)}).abilities(agent.Catalog{Models: []agent.Model{{ID: "m"}}})
	if agent.AbilityThinking.In(list) || !agent.AbilityModels.In(list) || !agent.AbilityRewind.In(list) {
		t.Errorf("%v", list)
	}
}
