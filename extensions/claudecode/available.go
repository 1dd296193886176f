package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

const signInCommand = "claude auth login"

// Availability looks for the program, asks it for its version and guesses
// whether it is signed in from what lies on disk. No network is used.
func (p *provider) Availability(ctx context.Context) (agent.Availability, error) {
	start, err := p.host.LaunchOf(harnessID)
	if err != nil {
		return agent.Availability{}, err
	}
	path, err := p.find(start.Binary)
	if err != nil && start.Binary != "" {
		return agent.Availability{Reason: agent.ReasonNotInstalled, Detail: "ls -l '" + start.Binary + "'"}, nil
	}
	if err != nil {
		return agent.Availability{Reason: agent.ReasonNotInstalled, Detail: "npm install -g @anthropic-ai/claude-code"}, nil
	}
	a := agent.Availability{Path: path}
	if a.Version, err = p.version(ctx, path, start.Env); err != nil {
		return agent.Availability{}, err
	}
	if n, ok := countStored(configDir(p.host, start.Env)); ok {
		a.StoredSessions = &n
	}
	if !parseVersion(a.Version).atLeast(oldest) {
		a.Reason, a.NeededVersion, a.Detail = agent.ReasonTooOld, oldest, "claude update"
		return a, nil
	}
	var signedIn bool
	if a.SignedInAs, signedIn = p.signedIn(start.Env); !signedIn {
		a.Reason, a.Detail = agent.ReasonNotSignedIn, signInCommand
		return a, nil
	}
	a.Available = true
	return a, nil
}

// versionBound is how long the program may take to tell its version.
const versionBound = 10 * time.Second

func (p *provider) version(ctx context.Context, path string, env map[string]string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, versionBound, errors.New("claude --version does not end"))
	defer cancel()
	out, err := p.host.Output(ctx, agentkit.Spec{
		Argv: []string{path, "--version"}, Dir: p.host.Home, Env: p.host.Environ(env, nested...),
		Purpose: "version", Owner: harnessID,
	}, 4096)
	if err != nil {
		return "", err
	}
	v, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return v, nil
}

// signedIn is a guess: a key in the environment, stored credentials, or an
// account that is remembered.
func (p *provider) signedIn(set map[string]string) (as string, ok bool) {
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
	} {
		if set[name] != "" || p.host.Getenv(name) != "" {
			return name, true
		}
	}
	dir := configDir(p.host, set)
	var state struct {
		Account struct {
			Email string `json:"emailAddress"`
		} `json:"oauthAccount"`
	}
	file := filepath.Join(p.host.Home, ".claude.json")
	if set[configDirEnv] != "" || p.host.Getenv(configDirEnv) != "" {
		file = filepath.Join(dir, ".claude.json")
	}
	_ = readJSON(file, &state) // unreadable: nothing is known
	if state.Account.Email != "" {
		return state.Account.Email, true
	}
	if regular(filepath.Join(dir, ".credentials.json")) {
		return "", true
	}
	var settings struct {
		Helper string            `json:"apiKeyHelper"`
		Env    map[string]string `json:"env"`
	}
	_ = readJSON(filepath.Join(dir, "settings.json"), &settings)
	if settings.Helper != "" || settings.Env["ANTHROPIC_API_KEY"] != "" || settings.Env["ANTHROPIC_AUTH_TOKEN"] != "" {
		return "", true
	}
	// The macOS keychain is not looked into: it would ask the person.
	return "", runtime.GOOS == "darwin"
}

func countStored(config string) (int, bool) {
	dirs, err := os.ReadDir(projectsDir(config))
	if err != nil {
		return 0, os.IsNotExist(err)
	}
	n := 0
	for _, d := range dirs {
		files, err := os.ReadDir(filepath.Join(projectsDir(config), d.Name()))
		if err != nil {
			continue
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".jsonl") {
				n++
			}
		}
	}
	return n, true
}

// ProjectStarts tells what the program would start by itself in a folder:
// hooks and MCP servers that the folder brings along, and its plugins. In the
// structured mode it starts them without asking.
func (p *provider) ProjectStarts(_ context.Context, cwd string) ([]agent.ProjectStart, error) {
	var list []agent.ProjectStart
	for _, name := range []string{"settings.json", "settings.local.json"} {
		file := filepath.Join(cwd, ".claude", name)
		var s projectSettings
		if err := readJSON(file, &s); err != nil {
			list = append(list, agent.ProjectStart{Kind: "other", Name: "unreadable settings", Source: file})
			continue
		}
		list = append(list, s.starts(file)...)
	}
	file := filepath.Join(cwd, ".mcp.json")
	var m struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			URL     string   `json:"url"`
		} `json:"mcpServers"`
	}
	if err := readJSON(file, &m); err != nil {
		return append(list, agent.ProjectStart{Kind: "other", Name: "unreadable MCP servers", Source: file}), nil
	}
	for _, name := range sortedKeys(m.Servers) {
		s := m.Servers[name]
		list = append(list, agent.ProjectStart{
			Kind: "mcpServer", Name: name, Source: file,
			Command: or(strings.TrimSpace(s.Command+" "+strings.Join(s.Args, " ")), s.URL),
		})
	}
	return list, nil
}

type projectSettings struct {
	Hooks map[string][]struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type    string `json:"type"`
			Command string `json:"command"`
			URL     string `json:"url"`
		} `json:"hooks"`
	} `json:"hooks"`
	Plugins    map[string]json.RawMessage `json:"enabledPlugins"`
	KeyHelper  string                     `json:"apiKeyHelper"`
	StatusLine struct {
		Command string `json:"command"`
	} `json:"statusLine"`
}

func (s *projectSettings) starts(file string) []agent.ProjectStart {
	var list []agent.ProjectStart
	for _, event := range sortedKeys(s.Hooks) {
		for _, group := range s.Hooks[event] {
			for _, h := range group.Hooks {
				list = append(list, agent.ProjectStart{
					Kind: "hook", Name: strings.TrimSpace(event + " " + group.Matcher),
					Command: or(h.Command, h.URL, h.Type), Source: file,
				})
			}
		}
	}
	for _, name := range sortedKeys(s.Plugins) {
		list = append(list, agent.ProjectStart{Kind: "plugin", Name: name, Source: file})
	}
	for name, command := range map[string]string{"apiKeyHelper": s.KeyHelper, "statusLine": s.StatusLine.Command} {
		if command != "" {
			list = append(list, agent.ProjectStart{Kind: "other", Name: name, Command: command, Source: file})
		}
	}
	return list
}

// recognizer knows the program among processes.
type recognizer struct{}

func (recognizer) Recognize(exe string, argv []string) agent.Recognition {
	name := filepath.Base(exe)
	if exe == "" && len(argv) > 0 {
		name = filepath.Base(argv[0])
	}
	agentLike := name == "claude" || name == "claude.exe" ||
		(len(argv) > 0 && (filepath.Base(argv[0]) == "claude" || argv[0] == "claude"))
	args := argv
	if len(args) > 0 {
		args = args[1:]
	}
	// Older versions run as a script: node .../claude-code/cli.js.
	if !agentLike && len(args) > 0 && strings.HasSuffix(filepath.ToSlash(args[0]), "/@anthropic-ai/claude-code/cli.js") {
		agentLike, args = true, args[1:]
	}
	if !agentLike {
		return agent.Recognition{}
	}
	r := agent.Recognition{Agent: true}
	for i, a := range args {
		switch flag, value, joined := strings.Cut(a, "="); flag {
		case "--resume", "-r", "--session-id":
			if !joined && i+1 < len(args) {
				value = args[i+1]
			}
			if checkID(value) == nil {
				r.SessionID = value
			}
		case "--version", "-v", "--help", "-h", "mcp", "doctor", "update", "upgrade", "install", "auth", "plugin",
			"plugins", "agents", "gateway", "setup-token", "daemon":
			r.Helper = i == 0
		case "--fork-session":
			r.SessionID = "" // the copy gets an id of its own
			return r
		}
	}
	return r
}

var _ agent.Cataloger = (*provider)(nil)
