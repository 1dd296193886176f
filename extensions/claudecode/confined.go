package claudecode

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// confinedInstruction stands in for the program's own long one, which tells of
// tools that a confined chat does not have.
const confinedInstruction = "You are an assistant. You can talk, and use the tools you are given."

// confinedArgs switch off everything but talking and the given servers. They
// stand after a person's own arguments: of an option given twice the last counts.
func confinedArgs(instruction string) []string {
	return []string{
		"--strict-mcp-config", "--tools", "", "--setting-sources", "", "--no-session-persistence",
		"--disable-slash-commands", "--system-prompt", or(instruction, confinedInstruction),
	}
}

// confinedEnv keeps logs out of the user's cache, leaves out the stand-in tool
// for tools that are looked up later, and keeps no memory.
func confinedEnv(private string) map[string]string {
	return map[string]string{
		"XDG_CACHE_HOME": filepath.Join(private, "cache"), "ENABLE_TOOL_SEARCH": "false",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "0",
	}
}

// confinedResidue is what the program writes below its data folder even in a
// confined chat: file patterns, relative to the home folder.
var confinedResidue = []string{
	".claude.json", ".claude/backups/*", ".claude/plugins/store/cc-plugin-*.json", ".claude/plugins/*.json",
}

// confine makes the launch of a confined chat.
func (p *provider) confine(req agent.OpenRequest) (*launch, error) {
	if req.Resume != nil {
		return nil, failure("A confined chat keeps no session of Claude Code and cannot be resumed")
	}
	if req.Mode != "" && req.Mode != modeAsk {
		return nil, failure(fmt.Sprintf("A confined chat has no mode %q", req.Mode))
	}
	if _, err := readOptions(req.Options); err != nil { // they are for workspace chats; a mistake in them is told all the same
		return nil, err
	}
	if err := os.MkdirAll(p.host.RunDir, 0o700); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(p.host.RunDir, "confined-")
	if err != nil {
		return nil, err
	}
	l := &launch{
		mode: modeAsk, confined: true, files: []string{private},
		handle: handleFor(p.host, uuid.NewString(), req.WorkingDirectory, req.Env),
	}
	for _, s := range req.MCPServers {
		l.servers = append(l.servers, s.Name)
	}
	file, err := writeMCP(private, req.MCPServers)
	if err != nil {
		l.cleanUp()
		return nil, err
	}
	argv := append(structuredArgs(modeAsk), "--session-id", l.handle.NativeID)
	if req.Model != "" {
		argv = append(argv, "--model", req.Model)
	}
	if req.Thinking != "" {
		argv = append(argv, "--effort", req.Thinking)
	}
	argv = append(argv, req.Args...)
	argv = append(argv, "--mcp-config", file)
	argv = append(argv, confinedArgs(req.Instruction)...)
	l.spec = agentkit.Spec{
		Argv: argv, Dir: req.WorkingDirectory, Purpose: "agent", Owner: req.ChatID,
		Env:     p.host.Environ(merged(merged(l.handle.Env, req.Env), confinedEnv(private)), nested...),
		Secrets: secrets(p.host, req),
	}
	return l, nil
}

var mcpUnsafe = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// offered reports whether a tool is one of a given server; the program puts an
// underscore for what may not stand in a tool's name.
func (l *launch) offered(tool string) bool {
	return slices.ContainsFunc(l.servers, func(server string) bool {
		rest, ok := strings.CutPrefix(tool, "mcp__"+mcpUnsafe.ReplaceAllString(server, "_")+"__")
		return ok && rest != ""
	})
}

// reported is what the program says it has.
type reported struct {
	Tools   []string `json:"tools"`
	Servers []struct {
		Name string `json:"name"`
	} `json:"mcp_servers"`
	Listed []struct {
		Name string `json:"name"`
	} `json:"mcpServers"`
	Commands []string `json:"slash_commands"`
	Skills   []any    `json:"skills"`
}

// extra names what a confined chat has beyond what it was given; "" is nothing.
func (l *launch) extra(r reported) string {
	var list []string
	for _, t := range r.Tools {
		if !l.offered(t) {
			list = append(list, t)
		}
	}
	for _, s := range append(r.Servers, r.Listed...) {
		if !slices.Contains(l.servers, s.Name) {
			list = append(list, "server "+s.Name)
		}
	}
	if len(r.Commands) > 0 {
		list = append(list, fmt.Sprintf("%d commands", len(r.Commands)))
	}
	if len(r.Skills) > 0 {
		list = append(list, fmt.Sprintf("%d skills", len(r.Skills)))
	}
	if len(list) > 8 {
		list = append(list[:8], "...")
	}
	return strings.Join(list, ", ")
}

func notConfined(extra string) failure {
	return failure("Claude Code brought more into a confined chat than it was given (" + extra + "); the chat was ended")
}

// checkConfined compares the servers before the first prompt.
func (s *session) checkConfined(ctx context.Context) error {
	raw, err := s.control(ctx, map[string]any{"subtype": "mcp_status"})
	if err != nil {
		return fmt.Errorf("what the confined chat can use is not known: %w", err)
	}
	var r reported
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("what the confined chat can use cannot be read: %w", err)
	}
	if extra := s.launch.extra(r); extra != "" {
		return notConfined(extra)
	}
	return nil
}

// guard compares what the program reports at the start of each turn; anything
// beyond what was given ends the chat.
func (s *session) guard(data []byte) {
	var r reported
	err := json.Unmarshal(data, &r)
	extra := s.launch.extra(r)
	if err != nil {
		extra = "its report cannot be read"
	}
	if extra == "" {
		return
	}
	s.mu.Lock()
	s.breach = notConfined(extra)
	s.mu.Unlock()
	s.events.Failure("not_confined", s.breach.Error())
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no time to act: straight to the kill
	s.asking.Go(func() { _ = s.proc.Close(ctx, agentkit.Ladder{}) })
}

// admit answers a request of a confined chat that no person needs to see: only
// tools of the given servers are asked. What a yes may remember is for this
// chat and this tool, never a settings file.
func (s *session) admit(req *toolRequest) bool {
	if !s.launch.offered(req.ToolName) || (req.Server != nil && !slices.Contains(s.launch.servers, req.Server.Name)) {
		return false
	}
	rule, err := json.Marshal(map[string]any{
		"type": "addRules", "behavior": "allow", "destination": "session",
		"rules": []any{map[string]any{"toolName": req.ToolName}},
	})
	req.Suggestions = nil
	if err == nil {
		req.Suggestions = []json.RawMessage{rule}
	}
	return true
}
