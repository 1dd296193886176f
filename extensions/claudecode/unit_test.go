package claudecode

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// quietHost is a host without agents: a home of its own and a watcher.
func quietHost(t testing.TB) *agentkit.Host {
	t.Helper()
	home := t.TempDir()
	w := agentkit.NewWatcher(agentkit.WatcherOptions{})
	t.Cleanup(func() { _ = w.Close() })
	return &agentkit.Host{Home: home, RunDir: home, CacheDir: home, DataDir: home, Watcher: w}
}

type said struct {
	kind, id, parent, text string
}

// transcript writes records; kinds: user, assistant, call (text is the call's
// id), result (of the call), boundary, leaf, raw.
func transcript(t *testing.T, h *agentkit.Host, cwd, id string, list ...said) agent.Handle {
	t.Helper()
	var b strings.Builder
	for i, s := range list {
		m := map[string]any{
			"uuid": s.id, "parentUuid": nil, "sessionId": id, "cwd": cwd,
			"timestamp": time.Date(2026, 1, 1, 10, 0, i, 0, time.UTC).Format(time.RFC3339Nano),
		}
		if s.parent != "" {
			m["parentUuid"] = s.parent
		}
		switch s.kind {
		case "user":
			m["type"], m["message"] = "user", map[string]any{"role": "user", "content": s.text}
		case "assistant":
			m["type"], m["message"] = "assistant", map[string]any{"id": "m-" + s.id, "model": "x", "stop_reason": "end_turn",
				"content": []any{map[string]any{"type": "text", "text": s.text}}}
		case "call":
			msg, call, _ := strings.Cut(s.text, " ")
			m["type"], m["message"] = "assistant", map[string]any{"id": msg, "model": "x",
				"content": []any{map[string]any{"type": "tool_use", "id": call, "name": "Bash", "input": map[string]any{"command": "true"}}}}
		case "result":
			m["type"], m["message"] = "user", map[string]any{"role": "user",
				"content": []any{map[string]any{"type": "tool_result", "tool_use_id": s.text, "content": "ok"}}}
		case "boundary":
			m["type"], m["subtype"] = "system", "compact_boundary"
		case "leaf":
			m = map[string]any{"type": "last-prompt", "leafUuid": s.text, "sessionId": id}
		case "raw":
			b.WriteString(s.text + "\n")
			continue
		}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	dir := filepath.Join(projectsDir(configDir(h, nil)), slug(cwd))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return agent.Handle{Harness: harnessID, NativeID: id, Cwd: cwd}
}

// mirrored reads a transcript once.
func mirrored(t *testing.T, h *agentkit.Host, hd agent.Handle, from agent.Position) *sheet {
	t.Helper()
	s := newSheet()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- New(h).Handover.Mirror(ctx, hd, from, s) }()
	wait, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	s.wait(wait, t, "the end", func() bool { return s.caught > 0 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sheet) texts() string {
	var list []string
	for _, id := range s.order {
		it := s.items[id]
		list = append(list, or(it.Text, string(it.Type)+"/"+string(it.State)))
	}
	return strings.Join(list, " | ")
}

func TestMirrorFollowsTheBranchOfAResume(t *testing.T) {
	h := quietHost(t)
	// Two writers: both hang off a1; the leaf record tells which one a resume
	// takes, and it is not the newest.
	hd := transcript(t, h, "/w/app", "S1",
		said{"user", "u1", "", "one"}, said{"assistant", "a1", "u1", "first answer"},
		said{"user", "u2", "a1", "from A"}, said{"assistant", "a2", "u2", "answer to A"},
		said{"leaf", "", "", "a2"},
		said{"user", "u3", "a1", "from B"}, said{"assistant", "a3", "u3", "answer to B"},
	)
	s := mirrored(t, h, hd, agent.Position{})
	if got := s.texts(); got != "one | first answer | from A | answer to A" {
		t.Errorf("rows: %s", got)
	}
	if len(s.state.Branches) != 1 || s.state.Branches[0] != (agent.Branch{LeafID: "a3", Items: 2, Text: "from B"}) {
		t.Errorf("branches: %+v", s.state.Branches)
	}
}

func TestMirrorParallelToolsAndCompactionAreNoBranches(t *testing.T) {
	h := quietHost(t)
	hd := transcript(t, h, "/w/app", "S1",
		said{"user", "u1", "", "one"},
		said{"call", "c1", "u1", "m1 t1"}, said{"call", "c2", "c1", "m1 t2"},
		said{"result", "r1", "c1", "t1"}, said{"result", "r2", "c2", "t2"},
		said{"assistant", "a1", "r1", "both done"},
		said{"boundary", "b1", "", ""},
		said{"user", "u2", "b1", "two"}, said{"assistant", "a2", "u2", "second"},
		said{"raw", "", "", `{"type":"pr-link","prNu{"type":"assistant"`},
		said{"raw", "", "", `{"type":"zz-future","payload":[1]}`},
		said{"raw", "", "", `{"type":"user"}`},
	)
	s := mirrored(t, h, hd, agent.Position{})
	if got := s.texts(); got != "one | tool/completed | tool/completed | both done | compaction/completed | two | second" {
		t.Errorf("rows: %s", got)
	}
	if len(s.state.Branches) != 0 || s.state.SkippedLines != 1 {
		t.Errorf("state: %+v", s.state)
	}
	if rest := mirrored(t, h, hd, s.pos); len(rest.order) != 0 {
		t.Errorf("from the end came %s", rest.texts())
	}
	if rest := mirrored(t, h, hd, agent.Position{RecordID: "u2"}); rest.texts() != "second" {
		t.Errorf("from u2 came %s", rest.texts())
	}
}

func TestTypedTexts(t *testing.T) {
	for in, want := range map[string]string{
		"hello": "hello",
		"<command-message>x</command-message>\n<command-name>/compact</command-name>\n<command-args>short</command-args>": "/compact short",
		"<bash-input>ls -l</bash-input>": "!ls -l",
		"<system-reminder>\nx":           "",
		"<task-notification>done":        "",
		"[Request interrupted by user]":  "",
		"<b>bold</b> is what I typed":    "<b>bold</b> is what I typed",
	} {
		if got, _ := typed(in); got != want {
			t.Errorf("typed(%q) = %q, want %q", in, got, want)
		}
	}
}

func registryFile(t *testing.T, h *agentkit.Host, pid int, change func(map[string]any)) {
	t.Helper()
	id, err := agentkit.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{
		"pid": pid, "sessionId": "S1", "cwd": "/w/app", "startedAt": 1, "procStart": strconv.FormatUint(id.Start, 10),
		"status": "idle", "statusUpdatedAt": 2,
	}
	if change != nil {
		change(m)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	dir := sessionsDir(configDir(h, nil))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(pid)+".json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOwnerByRegistry(t *testing.T) {
	self := os.Getpid()
	for _, c := range []struct {
		name   string
		change func(map[string]any)
		ignore []int
		owner  agent.Owner
	}{
		{"proved", nil, nil, agent.OwnerTerminal},
		{"ours", nil, []int{self}, agent.OwnerNobody},
		{"P03 reused pid", func(m map[string]any) { m["procStart"] = "1" }, nil, agent.OwnerNobody},
		{"another session", func(m map[string]any) { m["sessionId"] = "S2" }, nil, agent.OwnerNobody},
		{"no start time", func(m map[string]any) { delete(m, "procStart") }, nil, agent.OwnerUnclear},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := quietHost(t)
			registryFile(t, h, self, c.change)
			o, err := New(h).Handover.Owner(t.Context(), agent.Handle{NativeID: "S1", Cwd: "/w/app"}, c.ignore)
			if err != nil || o.Owner != c.owner || o.Evidence == "" {
				t.Errorf("got %+v %v", o, err)
			}
		})
	}
	t.Run("torn", func(t *testing.T) {
		h := quietHost(t)
		registryFile(t, h, self, nil)
		file := filepath.Join(sessionsDir(configDir(h, nil)), strconv.Itoa(self)+".json")
		if err := os.WriteFile(file, []byte(`{"pid":`+strconv.Itoa(self)), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := New(h).Handover.Owner(t.Context(), agent.Handle{NativeID: "S1", Cwd: "/w/app"}, nil)
		if err != nil || o.Owner != agent.OwnerUnclear {
			t.Errorf("got %+v %v", o, err)
		}
	})
}

func TestCaseX06_ForeignIDs(t *testing.T) {
	h := quietHost(t)
	ho := New(h).Handover
	for _, id := range []string{"../../.ssh/id_rsa", ".", "a/b", "%2e%2e", "a..b", "-x", "", "a\x00b", strings.Repeat("x", 4096)} {
		hd := agent.Handle{NativeID: id, Cwd: "/w"}
		if _, _, err := ho.TerminalCommand(t.Context(), agent.TerminalRequest{Handle: hd}); err == nil {
			t.Errorf("TerminalCommand took %q", id)
		}
		if _, err := ho.Owner(t.Context(), hd, nil); err == nil {
			t.Errorf("Owner took %q", id)
		}
		if err := ho.Mirror(t.Context(), hd, agent.Position{}, newSheet()); err == nil {
			t.Errorf("Mirror took %q", id)
		}
	}
}

func TestRecognize(t *testing.T) {
	for _, c := range []struct {
		exe  string
		argv []string
		want agent.Recognition
	}{
		{"/x/claude", []string{"claude"}, agent.Recognition{Agent: true}},
		{"/x/node", []string{"node", "/h/.npm/@anthropic-ai/claude-code/cli.js", "--resume", "S1"}, agent.Recognition{Agent: true, SessionID: "S1"}},
		{"/x/claude.exe", []string{"claude", "--session-id=S2"}, agent.Recognition{Agent: true, SessionID: "S2"}},
		{"/x/claude", []string{"claude", "--resume", "S1", "--fork-session"}, agent.Recognition{Agent: true}},
		{"/x/claude", []string{"claude", "mcp", "list"}, agent.Recognition{Agent: true, Helper: true}},
		{"/x/vim", []string{"vim", "claude.md"}, agent.Recognition{}},
		{"/x/node", []string{"node", "my-claude-clone.js"}, agent.Recognition{}},
	} {
		if got := (recognizer{}).Recognize(c.exe, c.argv); got != c.want {
			t.Errorf("%v: %+v", c.argv, got)
		}
	}
}

func TestManifestAndTraits(t *testing.T) {
	h := New(quietHost(t))
	if h.Manifest.ManifestVersion != 1 || h.ProviderID == "" || h.SourceID == "" || h.Identity.Mark != "CC" {
		t.Errorf("%+v", h.Manifest)
	}
	var closed map[string]any
	if err := json.Unmarshal(manifestJSON, &closed); err != nil {
		t.Fatal(err)
	}
}

func TestSwitchedOffSourceHoldsNothing(t *testing.T) {
	h := quietHost(t)
	h.Watcher = nil // touching it would panic
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(h).Source.Start(ctx, agent.SourceStart{Harnesses: []string{"other"}, Publisher: newBoard()}); err != nil {
		t.Error(err)
	}
}

func FuzzRecord(f *testing.F) {
	for _, name := range []string{"transcript.jsonl", "captures/08-task.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if len(line) < 8000 {
				f.Add([]byte(line))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err != nil {
			return
		}
		rs := newRows(func(it agent.Item) {
			if it.ID != "" && it.Type == agent.ItemTool && !it.State.Open() && it.EndedAt < 0 {
				t.Errorf("bad end: %+v", it)
			}
			agent.RowBytes(it)
		})
		rs.add(&r, -1)
		rs.add(&r, 3)
		rs.closeOpen(agent.StateCanceled, 0)
		c := newChain()
		c.add(&r)
		c.branches(c.path())
	})
}

func FuzzRegistryEntry(f *testing.F) {
	f.Add([]byte(`{"pid":1,"sessionId":"S1","cwd":"/w","procStart":"1","status":"waiting","waitingFor":"permission prompt"}`))
	f.Add([]byte(`{"pid":1,"sessionId":"S1","cwd":"/w","procStart":1.5e300}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(dir, "1.json")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if e, err := readEntry(file); err == nil {
			_ = e.evidence()
			_, _ = e.status()
			_ = e.procStart()
		}
	})
}

// FuzzStream feeds lines of the structured mode to the reader.
func FuzzStream(f *testing.F) {
	for _, name := range []string{"08-task", "20-err-drop", "12-interrupt-bash"} {
		data, err := os.ReadFile(filepath.Join("testdata", "captures", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(data)) {
			var fr frame
			if json.Unmarshal([]byte(line), &fr) == nil && fr.Dir == "out" && len(fr.M) < 4000 {
				lines = append(lines, string(fr.M))
			}
		}
		f.Add(strings.Join(lines[:min(len(lines), 40)], "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := unread(&agentkit.Host{}, &listener{catalog: make(chan agent.Catalog, 1)}, &launch{})
		s.rows = newRows(func(it agent.Item) {
			for _, is := range agent.ValidateItem(it) {
				if is.Path == "$.id" && is.Message == "must not be empty" {
					t.Errorf("a row without an id: %+v", it)
				}
			}
		})
		for line := range strings.Lines(text) {
			var m wire
			if lenient([]byte(line), &m) != nil || m.Type == "control_request" {
				continue
			}
			s.handle(&m, []byte(line))
		}
		s.settle(agent.OutcomeFailed)
		if len(s.rows.tools) != 0 {
			t.Error("a tool stayed open")
		}
	})
}
