package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// provider runs chats over the structured mode of the installed program: one
// process per open chat, held between turns.
type provider struct{ host *agentkit.Host }

// nested are the variables by which a Claude Code would believe that it runs
// below another one, and the ones that its own children get.
var nested = []string{
	"CLAUDECODE", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_CHILD_SESSION",
	"AI_AGENT", "CLAUDE_CODE_EXECPATH", "CLAUDE_EFFORT", "CLAUDE_CODE_SESSION_ATTENDED",
	"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE",
	"CLAUDE_CODE_SSE_PORT",
}

// openBound is how long the program may take until it answers the handshake.
const openBound = 45 * time.Second

// find returns the program and, when it is missing, a text that says where it
// was looked for.
func (p *provider) find(override string) (string, error) {
	name := or(override, binary)
	path, searched := agentkit.LookPath(p.host.Environ(nil), p.host.Home, name)
	if path == "" {
		return "", fmt.Errorf("%s is not installed; looked in %s. Install it: npm install -g @anthropic-ai/claude-code",
			name, strings.Join(searched, ", "))
	}
	return path, nil
}

// Open starts the program and returns once it answered the handshake, is in
// the mode that was asked for and can take a prompt.
func (p *provider) Open(ctx context.Context, req agent.OpenRequest, events agent.Events) (agent.ChatSession, error) {
	path, err := p.find(req.Binary)
	if err != nil {
		return nil, err
	}
	if req.Resume != nil {
		if err := p.free(ctx, *req.Resume); err != nil {
			return nil, err
		}
	}
	chat, err := p.start(ctx, path, req, events, niceties)
	if unknown := (*unknownOption)(nil); errors.As(err, &unknown) {
		// An older version: it works without them, and shows less.
		chat, err = p.start(ctx, path, req, events, nil)
	}
	if err != nil {
		// What else is wrong with it matters less than that it is too old.
		if told, verr := p.version(ctx, path, req.Env); verr == nil && len(parseVersion(told)) > 0 {
			if old := tooOld(told); old != nil {
				return nil, old
			}
		}
		return nil, err
	}
	return chat, nil
}

// tooOld says which version is needed where the given one lacks the structured
// mode that this harness relies on.
func tooOld(told string) error {
	if parseVersion(told).atLeast(oldest) {
		return nil
	}
	return failure(fmt.Sprintf("Claude Code %s is too old, at least %s is needed; update it: claude update", or(told, "(it does not tell its version)"), oldest))
}

// niceties are options that older versions do not have.
var niceties = []string{"--forward-subagent-text", "--thinking-display", "summarized"}

// unknownOption says that the program did not know one of its options.
type unknownOption struct{ err error }

func (u *unknownOption) Error() string { return u.err.Error() }
func (u *unknownOption) Unwrap() error { return u.err }

func (p *provider) start(ctx context.Context, path string, req agent.OpenRequest, events agent.Events, more []string) (*session, error) {
	build := p.launch
	if req.Kind == agent.KindConfined {
		build = p.confine
	}
	l, err := build(req)
	if err != nil {
		return nil, err
	}
	l.spec.Argv[0] = path
	l.ask = func(ctx context.Context) (string, error) { return p.version(ctx, path, req.Env) }
	l.spec.Argv = append(l.spec.Argv, more...)
	proc, err := p.host.StartProcess(l.spec)
	if err != nil {
		l.cleanUp()
		return nil, err
	}
	s := newSession(p.host, proc, &serial{to: events}, l)
	if err := s.handshake(ctx, req); err != nil {
		_ = s.Close(context.WithoutCancel(ctx))
		stderr := s.proc.Stderr()
		err = openError(err, stderr)
		for _, option := range more {
			if strings.Contains(stderr, "unknown option '"+option+"'") {
				return nil, &unknownOption{err}
			}
		}
		return nil, err
	}
	return s, nil
}

// free refuses a session that another process holds: the program itself would
// let a second writer in, and the conversation would fall into branches.
func (p *provider) free(ctx context.Context, h agent.Handle) error {
	o, err := (&handover{host: p.host}).Owner(ctx, h, nil)
	if err != nil {
		return err
	}
	if o.Owner != agent.OwnerNobody {
		return fmt.Errorf("another process holds this session (pid %d): %s", o.Pid, o.Evidence)
	}
	return nil
}

// openError adds what the program said itself, where it says more.
func openError(err error, stderr string) error {
	said := strings.TrimSpace(stderr)
	if said == "" {
		return err
	}
	if i := strings.LastIndexByte(said, '\n'); i >= 0 {
		said = said[i+1:]
	}
	return fmt.Errorf("%w: %s", err, said)
}

// launch is all that starting a chat needs.
type launch struct {
	spec    agentkit.Spec
	handle  agent.Handle
	mode    string
	version version
	ask     func(context.Context) (string, error) // for the version, in words
	files   []string                              // files and folders to be removed at the end

	plan     plan // the task list so far
	confined bool
	servers  []string // the MCP servers that a confined chat was given
}

func (l *launch) cleanUp() {
	for _, f := range l.files {
		_ = os.RemoveAll(f) // private files in our own folder
	}
}

// structuredArgs begin the argv of every chat.
func structuredArgs(mode string) []string {
	return []string{
		binary, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio",
		// Never the program's own default: newer versions decide by themselves.
		"--permission-mode", mode,
	}
}

func (p *provider) launch(req agent.OpenRequest) (*launch, error) {
	l := &launch{mode: or(req.Mode, modeAsk)}
	if !knownMode(l.mode) {
		return nil, failure(fmt.Sprintf("Claude Code has no mode %q", l.mode))
	}
	chosen, err := readOptions(req.Options)
	if err != nil {
		return nil, err
	}
	own, file, err := chosen.args(p.host.RunDir)
	if file != "" {
		l.files = append(l.files, file)
	}
	if err != nil {
		l.cleanUp()
		return nil, err
	}
	argv := append(structuredArgs(l.mode), own...)
	if l.mode == modeBypass {
		argv = append(argv, "--allow-dangerously-skip-permissions")
	}
	cwd := req.WorkingDirectory
	id := uuid.NewString()
	if req.Resume != nil {
		if err := checkID(req.Resume.NativeID); err != nil {
			return nil, err
		}
		id = req.Resume.NativeID
		req.Env = merged(req.Resume.Env, req.Env)
	}
	l.handle = handleFor(p.host, id, cwd, req.Env)
	transcript := ""
	if req.Resume != nil {
		l.handle.Meta = req.Resume.Meta
		if err := lost(p.host, l.handle); err != nil {
			return nil, err
		}
		var open []string
		open, transcript = openArgs(p.host, l.handle)
		argv = append(argv, open...)
	} else {
		argv = append(argv, "--session-id", id)
	}
	if req.Model != "" {
		argv = append(argv, "--model", req.Model)
	}
	if req.Thinking != "" {
		argv = append(argv, "--effort", req.Thinking)
	}
	if req.Instruction != "" {
		argv = append(argv, "--append-system-prompt", req.Instruction)
	}
	if req.ProjectSourcesOff {
		argv = append(argv, "--setting-sources", "user", "--strict-mcp-config")
	}
	if len(req.MCPServers) > 0 {
		if err := os.MkdirAll(p.host.RunDir, 0o700); err != nil {
			return nil, err
		}
		file, err := writeMCP(p.host.RunDir, req.MCPServers)
		if err != nil {
			return nil, err
		}
		l.files = append(l.files, file)
		argv = append(argv, "--mcp-config", file)
	}
	argv = append(argv, req.Args...)
	l.spec = agentkit.Spec{
		Argv: argv, Dir: cwd, Purpose: "agent", Owner: req.ChatID,
		Env:     p.host.Environ(merged(merged(l.handle.Env, workspaceEnv), req.Env), nested...),
		Secrets: secrets(p.host, req),
	}
	if transcript != "" {
		l.plan = storedPlan(transcript)
	}
	return l, nil
}

// workspaceEnv switches the task list on, without which the default model has
// none, and the copies of files before they are changed.
var workspaceEnv = map[string]string{"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", checkpoints: "1"}

func merged(a, b map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// secrets are hidden in what is kept of the error output.
func secrets(h *agentkit.Host, req agent.OpenRequest) []string {
	var list []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		for _, v := range []string{h.Getenv(name), req.Env[name]} {
			if v != "" {
				list = append(list, v)
			}
		}
	}
	for _, s := range req.MCPServers {
		for _, v := range s.Env {
			list = append(list, v)
		}
		for _, v := range s.Headers {
			list = append(list, v)
		}
	}
	return list
}

// writeMCP writes the servers to a private file in dir, so that no token is in
// an argv.
func writeMCP(dir string, servers []agent.MCPServer) (string, error) {
	type server struct {
		Type    string            `json:"type"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	list := map[string]server{}
	for _, s := range servers {
		if s.URL != "" {
			list[s.Name] = server{Type: "http", URL: s.URL, Headers: s.Headers}
		} else {
			list[s.Name] = server{Type: "stdio", Command: s.Command, Args: s.Args, Env: s.Env}
		}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": list})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "mcp-"+uuid.NewString()+".json")
	return file, os.WriteFile(file, data, 0o600)
}
