package claudecode

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// bigSession writes a transcript of so many lines: prompts, answers in two
// records, tools with results, compactions, and one abandoned branch.
func bigSession(t testing.TB, home, cwd string, lines int) agent.Handle {
	t.Helper()
	const id = "00000000-0000-4000-8000-0000000000aa"
	dir := filepath.Join(home, ".claude", "projects", slug(cwd))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	parent, n := "", 0
	put := func(kind, extra string) string {
		n++
		uuid := fmt.Sprintf("u%07d", n)
		p := `"` + parent + `"`
		if parent == "" {
			p = "null"
		}
		fmt.Fprintf(w, `{"parentUuid":%s,"isSidechain":false,"type":"%s",%s,"uuid":"%s","timestamp":"2026-11-30T10:00:00.000Z","sessionId":"%s","cwd":"%s"}`+"\n", p, kind, extra, uuid, id, cwd)
		return uuid
	}
	say := func(role, content string) string {
		return fmt.Sprintf(`"message":{"role":"%s","id":"m%07d","model":"claude-x","content":%s,"usage":{"input_tokens":10,"output_tokens":5}}`, role, n/4, content)
	}
	pad := strings.Repeat("some words of an answer ", 20)
	for n < lines {
		before := parent
		parent = put("user", say("user", `[{"type":"text","text":"prompt `+fmt.Sprint(n)+`"}]`))
		if n > lines/2 && n <= lines/2+6 {
			parent = before // a second writer's prompt: the next one turns off before it
			continue
		}
		call := fmt.Sprintf("toolu_%07d", n)
		parent = put("assistant", say("assistant", `[{"type":"text","text":"`+pad+`"}]`)+`,"apiBlockIndex":0`)
		parent = put("assistant", say("assistant", `[{"type":"tool_use","id":"`+call+`","name":"Bash","input":{"command":"true"}}]`)+`,"apiBlockIndex":1`)
		parent = put("user", say("user", `[{"type":"tool_result","tool_use_id":"`+call+`","content":"`+pad+`"}]`)+`,"toolUseResult":{"stdout":"`+pad+`"}`)
		if n%1000 < 4 {
			fmt.Fprintf(w, `{"type":"last-prompt","lastPrompt":"x","leafUuid":"%s","sessionId":"%s"}`+"\n", parent, id)
			parent = put("system", `"subtype":"compact_boundary","logicalParentUuid":"`+parent+`","compactMetadata":{"trigger":"auto","preTokens":5}`)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return agent.Handle{Harness: harnessID, NativeID: id, Cwd: cwd}
}

// whole follows a session until everything on disk was given out.
func (l *lab) whole(h agent.Handle, from agent.Position) *sheet {
	s, stop := l.mirror(h, from)
	for {
		s.mu.Lock()
		caught, changed := s.caught, s.changed
		s.mu.Unlock()
		if caught > 0 {
			stop()
			return s
		}
		<-changed
	}
}

// BenchmarkMirror opens a session of 40,000 lines from its beginning, and from
// its end as a host does that has shown it before.
func BenchmarkMirror(b *testing.B) {
	home := b.TempDir()
	h := bigSession(b, home, "/w/big", 40_000)
	l := &lab{t: b, host: bigHost(b, home)}
	l.h = New(l.host)
	end := l.whole(h, agent.Position{}).pos
	for name, from := range map[string]agent.Position{"beginning": {}, "end": end} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.whole(h, from)
			}
		})
	}
}

func bigHost(t testing.TB, home string) *agentkit.Host {
	w := agentkit.NewWatcher(agentkit.WatcherOptions{})
	t.Cleanup(func() { _ = w.Close() })
	return &agentkit.Host{Home: home, RunDir: home, CacheDir: home, DataDir: home, Watcher: w}
}

// T17, T12: a long session with many compactions is shown whole, in one reading
// or, when it is too big to be held, in two, and from any place to its end.
func TestT17LongSessionIsShownWhole(t *testing.T) {
	home := t.TempDir()
	h := bigSession(t, home, "/w/big", 6_000)
	l := &lab{t: t, host: bigHost(t, home)}
	l.h = New(l.host)
	once := l.whole(h, agent.Position{})
	l.h.Handover = &handover{host: l.host, keep: 1}
	twice := l.whole(h, agent.Position{})
	if len(once.order) < 4_000 || len(once.state.Branches) == 0 || once.state.SkippedLines != 0 {
		t.Fatalf("%d rows, %+v", len(once.order), once.state)
	}
	if diff := cmp.Diff(once.order, twice.order); diff != "" {
		t.Error(diff)
	}
	if once.pos != twice.pos || !cmp.Equal(once.state, twice.state) || !cmp.Equal(once.items, twice.items) {
		t.Errorf("%+v %+v\n%+v %+v", once.pos, twice.pos, once.state, twice.state)
	}
	compactions := 0
	for _, it := range once.items {
		if it.Type == agent.ItemCompaction {
			compactions++
		}
		if it.Open() {
			t.Errorf("open: %+v", it)
		}
	}
	if compactions != 6 {
		t.Errorf("%d compactions", compactions)
	}
	rest := l.whole(h, agent.Position{RecordID: once.pos.RecordID})
	if len(rest.order) != 0 {
		t.Errorf("after the last record came %v", rest.order)
	}
}
