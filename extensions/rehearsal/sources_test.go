package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// terminalSession starts the agent in a pseudo terminal.
func terminalSession(t *testing.T, h *agentkit.Host, root string, flags ...string) (id string, term *agenttest.Terminal, cwd string) {
	t.Helper()
	id = fmt.Sprintf("test-%d", lastSession())
	cwd = t.TempDir()
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	argv := append([]string{h.Executable, "rehearsal", "--session-id", id, "--pace", "none"}, flags...)
	term = agenttest.StartTerminal(t, agent.Command{
		Argv: argv, Cwd: cwd, Env: map[string]string{wire.HomeVariable: root},
	}, h.Env())
	return id, term, cwd
}

var (
	sessionMu sync.Mutex
	sessionN  int
)

func lastSession() int {
	sessionMu.Lock()
	defer sessionMu.Unlock()
	sessionN++
	return sessionN
}

func TestSource(t *testing.T) {
	h := newHost(t)
	agenttest.Source(t, agenttest.SourceConfig{
		Harness: ID,
		New:     func(t *testing.T) agent.SessionSource { return New(h).Source },
		Roots:   func(t *testing.T) []string { return []string{t.TempDir()} },
		Live: func(t *testing.T, roots []string) agenttest.LiveSession {
			id, term, cwd := terminalSession(t, h, roots[0])
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
		},
		Stale: func(t *testing.T, roots []string) {
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
		},
	})
}

func TestHandover(t *testing.T) {
	h := newHost(t)
	agenttest.Handover(t, agenttest.HandoverConfig{
		New: func(t *testing.T) agent.Handover { return New(h).Handover },
		Env: h.Env(),
		Session: func(t *testing.T) (agent.Handle, []agent.Item) {
			return storedSession(t, h, "edit and run, then plan and agents")
		},
		Prompt: "help me a little",
	})
}

// storedSession plays a chat and closes it.
func storedSession(t *testing.T, h *agentkit.Host, prompts ...string) (agent.Handle, []agent.Item) {
	t.Helper()
	rec := agenttest.NewRecorder()
	rec.Decide = func(_ context.Context, a agent.Approval) agent.ApprovalAnswer {
		return agent.ApprovalAnswer{OptionID: a.Options[0].ID}
	}
	s, err := New(h).Provider.Open(t.Context(), request(t), rec)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range prompts {
		rec.BeginPrompt()
		end, err := s.Prompt(t.Context(), agent.Prompt{Text: p, ClientID: fmt.Sprint("c", i)})
		rec.EndPrompt(end, err)
		if err != nil || end.Outcome != agent.OutcomeCompleted {
			t.Fatalf("%+v %v", end, err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, v := range rec.Violations() {
		t.Errorf("violation: %s", v)
	}
	return *rec.NativeHandle(), rec.Items()
}
