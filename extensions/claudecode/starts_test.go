package claudecode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// tree lays out files below a folder.
func tree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProjectStartsLooksWhereTheProgramLooks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := func(name string) string { return `{"mcpServers":{"` + name + `":{"command":"` + name + `"}}}` }
	hook := func(name string) string {
		return `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + name + `"}]}]}}`
	}
	tree(t, root, map[string]string{
		"top/.mcp.json": server("top"), "top/.claude/settings.json": hook("never"), "top/.claude/settings.local.json": hook("never"),
		"top/repo/.git/HEAD": "", "top/repo/.mcp.json": server("repo"),
		"top/repo/.claude/settings.json": hook("never"), "top/repo/.claude/settings.local.json": hook("repo-local"),
		"top/repo/sub/.claude/settings.json": hook("sub"), "top/repo/sub/.claude/settings.local.json": hook("sub-local"),
		"top/repo/.git/worktrees/w/HEAD": "", "elsewhere/w/.git": "gitdir: " + root + "/top/repo/.git/worktrees/w\n", "elsewhere/w/x/y": "",
		"elsewhere/module/.git": "gitdir: ../.git/modules/module\n", "elsewhere/broken/.mcp.json": "{",
		"elsewhere/plain/.claude/settings.json": `{"enabledPlugins":{"p@m":true},"apiKeyHelper":"key","statusLine":{"type":"command","command":"line"}}`,
	})
	if err := os.Symlink(filepath.Join(root, "top", "repo", "sub"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string][]string{
		"top/repo/sub":     {"hook sub", "hook sub-local", "hook repo-local", "mcpServer repo", "mcpServer top"},
		"link":             {"hook sub", "hook sub-local", "hook repo-local", "mcpServer repo", "mcpServer top"},
		"top/repo":         {"hook never", "hook repo-local", "mcpServer repo", "mcpServer top"},
		"elsewhere/w":      {"hook repo-local"},
		"elsewhere/w/x":    {"hook repo-local"},
		"elsewhere/module": nil,
		"elsewhere/broken": {"other unreadable MCP servers"},
		"elsewhere/plain":  {"plugin p@m", "other apiKeyHelper", "other statusLine"},
	} {
		starts, err := (&provider{}).ProjectStarts(t.Context(), filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range starts {
			if !strings.HasPrefix(s.Source, root) { // what lies above the test's folder
				continue
			}
			what := s.Name
			if s.Kind == "hook" {
				what = s.Command
			}
			got = append(got, s.Kind+" "+what)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

// Nothing that an untrusted folder, a folder above or the main checkout brings
// along starts, neither in a chat nor when it is asked what is offered there; the
// same bait bites in a trusted one, and every bite was announced.
func TestRealTrustBait(t *testing.T) {
	l := newLab(t)
	log := filepath.Join(l.home, "bait.log")
	hook := func(who string) string {
		one := []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "echo hook-" + who + " >> " + log}}}}
		data, err := json.Marshal(map[string]any{
			"hooks":        map[string]any{"SessionStart": one, "UserPromptSubmit": one, "PreToolUse": one, "Stop": one},
			"apiKeyHelper": "echo key-" + who + " >> " + log + "; echo none",
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	server := func(who string) string {
		return `{"mcpServers":{"` + who + `":{"command":"sh","args":["-c","echo mcp-` + who + ` >> ` + log + `"]}}}`
	}
	tree(t, l.cwd, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": "", ".git/config": "[core]\n",
		".mcp.json": server("above"), ".claude/settings.local.json": hook("main"),
		"sub/.mcp.json": server("own"), "sub/.claude/settings.json": hook("own"), "sub/.claude/settings.local.json": hook("local"),
		"sub/.claude/skills/s/SKILL.md": "---\nname: s\ndescription: x\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: echo hook-skill >> " + log + "\n---\nx",
	})
	sub := filepath.Join(l.cwd, "sub")
	in := func(off bool) func(*agent.OpenRequest) {
		return func(r *agent.OpenRequest) { r.WorkingDirectory, r.ProjectSourcesOff = sub, off }
	}
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := l.open(rec, in(true))
	l.completed(chat, "scenario:bash-allow")
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	resumed := l.open(newRecorder(), func(r *agent.OpenRequest) { in(true)(r); r.Resume = rec.ready.Handle })
	l.completed(resumed, "hello")
	if err := resumed.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.h.Provider.(agent.Cataloger).Catalog(l.ctx(), sub); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(log); err == nil {
		t.Fatalf("an untrusted folder started: %s", got)
	}

	starts, err := l.h.Provider.(agent.ProjectStarter).ProjectStarts(l.ctx(), sub)
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(starts)
	if err != nil {
		t.Fatal(err)
	}
	trusted := l.open(newRecorder(), in(false))
	l.completed(trusted, "hello")
	if err := trusted.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(log)
	for _, who := range []string{"hook-own", "hook-local", "hook-main", "mcp-own", "mcp-above"} {
		if !strings.Contains(string(got), who) {
			t.Errorf("the bait %s does not bite, the test proves nothing of it: %s", who, got)
		}
	}
	for bite := range strings.FieldsSeq(string(got)) {
		if !strings.Contains(string(said), bite) {
			t.Errorf("%s started and was not announced: %s", bite, said)
		}
	}
}
