package rehearsal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/program"
)

// TestMain lets the test binary be the agent: the harness starts the host's
// own executable with the word "rehearsal".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rehearsal" {
		os.Exit(program.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr, os.Getenv, ""))
	}
	os.Exit(m.Run())
}

// newHost makes a host of its own whose processes and watches end with the
// test.
func newHost(t *testing.T) *agentkit.Host {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h := &agentkit.Host{
		Home: dir, DataDir: filepath.Join(dir, "data"), Executable: exe,
		// Under the race detector every process of ours would rest a second before it ends.
		Env: func() []string {
			return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GORACE=atexit_sleep_ms=0"}
		},
		Watcher: agentkit.NewWatcher(agentkit.WatcherOptions{}), Exits: processes.NewExitWatcher(),
	}
	t.Cleanup(func() {
		h.Exits.Close()
		if err := h.Watcher.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func request(t *testing.T, flags ...string) agent.OpenRequest {
	return agent.OpenRequest{
		ChatID: "chat-1", Kind: agent.KindWorkspace, WorkingDirectory: t.TempDir(),
		Args: append([]string{"--pace", "none"}, flags...),
	}
}
