package claudecode

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// mcpEnv makes the test binary an MCP server with one tool; its value is a
// file that it appends a line to when it starts.
const mcpEnv = "CLAUDECODE_TEST_MCP"

func serveMCP(log string, in io.Reader, out io.Writer) error {
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("mcp started\n"); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "lab", "version": "1"},
			}
		case "tools/list":
			answer["result"] = map[string]any{"tools": []any{map[string]any{
				"name": "echo_note", "description": "Keeps a note",
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"note": map[string]any{"type": "string"}}},
			}}}
		case "tools/call":
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": "kept the note"}}}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no such method"}
		}
		if err := enc.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// noteServer is the one server of a confined chat.
func (l *lab) noteServer(t testing.TB) agent.MCPServer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return agent.MCPServer{Name: "lab", Command: self, Env: map[string]string{
		mcpEnv: filepath.Join(l.home, "mcp.log"), "LAB_TOKEN": labToken,
	}}
}

const labToken = "lab-token-that-nobody-may-see"
