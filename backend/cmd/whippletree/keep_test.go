package main

import (
	"bytes"
	"encoding/json"
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

func exampleFound() api.SearchResult {
	return api.SearchResult{
		Titles: []model.ChatSummary{exampleChat()},
		Hits: []model.SearchHit{
			{ChatID: "c1", Title: "Fix the login", Agent: "rehearsal", Cwd: "/home/me/shop", ItemID: "u1", Seq: 1, Turn: 1, Type: agent.ItemUser, At: noon,
				Text: "why does handleLogin fail?", Marks: [][2]int{{9, 20}}},
			{Key: &model.SessionKey{Harness: "claude-code", ID: "5a1e"}, Title: "Login", Agent: "claude-code", Cwd: "/home/me/shop", ItemID: "t1", Type: agent.ItemTool,
				Tool: agent.ToolExecute, At: noon, Text: "grep -rn handleLogin .", Marks: [][2]int{{9, 20}}},
		},
		Next: "17",
	}
}

func TestGoldenSearchAndRemoved(t *testing.T) {
	removed := api.RemovedChats{Removed: []model.RemovedChat{{ChatID: "c9", Title: "Old chat", Agent: "rehearsal", Cwd: "/home/me/shop", NativeID: "s9", Rows: 12, At: noon, Why: "retention"}}}
	for _, js := range []bool{false, true} {
		for name, show := range map[string]func(*bytes.Buffer) error{
			"search":  func(b *bytes.Buffer) error { return showFound(b, b, exampleFound(), js, time.UTC) },
			"removed": func(b *bytes.Buffer) error { return showRemoved(b, removed, js, time.UTC) },
		} {
			file := name + map[bool]string{false: ".txt", true: ".json"}[js]
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
	bad := exampleFound()
	bad.Hits[0].Text, bad.Titles[0].Title = "a\x1b]52;c;cm0=\ab\u202e", "t\x1b[2J"
	var b bytes.Buffer
	if err := showFound(&b, &b, bad, false, time.UTC); err != nil || strings.IndexFunc(b.String(), harmful) >= 0 {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// One chat from its first words to its end: found, written out, put away, brought
// back, removed.
func TestAChatIsFoundExportedArchivedAndRemoved(t *testing.T) {
	w := newWorld(t, "")
	w.serve("--keep")
	if r := w.cli("run", "--provider", "rehearsal", "--cwd", w.work, "please say needleInTheHaystack"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	id := w.chats()[0].ID
	r := w.cli("search", "--json", "NEEDLEinthe")
	var got api.SearchResult
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got.Hits) == 0 || got.Hits[len(got.Hits)-1].ChatID != id {
		t.Fatalf("%v %+v", err, r)
	}
	if r = w.cli("search", "nowhere to be found"); r.code != 0 || !strings.Contains(r.out, "Nothing was found") {
		t.Errorf("%+v", r)
	}
	if r = w.cli("search", "--sessions", "needle"); r.code != exitUnavailable || !strings.Contains(r.err, "search.sessions") {
		t.Errorf("%+v", r)
	}
	r = w.cli("export", id[:8])
	if r.code != 0 || !strings.Contains(r.out, "needleInTheHaystack") || !strings.HasPrefix(r.out, "# ") {
		t.Errorf("%+v", r)
	}
	r = w.cli("export", "--format", "json", "-o", w.work, id)
	file := strings.TrimSpace(r.out)
	raw, err := os.ReadFile(file)
	if err != nil || r.code != 0 || !json.Valid(raw) {
		t.Fatalf("%v %+v", err, r)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	if r = w.cli("export", "--format", "json", "-o", file, id); r.code != exitFailed || !strings.Contains(r.err, "--force") {
		t.Errorf("%+v", r)
	}
	if r = w.cli("export", "--format", "json", "-o", file, "--force", id); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if left, _ := filepath.Glob(filepath.Join(w.work, ".whippletree-export-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if r = w.cli("archive", id); r.code != 0 || !w.chats()[0].Archived {
		t.Errorf("%+v", r)
	}
	if r = w.cli("archive", "--undo", id); r.code != 0 || w.chats()[0].Archived {
		t.Errorf("%+v", r)
	}
	if r = w.cli("remove", id); r.code != exitUsage || !strings.Contains(r.err, "--yes") || len(w.chats()) != 1 {
		t.Errorf("%+v", r)
	}
	// Only a person removes: what an agent's shell runs does not.
	if r = w.cli("remove", "--yes", id); r.code == 0 || !strings.Contains(r.err, "Only a person") || len(w.chats()) != 1 {
		t.Errorf("%+v", r)
	}
	if r = w.person("remove", "--yes", id); r.code != 0 || len(w.chats()) != 0 {
		t.Errorf("%+v", r)
	}
	if r = w.cli("search", "needleInTheHaystack"); !strings.Contains(r.out, "Nothing was found") {
		t.Errorf("%+v", r)
	}
	if r = w.cli("removed"); !strings.Contains(r.out, "Nothing was deleted by itself") {
		t.Errorf("%+v", r)
	}
}
