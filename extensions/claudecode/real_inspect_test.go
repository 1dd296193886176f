package claudecode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/e2e/agents"
)

func (l *lab) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.cwd, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// What the program says of itself, without a word to the model: servers, hooks,
// sign-in, what was used. Its list and a resume know a title that was set here.
func TestRealInspectAndRename(t *testing.T) {
	l := newLab(t)
	l.write(".claude/settings.json", `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"true"}]}]}}`)
	l.write(".mcp.json", `{"mcpServers":{"broken":{"command":"/bin/false","env":{"TOKEN":"secret-token"}}}}`)
	rec := newRecorder()
	chat := l.open(rec, func(r *agent.OpenRequest) { r.MCPServers = []agent.MCPServer{l.noteServer(t)} })
	l.completed(chat, "hello")
	asked := len(l.server.Turns())

	i, err := chat.(agent.Inspector).Inspect(l.ctx())
	if err != nil || len(i.Notes) != 0 {
		t.Fatalf("%+v %v", i, err)
	}
	if i.Account == nil || i.Account.Source != "ANTHROPIC_API_KEY" || i.Plan != nil {
		t.Errorf("account: %+v, plan: %+v", i.Account, i.Plan)
	}
	if len(i.Servers) != 2 || i.Servers[0].Name != "broken" || i.Servers[0].Status != "failed" || i.Servers[0].Scope != "project" || i.Servers[0].Error == "" {
		t.Errorf("servers: %+v", i.Servers)
	}
	if lab := i.Servers[len(i.Servers)-1]; lab.Name != "lab" || lab.Status != "connected" || !slices.Contains(lab.Tools, "echo_note") {
		t.Errorf("servers: %+v", i.Servers)
	}
	if len(i.Hooks) != 1 || i.Hooks[0].Event != "UserPromptSubmit" || i.Hooks[0].Command != "true" || !strings.Contains(i.Hooks[0].Source, "settings.json") {
		t.Errorf("hooks: %+v", i.Hooks)
	}
	if i.Session == nil || i.Session.Output == 0 || i.Session.CostUSD == 0 {
		t.Errorf("session: %+v", i.Session)
	}
	if data, err := json.Marshal(i); err != nil || strings.Contains(string(data), "secret-token") {
		t.Errorf("it tells a secret: %s %v", data, err)
	}
	if n := len(l.server.Turns()); n != asked {
		t.Errorf("the model was asked %d times for it", n-asked)
	}

	if err := chat.(agent.Renamer).Rename(l.ctx(), "A name of mine"); err != nil {
		t.Fatal(err)
	}
	rec.wait(t, "the title", func() bool { return rec.title == "A name of mine" })
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the title in the mirror", func() bool { return s.state.Title == "A name of mine" })
	stop()
}

// Options that are settings of the program are in force, beside a person's own.
func TestRealSettingsOptionsAreInForce(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	rec := newRecorder()
	chat := l.open(rec, func(r *agent.OpenRequest) {
		r.Options = json.RawMessage(`{"permissions":{"allow":["Bash(touch made-by-bash.txt && echo hi)"],"deny":["WebFetch"]},
			"sandbox":{"enabled":false,"network":{"allowedDomains":["example.org"]}}}`)
	})
	raw, err := chat.(*session).control(l.ctx(), map[string]any{"subtype": "get_settings"})
	if err != nil || !strings.Contains(string(raw), `"allowedDomains":["example.org"]`) {
		t.Errorf("settings: %s %v", raw, err)
	}
	raw, err = chat.(*session).control(l.ctx(), map[string]any{"subtype": "list_permission_rules"})
	if err != nil || !strings.Contains(string(raw), "WebFetch") || !strings.Contains(string(raw), "flagSettings") {
		t.Errorf("rules: %s %v", raw, err)
	}
	files, err := filepath.Glob(filepath.Join(l.host.RunDir, "settings-*.json"))
	if err != nil || len(files) != 1 {
		t.Errorf("files: %v %v", files, err)
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	if files, _ = filepath.Glob(filepath.Join(l.host.RunDir, "settings-*.json")); len(files) != 0 {
		t.Errorf("left behind: %v", files)
	}
}
