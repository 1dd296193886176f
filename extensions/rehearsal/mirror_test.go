package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

const deadline = 30 * time.Second

func line(t *testing.T, id, parent, block, text string) string {
	t.Helper()
	raw, err := json.Marshal(wire.Record{ID: id, Parent: parent, Session: "s1", At: 5, Type: wire.RecordBlock,
		Block: &wire.Block{ID: block, Kind: wire.KindUser, StartedAt: 1, EndedAt: 2, Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + "\n"
}

func writeSession(t *testing.T, root, text string) agent.Handle {
	t.Helper()
	home := wire.Home(root)
	if err := os.MkdirAll(home.Transcripts(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home.Transcript("s1"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return agent.Handle{Harness: ID, NativeID: "s1", Cwd: "/w", Env: map[string]string{wire.HomeVariable: root}}
}

func texts(items []agent.Item) (out []string) {
	for _, it := range items {
		out = append(out, it.Text)
	}
	return out
}

// TestT01TornLine: a bad line is skipped and counted, its neighbours are shown.
// NULs around a record (T02), a byte order mark and CRLF (T07) and an unknown
// type (T08) lose nothing.
func TestT01TornLine(t *testing.T) {
	h := newHost(t)
	text := "\xef\xbb\xbf" + line(t, "1", "", "a", "one") +
		`{"id":"2","parent":"1","type":"blo{"id":"2b"` + "\n" +
		string(make([]byte, 512)) + line(t, "3", "1", "b", "two") +
		`{"id":"4","parent":"3","type":"zz-future","payload":[1]}` + "\r\n" +
		line(t, "5", "4", "c", "three")
	handle := writeSession(t, t.TempDir(), text)
	sink := agenttest.NewMirrorSink()
	stop := agenttest.StartMirror(t, New(h).Handover, handle, agent.Position{}, sink)
	sink.MustWait(t, deadline, "CaughtUp", func() bool { _, n := sink.Position(); return n > 0 })
	stop()
	if got := texts(sink.Items()); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("rows %q", got)
	}
	if n := sink.Now().SkippedLines; n != 1 {
		t.Errorf("%d lines skipped, not 1", n)
	}
}

// TestT03GrowingLine: the last line appears once it is whole, wherever it was
// cut, and nothing is doubled.
func TestT03GrowingLine(t *testing.T) {
	h := newHost(t)
	first, second := line(t, "1", "", "a", "one"), line(t, "2", "1", "b", "привет")
	for cut := 1; cut < len(second); cut += 7 {
		handle := writeSession(t, t.TempDir(), first+second[:cut])
		sink := agenttest.NewMirrorSink()
		stop := agenttest.StartMirror(t, New(h).Handover, handle, agent.Position{}, sink)
		sink.MustWait(t, deadline, "the first row", func() bool { _, n := sink.Position(); return n > 0 && len(sink.Items()) == 1 })
		f, err := os.OpenFile(wire.Home(handle.Env[wire.HomeVariable]).Transcript("s1"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(second[cut:])
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		sink.MustWait(t, deadline, "the second row", func() bool { return len(sink.Items()) == 2 })
		stop()
		if sink.Published() != 2 || sink.Items()[1].Text != "привет" {
			t.Fatalf("cut at %d: %d rows published, %q", cut, sink.Published(), texts(sink.Items()))
		}
	}
}

// TestH02TwoWriters: two processes on one session make two branches; the
// mirror follows the one a resume takes and names the other.
func TestH02TwoWriters(t *testing.T) {
	h := newHost(t)
	handle, _ := storedSession(t, h, "hello")
	req := request(t)
	req.Resume = &handle
	prompts := []string{"first writer", "second writer"}
	var sessions []agent.ChatSession
	var recs []*agenttest.Recorder
	for range prompts {
		rec := agenttest.NewRecorder()
		s, err := New(h).Provider.Open(t.Context(), req, rec)
		if err != nil {
			t.Fatal(err)
		}
		sessions, recs = append(sessions, s), append(recs, rec)
	}
	o, err := New(h).Handover.Owner(t.Context(), handle, nil)
	if err != nil || o.Owner != agent.OwnerUnclear || len(o.Faces) != 2 {
		t.Errorf("with two writers the owner is %+v (%v)", o, err)
	}
	for i, p := range prompts {
		recs[i].BeginPrompt()
		end, err := sessions[i].Prompt(t.Context(), agent.Prompt{Text: p, ClientID: fmt.Sprint(i)})
		recs[i].EndPrompt(end, err)
	}
	for _, s := range sessions {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sink := agenttest.NewMirrorSink()
	stop := agenttest.StartMirror(t, New(h).Handover, handle, agent.Position{}, sink)
	sink.MustWait(t, deadline, "CaughtUp", func() bool { _, n := sink.Position(); return n > 0 })
	stop()
	got := texts(sink.Items())
	if !slices.Contains(got, "hello") || !slices.Contains(got, "second writer") || slices.Contains(got, "first writer") {
		t.Errorf("the mirror shows %q", got)
	}
	if b := sink.Now().Branches; len(b) != 1 || b[0].Text != "first writer" || b[0].Items == 0 {
		t.Errorf("branches %+v", b)
	}
}

// TestKilledWriter: what a kill left open is closed in the mirror, and by the
// next resume in the file, as the same rows.
func TestKilledWriter(t *testing.T) {
	h := newHost(t)
	rec := agenttest.NewRecorder()
	req := request(t)
	s, err := New(h).Provider.Open(t.Context(), req, rec)
	if err != nil {
		t.Fatal(err)
	}
	rec.BeginPrompt()
	done := make(chan agent.TurnEnd, 1)
	go func() {
		end, err := s.Prompt(context.Background(), agent.Prompt{Text: "run", ClientID: "c"})
		rec.EndPrompt(end, err)
		done <- end
	}()
	rec.MustWait(t, deadline, "the approval", func() bool { return len(rec.Approvals()) == 1 })
	handle := *rec.NativeHandle()
	sink := agenttest.NewMirrorSink()
	agenttest.StartMirror(t, New(h).Handover, handle, agent.Position{}, sink)
	sink.MustWait(t, deadline, "waiting in the mirror", func() bool { return sink.Now().Status == agent.StatusWaiting })
	if err := syscall.Kill(rec.ReadyEvents()[0].Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeFailed {
		t.Errorf("the turn ended as %+v", end)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	allClosed := func() bool {
		for _, it := range sink.Items() {
			if it.Open() {
				return false
			}
		}
		return sink.Now().Status == agent.StatusIdle
	}
	sink.MustWait(t, deadline, "closed rows in the mirror", allClosed)
	before := sink.Items()
	live := rec.Items()
	for i := range live {
		if !agent.SameRow(live[i], before[i]) {
			t.Errorf("live %s\nmirror %s", agent.RowBytes(live[i]), agent.RowBytes(before[i]))
		}
	}
	req.Resume = &handle
	again, err := New(h).Provider.Open(t.Context(), req, agenttest.NewRecorder())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := agenttest.MirrorRows(t, New(h).Handover, handle, deadline)
	for i := range before {
		if !agent.SameRow(before[i], after[i]) {
			t.Errorf("before the resume %s\nafter %s", agent.RowBytes(before[i]), agent.RowBytes(after[i]))
		}
	}
}

// TestStored: newest first, in pages, with title and folder.
func TestStored(t *testing.T) {
	h := newHost(t)
	var want []string
	for i := range 3 {
		handle, _ := storedSession(t, h, fmt.Sprint("hello number ", i))
		at := time.Now().Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(wire.Home(handle.Env[wire.HomeVariable]).Transcript(handle.NativeID), at, at); err != nil {
			t.Fatal(err)
		}
		want = append([]string{fmt.Sprint("hello number ", i)}, want...)
	}
	im := New(h).Handover.(agent.Importer)
	var got []string
	cursor := ""
	for {
		list, next, err := im.Stored(t.Context(), "", cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			got = append(got, s.Title)
			if !filepath.IsAbs(s.Handle.Cwd) || s.Model == "" || s.Size == 0 {
				t.Errorf("stored session %+v", s)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
}

func TestRecognizer(t *testing.T) {
	h := newHost(t)
	r := New(h).Recognizer
	for _, c := range []struct {
		argv []string
		want agent.Recognition
	}{
		{[]string{"/usr/bin/whippletree", "rehearsal"}, agent.Recognition{Agent: true}},
		{[]string{h.Executable, "rehearsal", "--resume", "s1"}, agent.Recognition{Agent: true, SessionID: "s1"}},
		{[]string{"env", "A=b", "whippletree", "rehearsal", "--session-id=s2"}, agent.Recognition{Agent: true, SessionID: "s2"}},
		{[]string{"whippletree", "rehearsal", "--chat"}, agent.Recognition{Agent: true, Helper: true}},
		{[]string{"whippletree", "rehearsal", "--resume", "../x"}, agent.Recognition{Agent: true}},
		{[]string{"whippletree", "rehearsal", "--version"}, agent.Recognition{}},
		{[]string{"whippletree", "ls"}, agent.Recognition{}},
		{[]string{"vim", "rehearsal"}, agent.Recognition{}},
		{[]string{"my-whippletree-notes", "rehearsal"}, agent.Recognition{}},
		{nil, agent.Recognition{}},
	} {
		if got := r.Recognize("", c.argv); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.argv, got, c.want)
		}
	}
}
