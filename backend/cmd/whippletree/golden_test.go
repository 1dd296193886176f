package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

var update = flag.Bool("update", false, "write the golden files")

const noon = int64(1_800_000_000_000)

func exampleSessions() api.Sessions {
	return api.Sessions{Sessions: []model.Session{{
		Key: model.SessionKey{Harness: "claude-code", ID: "0b4c"}, Title: "Fix the\nlogin", Model: "opus", Mode: "default",
		State: model.SessionWaiting, StateSince: noon - 90_000, WaitingKind: agent.WaitApproval, WaitingFor: "rm -rf build",
		Evidence: model.Evidence{Source: "registry", Text: "sessions/4711.json says waiting", At: noon - 90_000},
		Cwd:      "/home/me/shop", Project: model.Project{Root: "/home/me/shop", Name: "shop", Branch: "main"},
		Pid: 4711, Link: agent.LinkProved, Place: model.Place{Kind: "tmux", App: "tmux", Label: "tmux work:1.0", External: true, CanFocus: true},
		Subagents: []agent.SubagentInfo{{ID: "a", Type: "explore", Status: "running"}}, NeedsYou: true,
	}, {
		Key: model.SessionKey{Harness: "rehearsal", ID: "9f"}, State: model.SessionIdle, StateSince: noon - 3*3600_000,
		Evidence: model.Evidence{Source: "chat"}, Cwd: "/home/me/shop", Project: model.Project{Root: "/home/me/shop", Name: "shop"},
		Place: model.Place{Kind: "none"}, ChatID: "c1",
	}}}
}

func exampleCard() model.ApprovalCard {
	return model.ApprovalCard{
		Approval: agent.Approval{
			ID: "ap1", ItemID: "t1", Kind: agent.ApprovalTool, Title: "Run a command",
			Options: []agent.Option{
				{ID: "yes", Label: "Yes", Kind: agent.OptionAllowOnce, Reach: "once"},
				{ID: "no", Label: "No", Kind: agent.OptionRejectOnce, Reach: "once", AllowsComment: true},
			},
			Preview: &agent.Preview{Command: "rm -rf build\nmake", Cwd: "/home/me/shop"},
		},
		ChatID: "c1", Turn: 2, At: noon, Revision: 1, State: model.CardOpen,
	}
}

func exampleChat() model.ChatSummary {
	return model.ChatSummary{
		ID: "c1", Title: "Fix the login", Harness: "rehearsal", Provider: "rehearsal", Kind: agent.KindWorkspace, Cwd: "/home/me/shop",
		Project: model.Project{Root: "/home/me/shop", Name: "shop"}, Turn: model.TurnIdle, State: model.SessionIdle,
		Hand: model.Hand{State: model.HandApp}, LastEnd: &agent.TurnEnd{Outcome: agent.OutcomeCompleted}, CreatedAt: noon, UpdatedAt: noon,
	}
}

// stream plays a short turn to a watcher.
func stream(to watcher) {
	f := newFollower(to, "p1")
	row := func(r model.Row) { f.take(r) }
	row(model.Row{Item: agent.Item{ID: "u1", Type: agent.ItemUser, Text: "hello", ClientID: "p1"}, Seq: 1, Turn: 1})
	row(model.Row{Item: agent.Item{ID: "m1", Type: agent.ItemText, Text: "Good "}, Seq: 2, Turn: 1, Provisional: true})
	f.append(api.Appended{ID: "m1", At: 5, Text: "morning."})
	row(model.Row{Item: agent.Item{ID: "m1", Type: agent.ItemText, Text: "Good morning.", EndedAt: noon}, Seq: 2, Turn: 1})
	tool := agent.Item{ID: "t1", Type: agent.ItemTool, CallID: "t1", Name: "Bash", Tool: agent.ToolExecute, Title: "make", State: agent.StateRunning}
	row(model.Row{Item: tool, Seq: 3, Turn: 1, Provisional: true})
	to.card(exampleCard())
	tool.State = agent.StateCompleted
	row(model.Row{Item: tool, Seq: 3, Turn: 1})
	to.notice(agent.Notice{Level: agent.LevelInfo, Text: "The model changed."})
}

// The outputs that docs/cli.md promises.
func TestGolden(t *testing.T) {
	now := time.UnixMilli(noon)
	var js bool
	for name, show := range map[string]func(*bytes.Buffer) error{
		"ls": func(b *bytes.Buffer) error { return showSessions(b, exampleSessions(), js, now) },
		"chats": func(b *bytes.Buffer) error {
			return showChats(b, api.Chats{Chats: []model.ChatSummary{exampleChat()}}, js)
		},
		"approvals": func(b *bytes.Buffer) error {
			return showApprovals(b, api.Approvals{Approvals: []model.ApprovalCard{exampleCard()}}, js)
		},
		"providers": func(b *bytes.Buffer) error {
			return showProviders(b, api.Harnesses{Harnesses: []model.Harness{
				{Identity: agent.Identity{Harness: "claude-code", DisplayName: "Claude Code", Mark: "CC"}, Extension: "claude-code", Enabled: true,
					Kinds: []agent.Kind{agent.KindWorkspace}, CanHandOver: true, Availability: &agent.Availability{Available: true, Version: "2.1.0"}},
				{Identity: agent.Identity{Harness: "codex", DisplayName: "Codex", Mark: "CX"}, Extension: "codex", Enabled: true,
					Kinds: []agent.Kind{}, Availability: &agent.Availability{Reason: agent.ReasonNotSignedIn, Detail: "codex login"}},
			}}, js)
		},
		"doctor": func(b *bytes.Buffer) error {
			return showDoctor(b, api.DoctorResult{Checks: []model.DoctorCheck{
				{ID: "host", Title: "Host", State: "ok", Text: "version 0.1.0"},
				{ID: "agent.codex", Title: "Codex", State: "info", Text: "not signed in", Fix: "codex login"},
			}}, js)
		},
		"status": func(b *bytes.Buffer) error {
			return showStatus(b, api.StatusResult{Live: true, Agent: &agent.AgentInfo{Name: "Claude Code", Version: "2.1.332"}, Status: &agent.Inspection{
				Account: &agent.Account{Email: "ada@example.org", Plan: "max"},
				Servers: []agent.ServerState{{Name: "lab", Status: "connected", Scope: "project", Tools: []string{"note"}}, {Name: "old", Status: "failed", Error: "Connection closed"}},
				Hooks:   []agent.HookState{{Event: "PreToolUse", Matcher: "Bash", Source: "User settings", Type: "command", Command: "check.sh"}},
				Plan:    &agent.PlanUse{Name: "max", Windows: []agent.PlanWindow{{Label: "5 hours", UsedPercent: 93, ResetsAt: noon + 90*60_000}}},
				Session: &agent.Usage{Input: 100, Output: 20, CacheRead: 7, CacheWrite: 5, CostUSD: 0.0249},
			}}, js, now)
		},
		"rewind": func(b *bytes.Buffer) error {
			return showRewind(b, api.RewindPreview{Conversation: true, Rows: 4, Files: &agent.FileRewind{
				Possible: true, Files: []string{"/home/me/shop/login.go"}, Insertions: 2, Deletions: 1,
			}}, "both", js)
		},
		"run": func(b *bytes.Buffer) error {
			if !js {
				p := newPlain(b, b, func(c model.ApprovalCard) { b.WriteString(describe(c)) })
				stream(p)
				p.endLine()
				return nil
			}
			l := newLines(b)
			l.begin(exampleChat())
			stream(l)
			l.ended(agent.TurnEnd{Outcome: agent.OutcomeCompleted})
			return nil
		},
	} {
		for _, js = range []bool{false, true} {
			file := name + ".txt"
			if js {
				file = name + ".json"
			}
			var b bytes.Buffer
			if err := show(&b); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", file)
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
}

func TestCaseX03_NothingOfAnAgentReachesTheTerminalAsControl(t *testing.T) {
	bad := "a\x1b]52;c;cm0gLXJm\ab\x1b[2Jc\u202ed\u0085e\x7f\r"
	var b bytes.Buffer
	card := exampleCard()
	card.Title, card.Preview.Command = bad, bad
	if err := showApprovals(&b, api.Approvals{Approvals: []model.ApprovalCard{card}}, false); err != nil {
		t.Fatal(err)
	}
	p := newPlain(&b, &b, func(model.ApprovalCard) {})
	p.text(model.Row{Item: agent.Item{ID: "m", Type: agent.ItemText}}, bad)
	p.notice(agent.Notice{Text: bad})
	if err := showSessions(&b, api.Sessions{Sessions: []model.Session{{Title: bad}}}, false, time.UnixMilli(noon)); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(b.String(), harmful); i >= 0 {
		t.Errorf("%q", b.String()[i:])
	}
}
