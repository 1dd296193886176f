package claudecode

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func TestOptionsAreStrict(t *testing.T) {
	for text, want := range map[string][]string{
		``:   nil,
		`{}`: nil,
		`{"allowedTools":["Bash(git log:*)","Read"],"additionalDirectories":["/a"]}`: {"--allowedTools", "Bash(git log:*)", "Read", "--add-dir", "/a"},
	} {
		got, err := optionArgs(agent.OpenRequest{Options: json.RawMessage(text)})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
	for _, bad := range []string{
		`{"permissionMode":"bypassPermissions"}`, `{"allowedTools":"Bash"}`, `{"allowedTools":["--dangerously-skip-permissions"]}`,
		`{"additionalDirectories":["a"]}`, `{"disallowedTools":[""]}`, `[]`, `{`,
	} {
		if got, err := optionArgs(agent.OpenRequest{Options: json.RawMessage(bad)}); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

func TestRealOptionsReachTheAgent(t *testing.T) {
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, func(r *agent.OpenRequest) {
		r.Options = json.RawMessage(`{"allowedTools":["Bash"],"disallowedTools":["WebFetch"],"additionalDirectories":["` + l.home + `"]}`)
	})
	l.completed(chat, "scenario:bash-allow")
	if len(rec.approvals) != 0 {
		t.Errorf("asked: %+v", rec.approvals)
	}
	if tools := l.server.Turns()[0].Tools; slices.Contains(tools, "WebFetch") || !slices.Contains(tools, "Bash") {
		t.Errorf("tools: %v", tools)
	}
}
