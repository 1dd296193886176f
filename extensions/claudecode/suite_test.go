package claudecode

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/e2e/agents"
)

// The contract suites on the real program.

func TestRealProviderSuite(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	agenttest.Provider(t, agenttest.ProviderConfig{
		New: func(*testing.T) agent.ChatProvider { return l.h.Provider },
		Open: func(t *testing.T) agent.OpenRequest {
			dir := filepath.Join(l.home, "suite-"+uuid.NewString()[:8])
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			return agent.OpenRequest{ChatID: "suite-" + filepath.Base(dir), Kind: agent.KindWorkspace, WorkingDirectory: dir}
		},
		Confined: func(t *testing.T) agent.OpenRequest {
			return agent.OpenRequest{
				ChatID: "suite-confined", Kind: agent.KindConfined, WorkingDirectory: t.TempDir(), MCPServers: []agent.MCPServer{l.noteServer(t)},
			}
		},
		Handover: func(*testing.T) agent.Handover { return l.h.Handover },
		Prompts: agenttest.Prompts{
			Text: "scenario:think", Approval: "scenario:bash-allow", Question: "scenario:ask", Running: "scenario:slow", Plan: "scenario:todo",
			Subagents: "scenario:task", AgentTurn: "scenario:task-background", Fail: "scenario:error-500",
		},
		Faults: []agenttest.Fault{
			{Name: "NoSuchProgram", Apply: func(r *agent.OpenRequest) { r.Binary = "/nonexistent/claude" }, OpenFails: true},
			{Name: "NotThisProgram", Apply: func(r *agent.OpenRequest) { r.Binary = "/bin/true" }, OpenFails: true},
			{Name: "UnknownResume", Apply: func(r *agent.OpenRequest) { r.Args = append(r.Args, "--no-such-flag") }, OpenFails: true},
		},
		Races: 3,
	})
}

func TestRealSourceSuite(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	agenttest.Source(t, agenttest.SourceConfig{
		Harness: harnessID,
		New:     func(*testing.T) agent.SessionSource { return l.h.Source },
		Roots: func(t *testing.T) []string {
			return []string{filepath.Join(l.home, "root-"+uuid.NewString()[:8])}
		},
		Live: func(t *testing.T, roots []string) agenttest.LiveSession {
			own := *l
			own.t = t
			own.cwd = filepath.Join(l.home, "live-"+uuid.NewString()[:8])
			if err := os.MkdirAll(own.cwd, 0o700); err != nil {
				t.Fatal(err)
			}
			own.acceptFolderIn(roots[0])
			id := uuid.NewString()
			u := own.terminal(agent.Command{
				Argv: []string{l.bin, "--session-id", id, "--permission-mode", modeAsk}, Cwd: own.cwd,
				Env: map[string]string{configDirEnv: roots[0]},
			})
			return agenttest.LiveSession{
				ID: id, Pid: u.cmd.Process.Pid, Cwd: own.cwd,
				Steps: []agenttest.Step{
					{Name: "idle at first", Do: func() {}, Want: func(x agent.Snapshot) bool { return x.Status == agent.StatusIdle }},
					{
						Name: "idle after a turn", Do: func() { u.say("hello") },
						Want: func(x agent.Snapshot) bool {
							return x.Status == agent.StatusIdle && x.LastTurn == "completed" && x.Title == "hello"
						},
					},
					{
						Name: "waiting for an approval", Do: func() { u.say("scenario:bash-allow") },
						Want: func(x agent.Snapshot) bool {
							return x.Status == agent.StatusWaiting && x.WaitingKind == agent.WaitApproval
						},
					},
				},
				Exit: func() { _ = u.cmd.Process.Signal(os.Interrupt); _ = u.cmd.Process.Kill() },
			}
		},
		Stale: func(t *testing.T, roots []string) { writeStale(t, roots[0]) },
	})
}

// writeStale leaves behind what killed processes and careless writers leave.
func writeStale(t *testing.T, root string) {
	t.Helper()
	dir := sessionsDir(root)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	put := func(name, body string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stale := func(pid int, ticks string) {
		t.Helper()
		body, err := json.Marshal(map[string]any{
			"pid": pid, "sessionId": uuid.NewString(), "cwd": "/", "procStart": ticks, "status": "busy",
		})
		if err != nil {
			t.Fatal(err)
		}
		put(fmt.Sprintf("%d.json", pid), string(body))
	}
	stale(dead.Process.Pid, "1")
	stale(os.Getpid(), "12345") // the pid is ours now, the entry is not
	put("77.json", "")
	put("78.json", `{"pid":78`)
	put("79.json", `{"pid":80}`)
	put("x.json", "{}")
	put("81.json.tmp", "{}")
	put("83.abcdef.key", "secret")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "82.json")); err != nil {
		t.Fatal(err)
	}
}

func TestRealHandoverSuite(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	l.acceptFolder()
	agenttest.Handover(t, agenttest.HandoverConfig{
		New: func(*testing.T) agent.Handover { return l.h.Handover },
		Session: func(t *testing.T) (agent.Handle, []agent.Item) {
			own := *l
			own.t = t
			rec := newRecorder()
			rec.decide = choose(optionAllow)
			chat := own.open(rec, nil)
			own.completed(chat, "scenario:think")
			if err := chat.Close(own.ctx()); err != nil {
				t.Fatal(err)
			}
			return *rec.ready.Handle, rec.rows()
		},
		Env: l.host.Environ(nil),
	})
}
