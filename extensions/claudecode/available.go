package claudecode

import (
	"context"
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
