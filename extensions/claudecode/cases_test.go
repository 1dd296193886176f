package claudecode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// The cases of public reports on transcripts, through this harness's rows and its
// list of stored sessions. The reader's own side of them is in agentkit.

// c is one line as the program writes it.
func c(uuid, parent, role, text string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	message := fmt.Sprintf(`{"role":"user","content":%q}`, text)
	if role == "assistant" {
		message = fmt.Sprintf(`{"id":"m-%s","role":"assistant","model":"x","stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, uuid, text)
	}
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"S1","cwd":"/w/app","message":%s,"timestamp":"2026-01-01T10:00:00.000Z"}`, role, uuid, parent, message)
}

// stored writes a transcript as it is given.
func stored(t *testing.T, h *agentkit.Host, cwd, id, text string) string {
	t.Helper()
	path := file(h, cwd, id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rowsOf reads a transcript's rows in order, and what became of its lines.
func rowsOf(t testing.TB, path string) (list []agent.Item, counts agentkit.RecordCounts) {
	t.Helper()
	tail := agentkit.NewTail(path, agentkit.TailState{})
	defer func() { _ = tail.Close() }()
	at := map[string]int{}
	rs := newRows(func(it agent.Item) {
		if i, ok := at[it.ID]; ok {
			list[i] = it
			return
		}
		at[it.ID] = len(list)
		list = append(list, it)
	})
	recs := &agentkit.Records{Known: knownTypes}
	if _, err := tail.Read(func(l agentkit.Line) {
		recs.Take(l, func(r *agentkit.Record) bool {
			x, ok := decode(r)
			if ok {
				rs.add(&x, -1)
			}
			return ok
		})
	}); err != nil {
		t.Fatal(err)
	}
	return list, recs.Counts
}

func texts(list []agent.Item) string {
	var all []string
	for _, it := range list {
		all = append(all, or(it.Text, string(it.Type)))
	}
	return strings.Join(all, " | ")
}

// shown are the rows of session S1 as a mirror gives them out.
func shown(t *testing.T, h *agentkit.Host) (*sheet, string) {
	t.Helper()
	s := mirrored(t, h, agent.Handle{Harness: harnessID, NativeID: "S1", Cwd: "/w/app"}, agent.Position{})
	return s, s.texts()
}

// one is the only stored session.
func one(t *testing.T, h *agentkit.Host) agent.StoredSession {
	t.Helper()
	list := pages(t, New(h).Handover.(agent.Importer), "", 10)
	if len(list) != 1 {
		t.Fatalf("%d sessions: %s", len(list), titles(list))
	}
	return list[0]
}

func TestCaseT01TornLineInTheMiddle(t *testing.T) {
	h := quietHost(t)
	path := stored(t, h, "/w/app", "S1", c("u1", "null", "user", "one")+"\n"+
		`{"type":"pr-link","sessionId":"S1","prNu{"type":"assistant","uuid":"u2"`+"\n"+
		c("u3", "u1", "user", "three")+"\n"+c("a3", "u3", "assistant", "done")+"\n")
	rows, counts := rowsOf(t, path)
	if texts(rows) != "one | three | done" || counts.Skipped != 1 {
		t.Errorf("%s %+v", texts(rows), counts)
	}
	if m, got := shown(t, h); got != "one | three | done" || m.state.SkippedLines != 1 {
		t.Errorf("mirror: %s %+v", got, m.state)
	}
	if s := one(t, h); s.SkippedLines != 1 || s.LastTurn != "completed" || s.Last != "three" {
		t.Errorf("%+v", s)
	}
}

func TestCaseT02BlockOfNULs(t *testing.T) {
	h := quietHost(t)
	path := stored(t, h, "/w/app", "S1", c("u1", "null", "user", "before")+"\n"+strings.Repeat("\x00", 512)+c("u2", "u1", "user", "after")+"\n")
	rows, counts := rowsOf(t, path)
	if texts(rows) != "before | after" || counts.Skipped != 0 {
		t.Errorf("%s %+v", texts(rows), counts)
	}
	if m, got := shown(t, h); got != "before | after" || m.state.SkippedLines != 0 {
		t.Errorf("mirror: %s %+v", got, m.state)
	}
	if s := one(t, h); s.Last != "after" {
		t.Errorf("%+v", s)
	}
}

// The facts of a file that is written in any pieces, with restarts in between,
// are those of reading it in one go; so are its rows.
func TestCaseT03AnyPiecesGiveTheSameFacts(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "transcript.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	reference := filepath.Join(dir, "whole.jsonl")
	if err := os.WriteFile(reference, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newFactsReader()
	all, err := r.follow(reference, agentkit.Indexed{Facts: []byte("{}")}, now)
	if err != nil {
		t.Fatal(err)
	}
	defer all.close()
	if err := all.read(now); err != nil || !all.facts.Spoken {
		t.Fatal(err, all.facts)
	}
	h := quietHost(t)
	told := func(f *facts) agentkit.Indexed { return entryOf(h, "S1", configDir(h, nil), agentkit.Indexed{}, f) }
	want := told(&all.facts)
	// The ends tell the same as reading all of it.
	ends, _, _, err := r.read(reference, now)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, told(&ends)); d != "" {
		t.Error(d)
	}
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(dir, "pieces.jsonl")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			rt.Fatal(err)
		}
		fol, err := r.follow(path, agentkit.Indexed{}, now)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { fol.close() }()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		for rest := whole; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 20_000)).Draw(rt, "piece")
			if _, err := f.Write(rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
			if err := fol.read(now); err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "restart") {
				x := told(&fol.facts)
				x.Tail = fol.tail.State()
				fol.close()
				if fol, err = r.follow(path, x, now); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if d := cmp.Diff(want, told(&fol.facts)); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestCaseT05VeryLongLines(t *testing.T) {
	h := quietHost(t)
	image := `{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"S1","cwd":"/w/app","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` +
		strings.Repeat("A", 9_000_000) + `"}}]},"timestamp":"2026-01-01T10:00:02.000Z"}`
	call := `{"type":"assistant","uuid":"a4","parentUuid":"u3","message":{"id":"m4","model":"x","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cat dump"}}]}}`
	dump := `{"type":"user","uuid":"u5","parentUuid":"a4","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"` + strings.Repeat("d", 9_000_000) + `"}]},"timestamp":"2026-01-01T10:00:03.000Z"}`
	path := stored(t, h, "/w/app", "S1", c("u1", "null", "user", "one")+"\n"+c("u2", "u1", "user", strings.Repeat("x", 15_000_000))+"\n"+
		image+"\n"+call+"\n"+dump+"\n"+c("u6", "u5", "user", "six")+"\n")
	rows, counts := rowsOf(t, path)
	if len(rows) != 5 || counts.Skipped != 0 || counts.TooLong != 3 {
		t.Fatalf("%d rows, %+v", len(rows), counts)
	}
	if long := rows[1]; long.ID != "u2" || !strings.HasSuffix(long.Text, "… content too large (15 MB)") || len(long.Text) > 8<<10 {
		t.Errorf("the long text is %d bytes: …%s", len(long.Text), long.Text[len(long.Text)-60:])
	}
	if rows[2].ID != "u3" || len(rows[2].Attachments) != 1 || rows[2].At == 0 {
		t.Errorf("the picture: %+v", rows[2])
	}
	if tool := rows[3]; tool.State != agent.StateCompleted || !strings.HasSuffix(tool.Output, "… content too large (9 MB)") {
		t.Errorf("the dump: %s %d", tool.State, len(tool.Output))
	}
	if m, _ := shown(t, h); len(m.order) != 5 || !cmp.Equal(m.items["u2"].Text, rows[1].Text) && len(m.items["u2"].Text) < 8<<20 {
		t.Errorf("mirror: %v", m.order)
	}
	if s := one(t, h); s.Title != "one" || s.Last != "six" {
		t.Errorf("%+v", s)
	}
}

func TestCaseT06BrokenTextEncodings(t *testing.T) {
	h := quietHost(t)
	text := `{"type":"user","uuid":"u1","cwd":"/w/app","message":{"content":"a\ud83c"}}` + "\n" + "{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\",\"message\":{\"content\":\"b\xff\"}}\n"
	path := stored(t, h, "/w/app", "S1", text)
	rows, _ := rowsOf(t, path)
	if texts(rows) != "a\uFFFD | b\uFFFD" {
		t.Errorf("%q", texts(rows))
	}
	if _, got := shown(t, h); got != "a\uFFFD | b\uFFFD" {
		t.Errorf("mirror: %q", got)
	}
	for _, it := range rows {
		if _, err := json.Marshal(it); err != nil {
			t.Error(err)
		}
	}
	if s := one(t, h); s.First != "a\uFFFD" || s.Last != "b\uFFFD" {
		t.Errorf("%+v", s)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != text {
		t.Error("the file was changed")
	}
}

func TestCaseT07BOMAndCRLF(t *testing.T) {
	h := quietHost(t)
	path := stored(t, h, "/w/app", "S1", "\xef\xbb\xbf"+c("u1", "null", "user", "one")+"\r\n"+c("u2", "u1", "user", "two")+"\r\n")
	if rows, counts := rowsOf(t, path); texts(rows) != "one | two" || counts.Skipped != 0 {
		t.Errorf("%s %+v", texts(rows), counts)
	}
	if _, got := shown(t, h); got != "one | two" {
		t.Errorf("mirror: %s", got)
	}
	if s := one(t, h); s.Title != "one" {
		t.Errorf("%+v", s)
	}
}

func TestCaseT08UnknownRecordType(t *testing.T) {
	h := quietHost(t)
	path := stored(t, h, "/w/app", "S1", `{"type":"atis-latch","atis":"","sessionId":"S1"}`+"\n"+`{"type":"zz-future","payload":[1]}`+"\n"+
		strings.Replace(c("u1", "null", "user", "one"), `"uuid"`, `"nu":{"a":1},"uuid"`, 1)+"\n"+`{"type":"user"}`+"\n")
	rows, counts := rowsOf(t, path)
	if texts(rows) != "one" || counts.Skipped != 0 || !cmp.Equal(counts.Unknown, map[string]int{"zz-future": 1}) {
		t.Errorf("%s %+v", texts(rows), counts)
	}
	if s := one(t, h); s.Title != "one" || s.SkippedLines != 0 {
		t.Errorf("%+v", s)
	}
}

// The same answer in several records, and again in a copy of the session: its
// tool calls are united and rows are not doubled.
func TestCaseT10TheSameAnswerManyTimes(t *testing.T) {
	h := quietHost(t)
	line := func(uuid, block string, output int) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":%q,"requestId":"r1","cwd":"/w/app","message":{"id":"m1","model":"x","usage":{"output_tokens":%d},"content":[%s]}}`, uuid, output, block)
	}
	call := func(id string) string {
		return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"true"}}`, id)
	}
	answer := line("a1", `{"type":"text","text":"hello"}`, 1) + "\n" + line("a2", call("t1"), 1) + "\n" + line("a3", call("t2"), 185) + "\n"
	for _, id := range []string{"S1", "S2"} {
		path := stored(t, h, "/w/app", id, c("u1", "null", "user", "one")+"\n"+answer)
		rows, _ := rowsOf(t, path)
		if got := texts(rows); got != "one | hello | tool | tool" {
			t.Errorf("%s: %s", id, got)
		}
	}
	var f facts
	recs := &agentkit.Records{}
	for range 2 { // said again by a resume
		for l := range strings.Lines(answer) {
			recs.Take(agentkit.Line{Data: []byte(strings.TrimSpace(l))}, f.add)
		}
	}
	if len(f.Open) != 2 {
		t.Errorf("%d calls are open: %+v", len(f.Open), f.Open)
	}
}

func TestCaseT11Sidechains(t *testing.T) {
	h := quietHost(t)
	task := func(id string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"p%s","sessionId":"S1","cwd":"/w/app","timestamp":"2026-01-01T10:00:01.000Z","message":{"id":"m%s","model":"x","content":[{"type":"tool_use","id":%q,"name":"Task","input":{"description":"look","prompt":"look around"}}]}}`, id, id, id)
	}
	path := stored(t, h, "/w/app", "S1", c("u1", "null", "user", "two at once")+"\n"+task("t1")+"\n"+task("t2")+"\n")
	side := func(agentID, uuid, kind, content string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"isSidechain":true,"sessionId":"S1","agentId":%q,"cwd":"/w/app","timestamp":"2026-01-01T10:00:02.000Z","message":{"id":"m-%s","model":"x","role":%q,"content":%s}}`+"\n", kind, uuid, agentID, uuid, kind, content)
	}
	dir := subagentsDir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a1", "a2"} {
		last := `[{"type":"text","text":"found it"}]`
		if id == "a2" {
			last = `[{"type":"tool_use","id":"x1","name":"Bash","input":{"command":"make"}}]`
		}
		text := side(id, id+"-1", "user", `"look around in `+id+`"`) + side(id, id+"-2", "assistant", last)
		if err := os.WriteFile(filepath.Join(dir, "agent-"+id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Older versions: beside the session's own transcript.
	stored(t, h, "/w/app", "agent-old", side("old", "o1", "user", `"a task"`))
	stored(t, h, "/w/app", "S0", side("inline", "o2", "user", `"a task of a session that is gone"`))
	if s := one(t, h); s.Handle.NativeID != "S1" || s.Title != "two at once" || s.Last != "" {
		t.Errorf("%+v", s)
	}
	rows, _ := rowsOf(t, path)
	if got := texts(rows); got != "two at once | subagent | subagent" {
		t.Errorf("the parent's rows: %s", got)
	}
	var subs subagents
	var got []string
	for _, s := range subs.list(path) {
		got = append(got, s.ID+" "+s.Title+" "+s.Status)
	}
	if want := []string{"a1 look around in a1 running", "a2 look around in a2 running"}; !slices.Equal(got, want) {
		t.Errorf("without a parent's call they are %q", got)
	}
}

func TestCaseT12ManyCompactions(t *testing.T) {
	h := quietHost(t)
	var b strings.Builder
	for n := range 3 {
		parent := "null"
		if n > 0 {
			parent = fmt.Sprint("s", n-1)
		}
		fmt.Fprintln(&b, c(fmt.Sprint("u", n), parent, "user", fmt.Sprint("ask ", n)))
		fmt.Fprintln(&b, c(fmt.Sprint("a", n), fmt.Sprint("u", n), "assistant", fmt.Sprint("answer ", n)))
		fmt.Fprintf(&b, `{"type":"system","subtype":"compact_boundary","uuid":"b%d","logicalParentUuid":"a%d","cwd":"/w/app","timestamp":"2026-01-01T10:00:00.000Z"}`+"\n", n, n)
		fmt.Fprintf(&b, `{"type":"user","uuid":"s%d","parentUuid":"b%d","isCompactSummary":true,"cwd":"/w/app","message":{"role":"user","content":"summary %d"}}`+"\n", n, n, n)
	}
	path := stored(t, h, "/w/app", "S1", b.String())
	rows, _ := rowsOf(t, path)
	if got := texts(rows); got != "ask 0 | answer 0 | compaction | ask 1 | answer 1 | compaction | ask 2 | answer 2 | compaction" {
		t.Errorf("%s", got)
	}
	if _, got := shown(t, h); got != "ask 0 | answer 0 | compaction/completed | ask 1 | answer 1 | compaction/completed | ask 2 | answer 2 | compaction/completed" {
		t.Errorf("mirror: %s", got)
	}
	if s := one(t, h); s.First != "ask 0" || s.Last != "ask 2" || s.LastTurn != "completed" {
		t.Errorf("%+v", s)
	}
}

func TestCaseT13TimesThatLie(t *testing.T) {
	h := quietHost(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h.Now = func() time.Time { return now }
	at := func(uuid, when string) string {
		return strings.Replace(c(uuid, "null", "user", uuid), "2026-01-01T10:00:00.000Z", when, 1) + "\n"
	}
	stored(t, h, "/w/app", "A", at("a", "2026-03-01T09:00:00.000Z")+`{"type":"mode","mode":"x"}`+"\n")
	stored(t, h, "/w/app", "B", at("b", "2026-03-01T10:00:00.000Z"))
	stored(t, h, "/w/app", "C", at("c", "2099-01-01T00:00:00.000Z"))
	stored(t, h, "/w/app", "D", at("d1", "2026-03-01T10:05:00.000Z")+at("d2", "2026-03-01T10:01:00.000Z"))
	stored(t, h, "/w/app", "E", at("e", "never"))
	for _, id := range []string{"A", "B", "C", "D", "E"} {
		when := now
		if id == "E" {
			when = now.Add(-100 * time.Hour)
		}
		if err := os.Chtimes(file(h, "/w/app", id), when, when); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, s := range pages(t, New(h).Handover.(agent.Importer), "", 10) {
		got = append(got, fmt.Sprintf("%s %s %v", s.Handle.NativeID, time.UnixMilli(s.UpdatedAt).UTC().Format("15:04"), s.ClockOdd))
		if s.UpdatedAt > now.UnixMilli() {
			t.Errorf("%s is from the future", s.Handle.NativeID)
		}
	}
	want := []string{"C 12:00 true", "D 10:05 false", "B 10:00 false", "A 09:00 false", "E 08:00 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// Within a session the order of the file counts.
	if rows, _ := rowsOf(t, file(h, "/w/app", "D")); texts(rows) != "d1 | d2" {
		t.Errorf("%s", texts(rows))
	}
}

func TestCaseT14ProjectFolderCannotBeDecoded(t *testing.T) {
	h := quietHost(t)
	dir := slug("/w/my.app")
	for id, cwd := range map[string]string{"a": "/w/my.app", "b": "/w/my_app", "c": "/w/проект x"} {
		path := stored(t, h, "/w/my.app", id, strings.ReplaceAll(c("u1", "null", "user", "in "+cwd), "/w/app", cwd)+"\n")
		if filepath.Base(filepath.Dir(path)) != dir {
			t.Fatal(path)
		}
	}
	stored(t, h, "/w/my.app", "d", `{"type":"user","uuid":"u1","message":{"content":"nowhere"}}`+"\n")
	imp := New(h).Handover.(agent.Importer)
	for cwd, want := range map[string]string{"/w/my.app": "in /w/my.app", "/w/my_app": "in /w/my_app", "/w/проект x": "in /w/проект x", "/w/my-app": ""} {
		if got := titles(pages(t, imp, cwd, 10)); got != want {
			t.Errorf("%s has %q", cwd, got)
		}
	}
	folders, err := imp.(agent.StoredChecker).StoredFolders(t.Context())
	if err != nil || len(folders) != 4 {
		t.Errorf("%+v %v", folders, err)
	}
	// A later change of the folder is followed.
	appendTo(t, file(h, "/w/my.app", "a"), strings.ReplaceAll(c("u2", "u1", "user", "moved"), "/w/app", "/w/new")+"\n")
	if got := titles(pages(t, imp, "/w/new", 10)); got != "in /w/my.app" {
		t.Errorf("after the move: %q", got)
	}
}

// A session whose folder is gone is listed with it, so that whoever shows it can
// say so; reading it needs no folder.
func TestCaseT16WorkingDirectoryGone(t *testing.T) {
	h := quietHost(t)
	cwd := filepath.Join(t.TempDir(), "app-wt1")
	if err := os.Mkdir(cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(c("u1", "null", "user", "in a worktree"), "/w/app", cwd) + "\n"
	path := stored(t, h, cwd, "S1", text)
	if err := os.Remove(cwd); err != nil {
		t.Fatal(err)
	}
	if s := one(t, h); s.Handle.Cwd != cwd || s.Title != "in a worktree" {
		t.Errorf("%+v", s)
	}
	if got := titles(pages(t, New(h).Handover.(agent.Importer), cwd, 10)); got != "in a worktree" {
		t.Errorf("its folder lists %q", got)
	}
	if rows, _ := rowsOf(t, path); texts(rows) != "in a worktree" {
		t.Errorf("%s", texts(rows))
	}
}

// The facts fold takes anything.
func FuzzFacts(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "transcript.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if len(line) < 2000 {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		x := facts{now: 1 << 41}
		recs := &agentkit.Records{}
		for l := range bytes.Lines(in) {
			recs.Take(agentkit.Line{Data: bytes.TrimSpace(l)}, x.add)
		}
		x.running()
		if saved := x.save(); len(saved) > agentkit.MaxFacts {
			t.Errorf("%d bytes are kept", len(saved))
		}
		if x.Updated > x.now+300_000 || x.TurnEnd > x.now+300_000 {
			t.Errorf("from the future: %+v", x)
		}
	})
}
