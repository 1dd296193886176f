package export

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

var update = flag.Bool("update", false, "write the golden files")

var ctx = context.Background()

const noon = 1_772_000_000_000

func exporter(t *testing.T) (*Exporter, *store.Store) {
	t.Helper()
	s, err := store.OpenWith(t.TempDir(), store.Options{Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Exporter{Source: s, Version: "1.2.3", Now: func() time.Time { return time.UnixMilli(noon + 3600_000) },
		AgentName: func(h string) string { return map[string]string{"rehearsal": "Rehearsal"}[h] }}, s
}

// read reads a document in its chunks.
func read(t *testing.T, e *Exporter, chat, format string) string {
	t.Helper()
	var b strings.Builder
	for cursor, n := "", 0; ; n++ {
		c, err := e.Chunk(ctx, chat, format, cursor)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Text) > chunkBytes || encodedSize(c.Text) > chunkJSON {
			t.Fatalf("a chunk of %d bytes, %d as JSON", len(c.Text), encodedSize(c.Text))
		}
		if c.Text == "" && c.Next != "" {
			t.Fatal("an empty chunk in the middle")
		}
		b.WriteString(c.Text)
		if cursor = c.Next; cursor == "" {
			return b.String()
		}
		if n > 10000 {
			t.Fatal("the document does not end")
		}
	}
}

func one(n int) *int { return &n }

// example is a chat with one row of every kind.
func example(t *testing.T, s *store.Store) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.PutChat(ctx, store.ChatRecord{
		ID: "c1", Title: "Fix the *login* <script>", Harness: "rehearsal", Kind: agent.KindWorkspace, Cwd: "/home/me/shop", Model: "sonnet",
		Handle: &agent.Handle{Harness: "rehearsal", NativeID: "s-1", Cwd: "/home/me/shop", Env: map[string]string{"SECRET_HOME": "/never"}},
		Agent:  agent.AgentInfo{Name: "rehearsal", Version: "2.1"}, Usage: &agent.Usage{Input: 10, Output: 20}, CreatedAt: noon, UpdatedAt: noon + 9000,
	}))
	must(s.OpenTurn(ctx, "c1", store.Turn{Turn: 1, Origin: agent.OriginPrompt, ClientID: "p1", StartedAt: noon}))
	rows := []agent.Item{
		{ID: "u1", Type: agent.ItemUser, Text: "Fix the login, please.\n\n```go\nfunc broken() {\n", Attachments: []agent.Attachment{{Kind: "image", Name: "a`b.png", Mime: "image/png", Bytes: []byte("123")}}},
		{ID: "r1", Type: agent.ItemReasoning, Text: "Let me look.\n<div hidden>", EndedAt: noon},
		{ID: "t1", Type: agent.ItemTool, CallID: "t1", Name: "Bash", Tool: agent.ToolExecute, Title: "Run the tests", State: agent.StateFailed, StartedAt: noon, EndedAt: noon + 1500,
			Detail: &agent.Detail{Execute: &agent.ExecuteDetail{Command: "go test ./...", Cwd: "/home/me/shop", ExitCode: one(1)}}, Output: "FAIL\n````\nin the output\x1b[2J\n"},
		{ID: "e1", Type: agent.ItemTool, CallID: "e1", Name: "Edit", Tool: agent.ToolEdit, Title: "Edit login.go", State: agent.StateCompleted,
			Detail: &agent.Detail{Edit: &agent.EditDetail{Path: "/home/me/shop/login.go", Diff: "-a\n+b\n", Added: 1, Removed: 1}}, Locations: []agent.Location{{Path: "login.go", Line: 7}}},
		{ID: "s1", Type: agent.ItemSubagent, AgentType: "explore", Title: "Where is it used?", State: agent.StateCompleted},
		{ID: "s2", Type: agent.ItemText, ParentID: "s1", Text: "Nowhere.\n\n~~~\nopen", EndedAt: noon},
		{ID: "p1", Type: agent.ItemPlan, Entries: []agent.PlanEntry{{Text: "Look", Status: "done"}, {Text: "Fix", Status: "active"}, {Text: "Test", Status: "pending"}}},
		{ID: "m1", Type: agent.ItemText, Text: "# Done\n\nIt was `a<b>` and <img src=x onerror=y>, see ![p](http://127.0.0.1/p.png?q=SECRET) \u202egnp.\n\n```\nopen fence", EndedAt: noon, Truncated: true},
		{ID: "k1", Type: agent.ItemCompaction, State: agent.StateCompleted, TokensBefore: 9000},
		{ID: "n1", Type: agent.ItemNotice, Level: agent.LevelInfo, Text: "The model changed."},
		{ID: "x1", Type: agent.ItemError, Reason: "rate_limit", Text: "Too many requests."},
	}
	for i, it := range rows {
		it.At = noon + int64(i)*1000
		must(s.PutRows(ctx, "c1", model.Row{Item: it, Turn: 1}))
	}
	must(s.InsertApproval(ctx, model.ApprovalCard{
		Approval: agent.Approval{ID: "a1", ItemID: "t1", Kind: agent.ApprovalTool, Title: "Run a command",
			Options: []agent.Option{{ID: "yes", Label: "Yes", Kind: agent.OptionAllowOnce}, {ID: "no", Label: "No", Kind: agent.OptionRejectOnce}}},
		ChatID: "c1", Turn: 1, At: noon, Revision: 1, State: model.CardConfirmed,
		Answer:  &model.RecordedAnswer{ApprovalAnswer: agent.ApprovalAnswer{OptionID: "yes", Comment: "go on"}, Label: "Yes", By: "window", At: noon + 500},
		Refused: []model.RefusedAttempt{{Who: "pid 7", Where: "an agent", At: noon + 400}},
	}))
	must(s.InsertApproval(ctx, model.ApprovalCard{
		Approval: agent.Approval{ID: "a2", Kind: agent.ApprovalQuestion, Title: "A question", Questions: []agent.Question{{ID: "q", Text: "Which?", Options: []agent.QuestionOption{{ID: "1", Label: "First"}}}}},
		ChatID:   "c1", Turn: 1, At: noon + 1, Revision: 1, State: model.CardConfirmed,
		Answer: &model.RecordedAnswer{ApprovalAnswer: agent.ApprovalAnswer{Answers: map[string]agent.QuestionAnswer{"q": {OptionIDs: []string{"1"}, Other: "or this"}}}, By: "cli", At: noon + 600},
	}))
	must(s.EndTurn(ctx, "c1", 1, agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "rate_limit", Text: "Too many requests."}, noon+9000))
	_, _, err := s.Enqueue(ctx, "c1", model.QueueEntry{ClientID: "q1", Text: "And then\nthis.", State: model.QueueQueued, At: noon})
	must(err)
}

func TestGolden(t *testing.T) {
	e, s := exporter(t)
	example(t, s)
	for format, file := range map[string]string{Markdown: "chat.md", JSON: "chat.json"} {
		got := read(t, e, "c1", format)
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.MkdirAll("testdata", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		if strings.Contains(got, "SECRET_HOME") {
			t.Errorf("%s holds the agent's environment", file)
		}
	}
	var doc struct {
		Items     []model.Row          `json:"items"`
		Approvals []model.ApprovalCard `json:"approvals"`
	}
	if err := json.Unmarshal([]byte(read(t, e, "c1", JSON)), &doc); err != nil || len(doc.Items) != 11 || len(doc.Approvals) != 2 {
		t.Errorf("%d items, %d approvals, %v", len(doc.Items), len(doc.Approvals), err)
	}
	if c, err := e.Chunk(ctx, "c1", Markdown, ""); err != nil || c.Name != "fix-the-login-script-2026-02-25.md" {
		t.Errorf("the file is called %q, %v", c.Name, err)
	}
}

// A document is the same however its texts fall into chunks, and whole.
func TestLargeTextsAreWhole(t *testing.T) {
	e, s := exporter(t)
	if err := s.PutChat(ctx, store.ChatRecord{ID: "c", Harness: "rehearsal"}); err != nil {
		t.Fatal(err)
	}
	texts := []string{strings.Repeat("\"\n\x01жw", 90_000), "short", strings.Repeat("语", 300_000), ""}
	for i, x := range texts {
		it := agent.Item{ID: fmt.Sprint(i), Type: agent.ItemTool, CallID: "x", Name: "x", State: agent.StateCompleted, Output: x}
		if err := s.PutRows(ctx, "c", model.Row{Item: it, Turn: 1}); err != nil {
			t.Fatal(err)
		}
	}
	var doc struct{ Items []model.Row }
	if err := json.Unmarshal([]byte(read(t, e, "c", JSON)), &doc); err != nil {
		t.Fatal(err)
	}
	for i, x := range texts {
		if doc.Items[i].Output != x || len(doc.Items[i].Cut) > 0 {
			t.Errorf("text %d is not whole: %d of %d bytes", i, len(doc.Items[i].Output), len(x))
		}
	}
	if md := read(t, e, "c", Markdown); strings.Count(md, "语") != 300_000 {
		t.Error("the Markdown is not whole")
	}
}

func TestWhatCannotBeExported(t *testing.T) {
	e, s := exporter(t)
	example(t, s)
	if _, err := e.Chunk(ctx, "c1", "html", ""); !errors.Is(err, ErrRequest) {
		t.Error(err)
	}
	for _, bad := range []string{"x", "h.1.2", "h.a.0.0", "r.0.-1.0", "z.0.0.0"} {
		if _, err := e.Chunk(ctx, "c1", JSON, bad); !errors.Is(err, ErrRequest) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := e.Chunk(ctx, "gone", JSON, ""); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	// Rows that went meanwhile end the document.
	if c, err := e.Chunk(ctx, "c1", Markdown, "r.99.5000.1"); err != nil || c.Next != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

// What is put into a document leaves nothing open behind it.
func FuzzSafe(f *testing.F) {
	for _, s := range []string{"```\na", "~~~~\n```\n~~~", "`<a>` <b> `` ` <c>", "<!-- ", "x\r\ny", "    ```", "```a`b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		block := fenced("", s)
		lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
		fence := lines[0]
		for _, l := range lines[1 : len(lines)-1] {
			if strings.HasPrefix(strings.TrimLeft(l, " "), fence) {
				t.Fatalf("%q is closed inside by %q", block, l)
			}
		}
		if strings.ContainsFunc(block+prose(s)+words(s)+code(s), hidden) {
			t.Fatal("a hidden character is left")
		}
		if strings.ContainsRune(words(s)+code(s), '\n') {
			t.Fatal("a line is two lines")
		}
		fence = ""
		for _, l := range strings.Split(prose(s), "\n") {
			m := opens.FindStringSubmatch(l)
			switch {
			case fence == "" && m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
				fence = m[1]
			case fence != "" && m != nil && strings.TrimSpace(m[2]) == "" && m[1][0] == fence[0] && len(m[1]) >= len(fence):
				fence = ""
			}
		}
		if fence != "" {
			t.Fatalf("a fence is left open in %q", prose(s))
		}
	})
}
