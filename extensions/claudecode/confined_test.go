package claudecode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// A turn that begins with more tools than the chat was given is its last one.
func TestConfinedChatEndsAtTheFirstForeignTool(t *testing.T) {
	for name, c := range map[string]struct {
		init string
		ok   bool
	}{
		"only what was given": {`"tools":["mcp__lab__echo_note"],"mcp_servers":[{"name":"lab"}]`, true},
		"a built-in tool":     {`"tools":["mcp__lab__echo_note","Bash"],"mcp_servers":[{"name":"lab"}]`, false},
		"another server":      {`"tools":[],"mcp_servers":[{"name":"lab"},{"name":"labour"}]`, false},
		"a similar server":    {`"tools":["mcp__labour__x"],"mcp_servers":[]`, false},
		"a skill":             {`"tools":[],"mcp_servers":[],"skills":["canary"]`, false},
		"unreadable":          {`"tools":7`, false},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			capture := filepath.Join(home, "capture.jsonl")
			in := func(id string) string {
				return `{"dir":"in","m":{"type":"control_request","request_id":"` + id + `"}}` + "\n"
			}
			out := func(m string) string { return `{"dir":"out","m":` + m + "}\n" }
			text := in("A") +
				out(`{"type":"control_response","response":{"subtype":"success","request_id":"A","response":{"claude_code_version":"2.1.332","current_permission_mode":"default","commands":[{"name":"x"}]}}}`) +
				in("B") + out(`{"type":"control_response","response":{"subtype":"success","request_id":"B","response":{"mcpServers":[{"name":"lab"}]}}}`) +
				`{"dir":"in","m":{"type":"user"}}` + "\n" +
				out(`{"type":"system","subtype":"init",`+c.init+`}`)
			if c.ok {
				text += out(`{"type":"result","subtype":"success","is_error":false}`)
			}
			if err := os.WriteFile(capture, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			host := &agentkit.Host{
				Home: home, RunDir: filepath.Join(home, "run"), CacheDir: home, DataDir: home,
				Env: func() []string { return []string{captureEnv + "=" + capture} },
			}
			rec := newRecorder()
			chat, err := New(host).Provider.Open(t.Context(), agent.OpenRequest{
				ChatID: "chat", Kind: agent.KindConfined, WorkingDirectory: home, Binary: self,
				MCPServers: []agent.MCPServer{{Name: "lab", Command: "x"}},
			}, rec)
			if err != nil {
				t.Fatal(err)
			}
			end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "x", ClientID: "c"})
			if err != nil {
				t.Fatal(err)
			}
			if c.ok {
				if end.Outcome != agent.OutcomeCompleted {
					t.Errorf("end: %+v", end)
				}
			} else {
				if end.Outcome != agent.OutcomeFailed || !strings.Contains(end.Text, "the chat was ended") {
					t.Errorf("end: %+v", end)
				}
				rec.wait(t, "the exit", func() bool { return rec.exit != nil && len(rec.failures) == 1 })
			}
			if err := chat.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(host.RunDir); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}
