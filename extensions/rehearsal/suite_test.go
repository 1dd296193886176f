package rehearsal

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

func with(flags ...string) func(*agent.OpenRequest) {
	return func(r *agent.OpenRequest) { r.Args = append(r.Args, flags...) }
}

// TestContract holds the demonstration to the whole contract.
func TestContract(t *testing.T) {
	h := newHost(t)
	agenttest.Hold(t, agenttest.Contract{Provider: providerConfig(h), Source: sourceConfig(h), Handover: handoverConfig(h)})
}

func providerConfig(h *agentkit.Host) *agenttest.ProviderConfig {
	harness := New(h)
	return &agenttest.ProviderConfig{
		New:  func(*testing.T) agent.ChatProvider { return harness.Provider },
		Open: func(t *testing.T) agent.OpenRequest { return request(t) },
		Confined: func(t *testing.T) agent.OpenRequest {
			r := request(t)
			r.Kind = agent.KindConfined
			return r
		},
		Handover: func(*testing.T) agent.Handover { return harness.Handover },
		Binary:   h.Executable,
		Prompts: agenttest.Prompts{
			Text: "hello", Approval: "run echo", Question: "question", Running: "wait", Plan: "plan", Subagents: "agents",
			AgentTurn: "later", Fail: "fail", Command: "/help", Characters: "Say " + agenttest.Characters,
		},
		Points: []agenttest.Point{
			{At: agenttest.BeforeFirstEvent, Prompt: "silent"},
			{At: agenttest.MidText, Prompt: "wait"},
			{At: agenttest.MidReasoning, Prompt: "ponder"},
			{At: agenttest.ToolOpen, Prompt: "run endless", Decide: agenttest.First},
			{At: agenttest.PermissionOpen, Prompt: "run"},
			{At: agenttest.QuestionOpen, Prompt: "question"},
			{At: agenttest.PlanOpen, Prompt: "plan", Apply: func(r *agent.OpenRequest) { r.Mode = "plan" }},
			{At: agenttest.SubagentOpen, Prompt: "errand"},
			{At: agenttest.BetweenTurns, Prompt: "hello"},
		},
		Unreachable: map[agenttest.Place]string{agenttest.BackgroundOpen: "its helpers end with their turn"},
		Absent: map[agent.Ability]agenttest.Absence{
			agent.AbilityFeatures: {Why: "it has none"},
			agent.AbilityRewind:   {Why: "its file is only appended to"},
			agent.AbilityFork:     {Why: "it opens a session under its own id only"},
		},
		Unstored: func(t *testing.T, hd agent.Handle) {
			if err := os.Remove(wire.Home(hd.Env[wire.HomeVariable]).Transcript(hd.NativeID)); err != nil {
				t.Fatal(err)
			}
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
		Disorder: []agenttest.Disorder{
			{Name: "EchoBeforeAcceptance", Prompt: "hello", Moves: []agenttest.LineMove{{Line: `"reply":"prompt"`, After: `"kind":"user"`}}},
			{Name: "PermissionBeforeItsTool", Prompt: "run", Moves: []agenttest.LineMove{{Line: `"kind":"tool"`, After: `"event":"ask"`}}},
			{Name: "UpdateWhileARequestStands", Prompt: "run", Repeats: []agenttest.LineMove{{Line: `"kind":"tool"`, After: `"event":"ask"`}}},
			{Name: "RequestTwice", Prompt: "run", Inserts: []agenttest.LineInsert{{After: `^(.*"event":"ask".*)`, Text: `$1`}}},
			{Name: "RequestAfterItsAnswer", Prompt: "run", Repeats: []agenttest.LineMove{{Line: `"event":"ask"`, After: `"reply":"answer"`}}},
			{Name: "RequestAfterTheEnd", Prompt: "run", Repeats: []agenttest.LineMove{{Line: `"event":"ask"`, After: `"state":"ended"`}}},
			{Name: "RowAfterTheEnd", Prompt: "run", Repeats: []agenttest.LineMove{{Line: `"kind":"tool".*"state":"done"`, After: `"state":"ended"`}}},
			{Name: "TextAfterTheEnd", Prompt: "hello", Repeats: []agenttest.LineMove{{Line: `"event":"append"`, After: `"state":"ended"`}}},
			{Name: "EndTwice", Prompt: "hello", Repeats: []agenttest.LineMove{{Line: `"state":"ended"`, After: `"event":"usage"|"reply"`}}},
			{Name: "ForeignReply", Prompt: "hello", Inserts: []agenttest.LineInsert{{After: `"event":"turn"`, Text: `{"reply":"prompt","id":1}`}}},
			{Name: "UnknownEvent", Prompt: "hello", Inserts: []agenttest.LineInsert{{After: `"event":"turn"`, Text: `{"event":"zz-future","block":7}`}}},
			{Name: "Withdrawn", Prompt: "run", Withdraws: true, Inserts: []agenttest.LineInsert{{After: `"event":"ask","ask":\{"id":"([^"]+)"`, Text: `{"event":"withdraw","askId":"$1"}`, DelayMs: 100}}},
		},
	}
}

func sourceConfig(h *agentkit.Host) *agenttest.SourceConfig {
	live := func(t *testing.T, roots []string, flags ...string) agenttest.LiveSession {
		id, term, cwd := terminalSession(t, h, roots[0], flags...)
		status := func(s agent.Status, kind agent.WaitingKind) func(agent.Snapshot) bool {
			return func(x agent.Snapshot) bool { return x.Status == s && x.WaitingKind == kind }
		}
		return agenttest.LiveSession{
			ID: id, Pid: term.Pid, Cwd: cwd,
			Steps: []agenttest.Step{
				{Name: "idle at first", Do: func() {}, Want: status(agent.StatusIdle, "")},
				{Name: "running", Do: func() { term.Type("wait\r") }, Want: status(agent.StatusRunning, "")},
				{Name: "idle after a stop", Do: func() { term.Type("\x1b") }, Want: func(x agent.Snapshot) bool {
					return x.Status == agent.StatusIdle && x.LastTurn == "interrupted" && x.Title == "wait"
				}},
				{Name: "waiting for an approval", Do: func() { term.Type("run\r") }, Want: status(agent.StatusWaiting, agent.WaitApproval)},
				{Name: "idle after the answer", Do: func() { term.Type("1") }, Want: func(x agent.Snapshot) bool {
					return x.Status == agent.StatusIdle && x.LastTurn == "completed" && x.LastTurnEndedAt > 0
				}},
				{Name: "waiting for an answer", Do: func() { term.Type("question\r") }, Want: status(agent.StatusWaiting, agent.WaitQuestion)},
				{Name: "idle again", Do: func() { term.Type("1\r\r\r") }, Want: status(agent.StatusIdle, "")},
				{Name: "failed", Do: func() { term.Type("fail\r") }, Want: func(x agent.Snapshot) bool { return x.LastTurn == "failed" }},
			},
			Exit: func() { term.Type("/exit\r") },
		}
	}
	return &agenttest.SourceConfig{
		Harness: ID,
		New:     func(t *testing.T) agent.SessionSource { return New(h).Source },
		Roots:   func(t *testing.T) []string { return []string{t.TempDir()} },
		Live:    func(t *testing.T, roots []string) agenttest.LiveSession { return live(t, roots) },
		Twin: func(t *testing.T, roots []string, first agenttest.LiveSession) agenttest.LiveSession {
			first.Steps[1].Do() // only a session that was talked to can be opened again
			waitFile(t, h, wire.Home(roots[0]).Transcript(first.ID))
			return live(t, roots, "--resume", first.ID)
		},
		Stale: staleEntries,
	}
}

// waitFile returns once the file is there.
func waitFile(t *testing.T, h *agentkit.Host, path string) {
	t.Helper()
	w := h.Watcher.Watch(filepath.Dir(path))
	defer w.Close()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-w.Wake():
			w.Take()
		case <-t.Context().Done():
			t.Fatalf("%s was not made", path)
		}
	}
}

// staleEntries leaves behind what killed processes and careless writers leave.
func staleEntries(t *testing.T, roots []string) {
	home := wire.Home(roots[0])
	if err := os.MkdirAll(home.Sessions(), 0o700); err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	stale := func(pid int, ticks string) {
		raw, err := json.Marshal(wire.Live{Pid: pid, StartTicks: ticks, Session: fmt.Sprintf("stale-%d", pid), Cwd: "/", Status: wire.StatusRunning})
		if err == nil {
			err = os.WriteFile(home.Live(pid), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stale(dead.Process.Pid, "1")
	stale(os.Getpid(), "12345") // the pid is ours now, the entry is not
	for name, body := range map[string]string{
		"77.json": "", "78.json": "{\"pid\":78", "79.json": "{\"pid\":80}", "x.json": "{}", "81.json.tmp": "{}",
	} {
		if err := os.WriteFile(filepath.Join(home.Sessions(), name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(home.Sessions(), "82.json")); err != nil {
		t.Fatal(err)
	}
}

func handoverConfig(h *agentkit.Host) *agenttest.HandoverConfig {
	return &agenttest.HandoverConfig{
		New: func(t *testing.T) agent.Handover { return New(h).Handover },
		Env: h.Env(),
		Session: func(t *testing.T) (agent.Handle, []agent.Item) {
			return storedSession(t, h, "edit and run, then plan and agents")
		},
		Prompt: "help me a little",
	}
}
