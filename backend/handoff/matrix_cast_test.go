package handoff

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/e2e/agents"
	"github.com/whippletree-app/whippletree/e2e/modelserver"
	"github.com/whippletree-app/whippletree/extensions/claudecode"
	"github.com/whippletree-app/whippletree/extensions/rehearsal"
)

// cast is what the matrix must know of an agent.
type cast struct {
	harness func(*agentkit.Host) agent.Harness
	// setUp prepares the home and returns what is set in everybody's environment.
	setUp func(t *testing.T, w *matrixWorld) map[string]string
	args  func(dir string) []string
	// ready is on its screen once it can be typed into; hold is a prompt whose
	// turn stands still while the world holds, ask one that needs an answer.
	ready, hold, ask string
	// link reads the tree from one line of a transcript.
	link       func(line []byte) (id, parent string)
	transcript func(dir, id string) string
}

var rehearsalCast = &cast{
	harness: rehearsal.New,
	setUp:   func(*testing.T, *matrixWorld) map[string]string { return nil },
	args:    func(dir string) []string { return []string{"--pace", "none", "--hold", filepath.Join(dir, "on")} },
	ready:   "›", hold: "hello slowly", ask: "run echo",
	link: func(line []byte) (string, string) {
		var r struct{ ID, Parent string }
		_ = json.Unmarshal(line, &r)
		return r.ID, r.Parent
	},
	transcript: func(dir, id string) string {
		return filepath.Join(dir, "data", "rehearsal", "transcripts", id+".jsonl")
	},
}

// claudeKey is given to the agent as its key; the scripted model asks for none.
const claudeKey = "sk-test-dummy-key-0000"

var claudeCast = &cast{
	harness: claudecode.New,
	args:    func(string) []string { return nil },
	setUp: func(t *testing.T, w *matrixWorld) map[string]string {
		bin := agents.Binary(t, "claude-code", "claude")
		server, err := modelserver.New()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		state, err := json.Marshal(map[string]any{
			"hasCompletedOnboarding": true, "theme": "dark",
			"customApiKeyResponses": map[string]any{"approved": []string{claudeKey[2:]}, "rejected": []string{}},
			"projects":              map[string]any{w.dir: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.dir, ".claude.json"), state, 0o600); err != nil {
			t.Fatal(err)
		}
		return map[string]string{
			"ANTHROPIC_BASE_URL": server.URL(), "ANTHROPIC_API_KEY": claudeKey, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			"DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_RETRIES": "2",
			"PATH": filepath.Dir(bin) + string(os.PathListSeparator) + os.Getenv("PATH"),
		}
	},
	ready: "❯", hold: "scenario:hold", ask: "scenario:bash-allow",
	link: func(line []byte) (string, string) {
		var r struct {
			UUID        string `json:"uuid"`
			ParentUUID  string `json:"parentUuid"`
			IsSidechain bool   `json:"isSidechain"`
		}
		if json.Unmarshal(line, &r) != nil || r.IsSidechain {
			return "", ""
		}
		return r.UUID, r.ParentUUID
	},
	transcript: func(dir, id string) string {
		list, _ := filepath.Glob(filepath.Join(dir, ".claude", "projects", "*", id+".jsonl"))
		if len(list) == 0 {
			return ""
		}
		return list[0]
	},
}

func castNamed(name string) *cast {
	if name == "claude-code" {
		return claudeCast
	}
	return rehearsalCast
}

// kit is what the agent's harness gets.
func (c *cast) kit(dir string, env []string) *agentkit.Host {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &agentkit.Host{Home: dir, DataDir: filepath.Join(dir, "data"), CacheDir: filepath.Join(dir, "cache"), RunDir: dir, Executable: exe,
		Env:     func() []string { return env },
		Watcher: agentkit.NewWatcher(agentkit.WatcherOptions{}), Exits: processes.NewExitWatcher()}
}
