package claudecode

import (
	"context"
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

// short are the rules that every run takes; the others take minutes.
var short = agenttest.Choice{
	Provider: []string{"Availability", "StopAt/PermissionOpen", "Wire/Characters"},
	Source:   []string{"SwitchedOff"},
}

// TestRealContract holds Claude Code to the whole contract; without the full
// tier to a few rules.
func TestRealContract(t *testing.T) {
	l := newLab(t)
	l.acceptFolder()
	c := agenttest.Contract{Provider: l.providerConfig(), Source: l.sourceConfig(), Handover: l.handoverConfig()}
	if !agents.IsFull() {
		c = c.Only(short)
		c.Handover = nil
	}
	agenttest.Hold(t, c)
}

func (l *lab) providerConfig() *agenttest.ProviderConfig {
	held := func(name string) func(context.Context) error {
		return func(ctx context.Context) error { return l.server.WaitHeld(ctx, name) }
	}
	return &agenttest.ProviderConfig{
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
		Binary:   l.bin,
		Prompts: agenttest.Prompts{
			Text: "scenario:think", Approval: "scenario:bash-allow", Question: "scenario:ask", Running: "scenario:slow", Plan: "scenario:todo",
			Subagents: "scenario:task", AgentTurn: "scenario:task-background", Fail: "scenario:error-500", Command: "/rename Held to the contract",
			Characters: "scenario:unicode",
		},
		Points: []agenttest.Point{
			{At: agenttest.BeforeFirstEvent, Prompt: "scenario:hold-reply", Reached: held("reply")},
			{At: agenttest.MidText, Prompt: "scenario:hold"},
			{At: agenttest.MidReasoning, Prompt: "scenario:think-hold"},
			{At: agenttest.ToolOpen, Prompt: "scenario:bash-long", Decide: agenttest.First},
			{At: agenttest.PermissionOpen, Prompt: "scenario:bash-allow"},
			{At: agenttest.QuestionOpen, Prompt: "scenario:ask"},
			{At: agenttest.PlanOpen, Prompt: "scenario:plan", Apply: func(r *agent.OpenRequest) { r.Mode = "plan" }},
			{At: agenttest.SubagentOpen, Prompt: "scenario:task-hold", Reached: held("half")},
			{At: agenttest.BackgroundOpen, Prompt: "scenario:task-background-hold", Reached: held("half")},
			{At: agenttest.BetweenTurns, Prompt: "scenario:think"},
		},
		Marked: []agent.Ability{
			agent.AbilityReasoning, agent.AbilityApprovals, agent.AbilitySubagents, agent.AbilityInterrupt, agent.AbilityInputDuringTurn,
			agent.AbilitySteer, agent.AbilityQueue, agent.AbilityModels, agent.AbilityModes, agent.AbilityThinking, agent.AbilityUsage,
			agent.AbilityFork, agent.AbilityCommands, agent.AbilityTerminal,
		},
		Absent: map[agent.Ability]agenttest.Absence{
			agent.AbilityDocuments: {Why: "its messages take texts and images; a file is named by its path"},
			agent.AbilityFeatures:  {Why: "the handshake names none"},
		},
		Unstored: func(t *testing.T, hd agent.Handle) {
			path, ok := transcriptPath(configDir(l.host, hd.Env), hd.NativeID, hd.Cwd)
			if !ok {
				t.Fatal("there is no transcript")
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		Faults: []agenttest.Fault{
			{Name: "UnknownOption", Apply: func(r *agent.OpenRequest) { r.Args = append(r.Args, "--no-such-flag") }, OpenFails: true},
			{Name: "UnknownMode", Apply: func(r *agent.OpenRequest) { r.Mode = "yolo" }, OpenFails: true},
		},
		Disorder: []agenttest.Disorder{
			{Name: "PermissionBeforeItsTool", Prompt: "scenario:bash-allow", Moves: []agenttest.LineMove{{Line: `"type":"assistant".*"type":"tool_use"`, After: `"subtype":"can_use_tool"`}}},
			{Name: "UpdateWhileARequestStands", Prompt: "scenario:bash-allow", Repeats: []agenttest.LineMove{{Line: `"type":"assistant".*"type":"tool_use"`, After: `"subtype":"can_use_tool"`}}},
			{Name: "EchoBeforeAcceptance", Prompt: "scenario:think", Moves: []agenttest.LineMove{{Line: `"command_lifecycle".*"queued"`, After: `"isReplay":true`}}},
			{Name: "RequestTwice", Prompt: "scenario:bash-allow", Inserts: []agenttest.LineInsert{{After: `^(.*"subtype":"can_use_tool".*)`, Text: `$1`}}},
			{Name: "RequestAfterTheEnd", Prompt: "scenario:bash-allow", Repeats: []agenttest.LineMove{{Line: `"subtype":"can_use_tool"`, After: `"type":"result"`}}},
			{Name: "RowAfterTheEnd", Prompt: "scenario:bash-allow", Repeats: []agenttest.LineMove{{Line: `"type":"user".*"tool_result"`, After: `"type":"result"`}}},
			{Name: "AnswerAfterTheEnd", Prompt: "scenario:think", Repeats: []agenttest.LineMove{{Line: `"type":"assistant".*"type":"text"`, After: `"type":"result"`}}},
			{Name: "TextAfterTheEnd", Prompt: "scenario:think", Repeats: []agenttest.LineMove{{Line: `"text_delta"`, After: `"type":"result"`}}},
			{Name: "ForeignReply", Prompt: "scenario:think", Inserts: []agenttest.LineInsert{{
				After: `"subtype":"init"`, Text: `{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{}}}`,
			}}},
			{Name: "UnknownMessages", Prompt: "scenario:think", Inserts: []agenttest.LineInsert{
				{After: `"subtype":"init"`, Text: `{"type":"zz_future","uuid":"x","message":7}`},
				{After: `"message_start"`, Text: `{"type":"system","subtype":"zz_future","status":"done"}`},
				{After: `"message_delta"`, Text: `{"type":"stream_event","event":{"type":"zz_future","index":3}}`},
			}},
			{Name: "Withdrawn", Prompt: "scenario:bash-allow", Withdraws: true, Inserts: []agenttest.LineInsert{{
				After: `"request_id":"([^"]+)","request":\{"subtype":"can_use_tool"`, Text: `{"type":"control_cancel_request","request_id":"$1"}`, DelayMs: 100,
			}}},
		},
		Races: 3, Splits: 3, Flood: 8 << 20,
	}
}

func (l *lab) sourceConfig() *agenttest.SourceConfig {
	start := func(t *testing.T, root, cwd, id string, argv ...string) (agenttest.LiveSession, *tui) {
		own := *l
		own.t, own.cwd = t, cwd
		if err := os.MkdirAll(own.cwd, 0o700); err != nil {
			t.Fatal(err)
		}
		own.acceptFolderIn(root)
		u := own.terminal(agent.Command{
			Argv: append([]string{l.bin, "--permission-mode", modeAsk}, argv...), Cwd: own.cwd, Env: map[string]string{configDirEnv: root},
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
		}, u
	}
	return &agenttest.SourceConfig{
		Harness: harnessID,
		New:     func(*testing.T) agent.SessionSource { return l.h.Source },
		Roots: func(t *testing.T) []string {
			return []string{filepath.Join(l.home, "root-"+uuid.NewString()[:8])}
		},
		Live: func(t *testing.T, roots []string) agenttest.LiveSession {
			id := uuid.NewString()
			s, _ := start(t, roots[0], filepath.Join(l.home, "live-"+uuid.NewString()[:8]), id, "--session-id", id)
			return s
		},
		Twin: func(t *testing.T, roots []string, first agenttest.LiveSession) agenttest.LiveSession {
			first.Steps[1].Do() // only a session that was talked to can be opened again
			s, _ := start(t, roots[0], first.Cwd, first.ID, "--resume", first.ID)
			return s
		},
		Stale: func(t *testing.T, roots []string) { writeStale(t, roots[0]) },
	}
}

func (l *lab) handoverConfig() *agenttest.HandoverConfig {
	return &agenttest.HandoverConfig{
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
	}
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
