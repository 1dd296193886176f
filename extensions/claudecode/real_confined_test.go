package claudecode

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

const canary = "CANARY-7f3a"

// put writes a file below the home of the lab.
func (l *lab) put(name string, v any) {
	l.t.Helper()
	data, isText := v.(string)
	if !isText {
		raw, err := json.Marshal(v)
		if err != nil {
			l.t.Fatal(err)
		}
		data = string(raw)
	}
	path := filepath.Join(l.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// bait lays out in home and folder whatever the program would read or start by
// itself. It returns the file that all of it would write to.
func (l *lab) bait() string {
	log := filepath.Join(l.home, "bait.log")
	hooks := func(who string) map[string]any {
		one := []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "echo hook " + who + " >> " + log}}}}
		return map[string]any{
			"permissions": map[string]any{"allow": []string{"Bash(*)"}},
			"env":         map[string]string{"CANARY": canary},
			"hooks":       map[string]any{"SessionStart": one, "UserPromptSubmit": one, "Stop": one},
		}
	}
	server := func(who string) map[string]any {
		return map[string]any{"type": "stdio", "command": "sh", "args": []string{"-c", "echo mcp " + who + " >> " + log}}
	}
	l.put(".claude/settings.json", hooks("user"))
	l.put(".claude/CLAUDE.md", canary+" user memory")
	l.put(".claude/skills/canary/SKILL.md", "---\nname: canary\ndescription: "+canary+" user skill\n---\n"+canary)
	l.put(".claude/commands/canary.md", canary)
	l.put(".claude/agents/canary.md", "---\nname: canary\ndescription: "+canary+"\n---\n"+canary)
	l.acceptFolder()
	var state map[string]any
	if err := readJSON(filepath.Join(l.home, ".claude.json"), &state); err != nil {
		l.t.Fatal(err)
	}
	state["mcpServers"] = map[string]any{"userbait": server("user")}
	l.put(".claude.json", state)
	l.put("proj/CLAUDE.md", canary+" project memory")
	l.put("proj/AGENTS.md", canary+" agents file")
	l.put("proj/.claude/settings.json", hooks("project"))
	l.put("proj/.claude/skills/canary2/SKILL.md", "---\nname: canary2\ndescription: "+canary+" project skill\n---\n"+canary)
	l.put("proj/.mcp.json", map[string]any{"mcpServers": map[string]any{"projectbait": server("project")}})
	return log
}

// written lists the files below home with their sizes and times, without what
// the lab itself uses.
func (l *lab) written() map[string]string {
	l.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(l.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.home, path)
		if err != nil || d.IsDir() {
			if rel == "tmp" || rel == "mcp.log" {
				return fs.SkipDir
			}
			return err
		}
		if rel == "mcp.log" {
			return nil
		}
		data, err := os.ReadFile(path)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return files
}

func declared(rel string) bool {
	return slices.ContainsFunc(confinedResidue, func(p string) bool {
		ok, err := filepath.Match(p, rel)
		return ok && err == nil
	})
}

func (l *lab) confined(rec *recorder, change func(*agent.OpenRequest)) agent.ChatSession {
	l.t.Helper()
	return l.open(rec, func(r *agent.OpenRequest) {
		r.Kind, r.Instruction, r.MCPServers = agent.KindConfined, "You are Pixel.", []agent.MCPServer{l.noteServer(l.t)}
		if change != nil {
			change(r)
		}
	})
}

func TestRealConfinedTakesNoBait(t *testing.T) {
	l := newLab(t)
	log := l.bait()
	before := l.written()
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.confined(rec, nil)
	if rec.ready.Handle != nil || len(rec.catalog.Commands) != 0 || len(rec.catalog.Modes) != 1 {
		t.Errorf("ready: %+v, catalog %+v", rec.ready, rec.catalog)
	}
	argv, err := agentkit.Argv(rec.ready.Pid)
	if err != nil || strings.Contains(strings.Join(argv, " "), labToken) {
		t.Errorf("argv: %q %v", argv, err)
	}
	private, err := filepath.Glob(filepath.Join(l.host.RunDir, "confined-*", "mcp-*.json"))
	if err != nil || len(private) != 1 {
		t.Fatalf("the server's file: %v %v", private, err)
	}
	if info, err := os.Stat(private[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the server's file: %v %v", info, err)
	}
	l.completed(chat, "scenario:mcp-note")
	note := rec.row(t, ofType(agent.ItemTool))
	if note.Tool != agent.ToolMCP || note.Server != "lab" || note.Output != "kept the note" || note.State != agent.StateCompleted {
		t.Errorf("the tool: %+v", note)
	}
	if len(rec.approvals) != 1 || len(rec.approvals[0].Options) != 3 || rec.approvals[0].Options[1].Reach != "session" {
		t.Errorf("the card: %+v", rec.approvals)
	}
	// A tool that the chat does not have is refused, whatever the model wants.
	l.completed(chat, "scenario:bash-allow")
	if bash := rec.row(t, named("Bash")); bash.State == agent.StateCompleted {
		t.Errorf("bash: %+v", bash)
	}
	if len(rec.approvals) != 1 {
		t.Errorf("a foreign tool was asked of a person: %+v", rec.approvals[1:])
	}
	for _, turn := range l.server.Turns() {
		if !slices.Equal(turn.Tools, []string{"mcp__lab__echo_note"}) {
			t.Errorf("the model was offered %v", turn.Tools)
		}
		if strings.Contains(string(turn.Raw), canary) {
			t.Error("bait reached the model")
		}
		if !strings.Contains(turn.System, "You are Pixel.") {
			t.Errorf("the instruction is missing: %q", turn.System)
		}
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(log); err == nil {
		t.Errorf("bait was started: %s", got)
	}
	for rel, data := range l.written() {
		if was, had := before[rel]; (!had || was != data) && !declared(rel) {
			t.Errorf("written: %s", rel)
		}
		if strings.Contains(data, "You are Pixel.") || strings.Contains(data, labToken) {
			t.Errorf("%s holds what was said or a secret", rel)
		}
	}
	if left, err := os.ReadDir(l.host.RunDir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}

	// The bait works: a workspace chat in a trusted folder takes it.
	l.server.Reset()
	open := l.open(newRecorder(), nil)
	l.completed(open, "hello")
	got, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(got), "hook user") || !strings.Contains(string(got), "hook project") {
		t.Errorf("the bait does not bite, the test proves nothing: %s %v", got, err)
	}
	if !strings.Contains(string(l.server.Turns()[0].Raw), canary) {
		t.Error("the canaries do not sing, the test proves nothing")
	}
}

// Whatever the program has beyond what it was given ends the chat: here a
// person's own arguments bring a server along.
func TestRealConfinedEndsWithMoreThanItWasGiven(t *testing.T) {
	l := newLab(t)
	l.put("more.json", map[string]any{"mcpServers": map[string]any{"other": map[string]any{"type": "stdio", "command": "cat"}}})
	_, err := l.h.Provider.Open(l.ctx(), agent.OpenRequest{
		ChatID: "chat-1", Kind: agent.KindConfined, WorkingDirectory: l.cwd,
		Args: []string{"--mcp-config", filepath.Join(l.home, "more.json")},
	}, newRecorder())
	if err == nil || !strings.Contains(err.Error(), "server other") {
		t.Errorf("opened: %v", err)
	}
	for _, bad := range []agent.OpenRequest{
		{Kind: agent.KindConfined, WorkingDirectory: l.cwd, Mode: modeBypass},
		{Kind: agent.KindConfined, WorkingDirectory: l.cwd, Resume: &agent.Handle{NativeID: "x"}},
	} {
		if _, err := l.h.Provider.Open(l.ctx(), bad, newRecorder()); err == nil {
			t.Errorf("opened: %+v", bad)
		}
	}
	if left, err := os.ReadDir(l.host.RunDir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
