package store

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

func found(t *testing.T, s *Store, r Search) []model.SearchHit {
	t.Helper()
	got, err := s.Search(ctx, r)
	if err != nil {
		t.Fatalf("%q: %v", r.Text, err)
	}
	return got.Hits
}

func itemIDs(hits []model.SearchHit) string {
	var list []string
	for _, h := range hits {
		list = append(list, h.ItemID)
	}
	return strings.Join(list, " ")
}

func TestSearchFindsInsideWordsInEveryScript(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	user := func(id, txt string) model.Row {
		return model.Row{Item: agent.Item{ID: id, Type: agent.ItemUser, Text: txt}}
	}
	tool := func(id string, it agent.Item) model.Row {
		it.ID, it.Type, it.State = id, agent.ItemTool, agent.StateCompleted
		return model.Row{Item: it}
	}
	if err := s.PutRows(ctx, "c",
		user("en", "why does handleSubagentReplyTimeout fire twice?"),
		user("ru", "Перепиши обработчик соединений"),
		user("zh", "请把连接池的大小改成二十"),
		user("nul", "before\x00after"),
		user("pct", `100% of "quoted" it's a_b`),
		tool("run", agent.Item{Name: "Bash", Tool: agent.ToolExecute, Title: "make", Detail: &agent.Detail{Execute: &agent.ExecuteDetail{Command: "grep -rn needleInCommand ."}}, Output: "needleInOutput" + strings.Repeat(" filler", 2000) + " tooFarInTheOutput"}),
		tool("edit", agent.Item{Name: "Edit", Tool: agent.ToolEdit, Title: "edit", Detail: &agent.Detail{Edit: &agent.EditDetail{Path: "/w/main.go", Old: "oldNeedle", New: "newNeedle"}}}),
		model.Row{Item: agent.Item{ID: "plan", Type: agent.ItemPlan, Entries: []agent.PlanEntry{{Text: "measure the planNeedle"}}}},
		model.Row{Item: agent.Item{ID: "notice", Type: agent.ItemNotice, Text: "noticeNeedle"}},
	); err != nil {
		t.Fatal(err)
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			if err := s.Indexed(ctx); err != nil {
				t.Fatal(err)
			}
			if n, err := s.Unindexed(ctx); n != 0 || err != nil {
				t.Fatalf("%d rows are not indexed: %v", n, err)
			}
		}
		for text, want := range map[string]string{
			"handleSubagentReplyTimeout":    "en",
			"subagentreply":                 "en",
			"TWICE handle":                  "en",
			"handleSubagentReplyTimeoutNot": "",
			`"fire twice"`:                  "en",
			`"twice fire"`:                  "",
			"ОБРАБОТ":                       "ru",
			"единений":                      "ru",
			"连接池":                           "zh",
			"连接":                            "zh", // two characters: looked for without the index
			"二":                             "zh",
			"连接 大小改":                        "zh",
			"before":                        "nul",
			"after":                         "nul",
			`100%`:                          "pct",
			"a_b":                           "pct",
			"it's":                          "pct",
			"needleInCommand":               "run",
			"needleinoutput":                "run",
			"tooFarInTheOutput":             "",
			"newneedle":                     "edit",
			"main.go":                       "edit",
			"planneedle":                    "plan",
			"noticeneedle":                  "",
			"absent":                        "",
		} {
			if got := itemIDs(found(t, s, Search{Text: text})); got != want {
				t.Errorf("indexed %v: %q found %q, want %q", indexed, text, got, want)
			}
		}
	}
	for _, bad := range []string{"", "   ", `""`, strings.Repeat("x", 300), strings.Repeat("w ", 20) + "a b c d e f g h i j k l m n o p q"} {
		if _, err := s.Search(ctx, Search{Text: bad}); err == nil {
			t.Errorf("%q was searched for", bad)
		}
	}
}

func TestSearchFollowsChangesAndRemovals(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	newChat(t, s, "d")
	row := func(id, txt string) model.Row {
		return model.Row{Item: agent.Item{ID: id, Type: agent.ItemText, Text: txt, EndedAt: 1}}
	}
	put := func(chat string, rows ...model.Row) {
		t.Helper()
		if err := s.PutRows(ctx, chat, rows...); err != nil {
			t.Fatal(err)
		}
		if err := s.Indexed(ctx); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(text, want string) {
		t.Helper()
		if got := itemIDs(found(t, s, Search{Text: text})); got != want {
			t.Errorf("%q found %q, want %q", text, got, want)
		}
	}
	open := row("1", "stillBeingWritten")
	open.EndedAt = 0
	put("c", open)
	expect("stillBeingWritten", "")
	put("c", row("1", "alphaWord"), row("2", "betaWord"))
	put("d", row("1", "alphaWord elsewhere"))
	expect("alphaword", "1 1")
	put("c", row("1", "gammaWord"))
	expect("alphaword", "1")
	expect("gammaword", "1")
	put("c", row("2", ""))
	expect("betaword", "")
	if err := s.DeleteRows(ctx, "c", 1); err != nil {
		t.Fatal(err)
	}
	expect("gammaword", "")
	if err := s.DeleteChat(ctx, "d"); err != nil {
		t.Fatal(err)
	}
	expect("alphaword", "")
	var left int
	if err := one(ctx, s.read(), []any{&left}, "SELECT (SELECT COUNT(*) FROM documents) + (SELECT COUNT(*) FROM unindexed) + (SELECT COUNT(*) FROM search WHERE search MATCH '\"alp\" OR \"gam\" OR \"bet\"')"); err != nil || left != 0 {
		t.Errorf("%d entries are left of removed rows: %v", left, err)
	}
}

func TestSearchPagesNewestFirstAndMarks(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	var rows []model.Row
	for i := range 130 {
		rows = append(rows, model.Row{Item: agent.Item{ID: fmt.Sprint(i), Type: agent.ItemUser, Text: fmt.Sprintf("%s\n\t the 😀 Needle number %d needle", strings.Repeat("ж ", i), i)}})
	}
	if err := s.PutRows(ctx, "c", rows...); err != nil {
		t.Fatal(err)
	}
	if err := s.Indexed(ctx); err != nil {
		t.Fatal(err)
	}
	next := 129
	for r := (Search{Text: "needle", Limit: 50}); ; {
		got, err := s.Search(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range got.Hits {
			if h.ItemID != fmt.Sprint(next) || h.ChatID != "c" || h.Seq != int64(next+1) {
				t.Fatalf("hit %d is %+v", next, h)
			}
			next--
			units := utf16.Encode([]rune(h.Text))
			if len(h.Marks) != 2 {
				t.Fatalf("marks %v in %q", h.Marks, h.Text)
			}
			for _, m := range h.Marks {
				if word := string(utf16.Decode(units[m[0]:m[1]])); !strings.EqualFold(word, "needle") {
					t.Errorf("%q is marked in %q", word, h.Text)
				}
			}
			if len([]rune(h.Text)) > snippetRunes || strings.ContainsAny(h.Text, "\n\t") {
				t.Errorf("a snippet of %d characters: %q", len([]rune(h.Text)), h.Text)
			}
		}
		if r.Cursor = got.Next; r.Cursor == "" {
			break
		}
	}
	if next != -1 {
		t.Errorf("%d hits are missing", next+1)
	}
	if _, err := s.Search(ctx, Search{Text: "needle", Cursor: "no"}); err == nil {
		t.Error("a foreign cursor was taken")
	}
	// Only in a chat, a folder, an agent.
	if err := s.PutChat(ctx, ChatRecord{ID: "d", Harness: "other", Cwd: "/v/app"}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutRows(ctx, "d", model.Row{Item: agent.Item{ID: "x", Type: agent.ItemUser, Text: "needle"}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Search{{ChatID: "d"}, {Harness: "other"}, {Cwd: "/v"}, {Cwd: "/v/app"}} {
		r.Text = "needle"
		if got := itemIDs(found(t, s, r)); got != "x" {
			t.Errorf("%+v found %q", r, got)
		}
	}
	if got := found(t, s, Search{Text: "needle", Cwd: "/v/ap"}); len(got) != 0 {
		t.Errorf("a folder beside: %v", got)
	}
}

// A host that is killed while it indexes goes on where it was: nothing is missing
// and nothing is there twice.
func TestIndexingGoesOnAfterAKill(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	newChat(t, s, "c")
	const rows = 700
	if err := s.Do(ctx, func(tx *Tx) error {
		for i := range rows {
			if _, err := tx.PutRow("c", text(fmt.Sprint(i), fmt.Sprintf("needle %d %s", i, strings.Repeat("filler ", 20)))); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		cmd, out := start(t, "index", dir)
		for batch := 0; out.Scan(); batch++ {
			if batch == round {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
	}
	s = openTest(t, dir, Options{})
	left, err := s.Unindexed(ctx)
	if err != nil || left == rows {
		t.Fatalf("nothing was kept of what was indexed: %d, %v", left, err)
	}
	if err := s.Indexed(ctx); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for r := (Search{Text: "needle", Limit: 200}); ; {
		got, err := s.Search(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range got.Hits {
			if seen[h.ItemID] {
				t.Errorf("%s was found twice", h.ItemID)
			}
			seen[h.ItemID] = true
		}
		if r.Cursor = got.Next; r.Cursor == "" {
			break
		}
	}
	if len(seen) != rows {
		t.Errorf("%d of %d rows are found", len(seen), rows)
	}
}

// What is written is found by itself, without anybody asking for it.
func TestRowsAreIndexedWhenNothingIsWritten(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	if err := s.PutRows(ctx, "c", text("1", "needle")); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		n, err := s.Unindexed(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the row was not indexed")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func FuzzSearchText(f *testing.F) {
	for _, s := range []string{"needle", `"a b" c`, `"`, "连接池", "İß\u0000ﬀ", "a\"b\"", strings.Repeat("ж", 90)} {
		f.Add(s, "some needle text 连接池 "+s)
	}
	s, err := OpenWith(f.TempDir(), Options{Ballast: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, find, in string) {
		q, err := parseQuery(find)
		if err != nil {
			return
		}
		if q.match != "" {
			var n int
			if err := one(ctx, s.read(), []any{&n}, "SELECT COUNT(*) FROM search WHERE search MATCH ?", q.match); err != nil {
				t.Fatalf("%q asks the index for %q: %v", find, q.match, err)
			}
		}
		line, marks, ok := q.look(plain(in))
		if !ok {
			return
		}
		units := utf16.Encode([]rune(line))
		for _, m := range marks {
			if m[0] < 0 || m[0] >= m[1] || m[1] > len(units)+1 {
				t.Fatalf("mark %v of %d units", m, len(units))
			}
		}
	})
}

// Large texts do not make a batch long: each one is bounded by what it indexes.
func TestABatchIsBoundedByItsText(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	newChat(t, s, "c")
	if err := s.Do(ctx, func(tx *Tx) error {
		for i := range 6 {
			if _, err := tx.PutRow("c", text(fmt.Sprint(i), "needle "+strings.Repeat(fmt.Sprint("filler", i, " "), 9000))); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Do(ctx, func(tx *Tx) error {
		count := func() (n int) {
			t.Helper()
			if err := one(ctx, tx, []any{&n}, "SELECT COUNT(*) FROM unindexed"); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := count()
		more, err := tx.indexSome()
		if done := before - count(); done > 1 || before > 1 && !more {
			t.Errorf("one batch indexed %d of %d texts of 64 KB, more: %v", done, before, more)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Indexed(ctx); err != nil {
		t.Fatal(err)
	}
	if got := found(t, s, Search{Text: "needle"}); len(got) != 6 {
		t.Errorf("%d of 6 are found", len(got))
	}
}
