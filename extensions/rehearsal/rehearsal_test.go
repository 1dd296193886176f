package rehearsal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
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
		Env:     func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir} },
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

func with(flags ...string) func(*agent.OpenRequest) {
	return func(r *agent.OpenRequest) { r.Args = append(r.Args, flags...) }
}

func TestProvider(t *testing.T) {
	h := newHost(t)
	agenttest.Provider(t, agenttest.ProviderConfig{
		New:  func(*testing.T) agent.ChatProvider { return New(h).Provider },
		Open: func(t *testing.T) agent.OpenRequest { return request(t) },
		Confined: func(t *testing.T) agent.OpenRequest {
			r := request(t)
			r.Kind = agent.KindConfined
			return r
		},
		Handover: func(*testing.T) agent.Handover { return New(h).Handover },
		Prompts: agenttest.Prompts{
			Text: "hello", Approval: "run echo", Question: "question", Running: "wait",
			Plan: "plan", Subagents: "agents", AgentTurn: "later", Fail: "fail",
		},
		Faults: []agenttest.Fault{
			{Name: "DiesAtStart", Apply: with("--die-at", "start"), OpenFails: true},
			{Name: "DiesAtPrompt", Apply: with("--die-at", "prompt"), Prompt: "hello", Ends: agent.OutcomeFailed, Dies: true},
			{Name: "DiesAtFirstDelta", Apply: with("--die-at", "first-delta"), Prompt: "hello", Ends: agent.OutcomeFailed, Dies: true},
			{Name: "DiesInThought", Apply: with("--die-at", "thought"), Prompt: "hello", Ends: agent.OutcomeFailed, Dies: true},
			{Name: "DiesMidTurn", Apply: with("--die-mid-turn"), Prompt: "hello", Ends: agent.OutcomeFailed, Dies: true},
			{Name: "DiesInTool", Apply: with("--die-at", "tool"), Prompt: "edit", Ends: agent.OutcomeFailed, Dies: true},
			{Name: "DiesAsking", Apply: with("--die-at", "ask"), Prompt: "run", Ends: agent.OutcomeFailed, Dies: true},
			{Name: "DiesBeforeEnd", Apply: with("--die-at", "before-end"), Prompt: "hello", Ends: agent.OutcomeFailed, Dies: true},
			{Name: "DiesAfterEnd", Apply: with("--die-at", "after-end"), Prompt: "hello", Ends: agent.OutcomeCompleted, Dies: true},
			{Name: "S02Noise", Apply: with("--noise"), Prompt: "edit and run", Ends: agent.OutcomeCompleted},
			{Name: "S03StderrFlood", Apply: with("--stderr-flood", "5000000"), Prompt: "hello", Ends: agent.OutcomeCompleted},
			{Name: "GrandchildHoldsStdout", Apply: with("--grandchild-holds-stdout"), Prompt: "hello", Ends: agent.OutcomeCompleted},
			{Name: "S04GrandchildAndDeath", Apply: with("--grandchild-holds-stdout", "--die-mid-turn"), Prompt: "hello", Ends: agent.OutcomeFailed, Dies: true},
			{Name: "IgnoresTermAndLingers", Apply: with("--ignore-term", "--linger"), Prompt: "hello", Ends: agent.OutcomeCompleted},
			{Name: "NeverAcknowledges", Apply: with("--no-ack"), Prompt: "run", Ends: agent.OutcomeCompleted},
			{Name: "Withdraws", Apply: with("--withdraw"), Prompt: "run", Ends: agent.OutcomeCompleted, Withdraws: true},
			{Name: "ManyDeltas", Apply: with("--deltas", "20000"), Prompt: "go", Ends: agent.OutcomeCompleted},
		},
	})
}
