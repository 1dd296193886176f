package agentkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The cases of reports on transcripts (T01 ...), at the reader that all harnesses
// share. claudecode has them once more, through its rows and its list.

// seen is what a harness keeps of a record.
type seen struct {
	ID, Type, Text string
	TooLong        bool
}

func look(r *Record) (seen, bool) {
	var v struct {
		UUID    string `json:"uuid"`
		Type    string `json:"type"`
		Message struct {
			Content any `json:"content"`
		} `json:"message"`
	}
	if err := json.Unmarshal(r.Data, &v); err != nil {
		return seen{}, false
	}
	text, _ := v.Message.Content.(string)
	if len(text) > 40 {
		text = text[:40]
	}
	return seen{v.UUID, v.Type, text, r.TooLong}, true
}

// records reads a file in one go.
func records(t testing.TB, in string, known map[string]bool, maxLine int) ([]seen, RecordCounts) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
		t.Fatal(err)
	}
	tail := NewTail(path, TailState{})
	defer func() { _ = tail.Close() }()
	tail.SetMaxLine(maxLine)
	list, counts := []seen{}, &Records{Known: known}
	if _, err := tail.Read(func(l Line) {
		counts.Take(l, func(r *Record) bool {
			s, ok := look(r)
			if ok {
				list = append(list, s)
			}
			return ok
		})
	}); err != nil {
		t.Fatal(err)
	}
	return list, counts.Counts
}

func said(id, text string) string {
	return `{"type":"user","uuid":"` + id + `","sessionId":"S1","message":{"role":"user","content":"` + text + `"},"timestamp":"2026-01-01T10:00:00.000Z"}`
}

func show(list []seen) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s=%s ", s.ID, s.Text)
	}
	return strings.TrimSpace(b.String())
}

func TestCaseT01TornLineInTheMiddle(t *testing.T) {
	in := said("u1", "one") + "\n" + `{"type":"pr-link","sessionId":"S1","prNu{"type":"assistant","uuid":"u2"` + "\n" + said("u3", "three") + "\n"
	list, counts := records(t, in, nil, 0)
	if show(list) != "u1=one u3=three" || counts.Skipped != 1 || counts.Records != 2 {
		t.Errorf("%s %+v", show(list), counts)
	}
	// A record that was appended whole behind the torn one is not lost, nor are two
	// records without a line feed between them.
	in = said("u1", "one") + "\n" + `{"type":"user","message":{"content":"cut` + said("u2", "two") + "\n" + said("u3", "three") + said("u4", "four") + "\n"
	list, counts = records(t, in, nil, 0)
	if show(list) != "u1=one u2=two u3=three u4=four" || counts.Skipped != 1 {
		t.Errorf("%s %+v", show(list), counts)
	}
	// What is left of a cut record is no record.
	list, counts = records(t, `{"type":"assistant","message":{"content":[{"kind":"text","text":"hi"}`+"\n", nil, 0)
	if len(list) != 0 || counts.Skipped != 1 {
		t.Errorf("%s %+v", show(list), counts)
	}
}

func TestCaseT02BlockOfNULs(t *testing.T) {
	in := said("u1", "one") + "\n" + strings.Repeat("\x00", 512) + said("u2", "after") + "\n" + said("u3", "cut")[:40] + strings.Repeat("\x00", 700) + said("u4", "four") + "\n"
	list, counts := records(t, in, nil, 0)
	if show(list) != "u1=one u2=after u4=four" || counts.Skipped != 1 {
		t.Errorf("%s %+v", show(list), counts)
	}
	// A block of any size is held in no memory, and what follows it is not lost.
	in = said("u1", "one") + "\n" + strings.Repeat("\x00", 20<<20) + said("u2", "after") + "\n"
	if list, counts = records(t, in, nil, 1<<20); show(list) != "u1=one u2=after" || counts.Skipped+counts.TooLong != 0 {
		t.Errorf("%s %+v", show(list), counts)
	}
}

func TestCaseT03LastLineStillBeingWritten(t *testing.T) {
	whole := said("u1", "привет 👩‍👩‍👧") + "\n" + said("u2", "т") + "\n"
	path := filepath.Join(t.TempDir(), "a.jsonl")
	for cut := range len(whole) {
		if err := os.WriteFile(path, []byte(whole[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []seen
		var recs Records
		read := func(state TailState) TailState {
			tail := NewTail(path, state) // a restart of the host
			defer func() { _ = tail.Close() }()
			if _, err := tail.Read(func(l Line) {
				recs.Take(l, func(r *Record) bool { s, ok := look(r); got = append(got, s); return ok })
			}); err != nil {
				t.Fatal(err)
			}
			return tail.State()
		}
		state := read(TailState{})
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(whole[cut:]); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if read(state); show(got) != "u1=привет 👩‍👩‍👧 u2=т" || recs.Counts.Skipped != 0 {
			t.Fatalf("cut at %d: %s %+v", cut, show(got), recs.Counts)
		}
	}
}

func TestCaseT05VeryLongLines(t *testing.T) {
	image := `{"type":"user","uuid":"u3","message":{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("A", 11_000_000) + `"}}]}}`
	in := said("u1", "one") + "\n" + said("u2", strings.Repeat("x", 15_000_000)) + "\n" + image + "\n" + said("u4", "four") + "\n"
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
		t.Fatal(err)
	}
	in = ""
	tail := NewTail(path, TailState{})
	defer func() { _ = tail.Close() }()
	tail.SetMaxLine(1 << 20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var list []seen
	var sizes []int64
	recs := &Records{}
	if _, err := tail.Read(func(l Line) {
		recs.Take(l, func(r *Record) bool {
			s, ok := look(r)
			list, sizes = append(list, s), append(sizes, r.Size/1_000_000)
			if len(r.Data) > 1<<20 {
				t.Errorf("%d bytes are held of %s", len(r.Data), s.ID)
			}
			return ok
		})
	}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grew := after.TotalAlloc - before.TotalAlloc; grew > 24<<20 {
		t.Errorf("%d MB were allocated for 26 MB of lines", grew>>20)
	}
	want := []seen{{"u1", "user", "one", false}, {"u2", "user", strings.Repeat("x", 40), true}, {"u3", "user", "", true}, {"u4", "user", "four", false}}
	if d := cmp.Diff(want, list); d != "" || !slices.Equal(sizes, []int64{0, 15, 11, 0}) || recs.Counts.TooLong != 2 || recs.Counts.Skipped != 0 {
		t.Error(d, sizes, recs.Counts)
	}
}

func TestCaseT06BrokenTextEncodings(t *testing.T) {
	in := `{"type":"user","uuid":"u1","message":{"content":"a\ud83c"}}` + "\n" + "{\"type\":\"user\",\"uuid\":\"u2\",\"message\":{\"content\":\"b\xff\"}}\n"
	list, counts := records(t, in, nil, 0)
	if show(list) != "u1=a\uFFFD u2=b\uFFFD" || counts.Skipped != 0 {
		t.Errorf("%q %+v", show(list), counts)
	}
	if Text([]byte("\"b\xff\"")) != "b\uFFFD" || Text([]byte(`"a\ud83c"`)) != "a\uFFFD" {
		t.Error("a text of the record itself differs")
	}
}

func TestCaseT07BOMAndCRLF(t *testing.T) {
	list, counts := records(t, "\xef\xbb\xbf"+said("u1", "one")+"\r\n"+said("u2", "two")+"\r\n", nil, 0)
	if show(list) != "u1=one u2=two" || counts.Skipped != 0 {
		t.Errorf("%s %+v", show(list), counts)
	}
}

func TestCaseT08UnknownTypesAreCounted(t *testing.T) {
	in := `{"type":"atis-latch","atis":"","sessionId":"S1"}` + "\n" + `{"type":"zz-future","payload":[1]}` + "\n" + `{"type":"zz-future"}` + "\n" +
		strings.Replace(said("u1", "one"), `"uuid"`, `"nu":{"a":1},"uuid"`, 1) + "\n" + `{"type":"user"}` + "\n" + `{"payload":1}` + "\n"
	list, counts := records(t, in, map[string]bool{"user": true}, 0)
	if show(list) != "u1=one =" || counts.Skipped != 0 || !cmp.Equal(counts.Unknown, map[string]int{"atis-latch": 1, "zz-future": 2, "": 1}) {
		t.Errorf("%s %+v", show(list), counts)
	}
	many := &Records{Known: map[string]bool{}}
	for i := range 1000 {
		many.Take(Line{Data: fmt.Appendf(nil, `{"type":"t%d"}`, i)}, nil)
	}
	if len(many.Counts.Unknown) > maxUnknown+1 || many.Counts.Unknown["..."] < 900 {
		t.Errorf("%d names are kept", len(many.Counts.Unknown))
	}
}

// A record nested deeper than its decoder goes is given out without its depths.
func TestCaseT08DeepRecordIsShown(t *testing.T) {
	const deep = 20_000
	in := `{"type":"user","uuid":"u1","x":` + strings.Repeat(`{"a":[`, deep/2) + strings.Repeat(`]}`, deep/2) + `,"message":{"content":"one"}}` + "\n"
	list, counts := records(t, in, nil, 0)
	if show(list) != "u1=one" || counts.Skipped != 0 {
		t.Errorf("%s %+v", show(list), counts)
	}
}

func TestCaseT17TailFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const lines = 4000
	for i := range lines {
		if _, err := fmt.Fprintln(f, said(fmt.Sprint("u", i), strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	tail, from, err := TailFirst(path, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tail.Close() }()
	var recs Records
	var ids []string
	take := func(l Line) {
		recs.Take(l, func(r *Record) bool { ids = append(ids, r.Text("uuid")); return true })
	}
	if restarted, err := tail.Read(take); err != nil || restarted || len(ids) < 9 || len(ids) > 11 || ids[len(ids)-1] != "u3999" {
		t.Fatalf("the end is %v, %v %v", ids, restarted, err)
	}
	// What comes is read behind it, what was before page by page.
	put(t, path, said("new", "x")+"\n", os.O_APPEND)
	if _, err := tail.Read(take); err != nil || ids[len(ids)-1] != "new" {
		t.Fatal(ids, err)
	}
	all := ids
	for pages := 0; from > 0; pages++ {
		ids = nil
		if from, err = tail.Before(from, 100_000, take); err != nil || pages > 100 {
			t.Fatal(err, pages)
		}
		all = append(ids, all...)
	}
	if len(all) != lines+1 || all[0] != "u0" || recs.Counts.Skipped != 0 {
		t.Errorf("%d records, the first is %s, %+v", len(all), all[0], recs.Counts)
	}
}

// hardPieces are what the properties below make files of.
var hardPieces = []string{
	said("a", "one"), said("b", "привет 👩‍👩‍👧 ─│"), said("c", `a\ud83c`), said("d", "\xff"), `{"type":"mode"}`, "noise", "", "\x00\x00\x00" + said("e", "nul"),
	`{"type":"pr-link","prNu{"type":"assistant"`, said("f", "torn")[:30] + said("g", "glued"), said("h", "one") + said("i", "two"),
	said("j", strings.Repeat("long ", 300)), `{"type":"x","deep":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`, `["no record"]`, "\xef\xbb\xbf",
}

func hardFile(t *rapid.T) []byte {
	var in []byte
	if rapid.Bool().Draw(t, "bom") {
		in = append(in, bom...)
	}
	for range rapid.IntRange(0, 12).Draw(t, "lines") {
		in = append(in, rapid.SampledFrom(hardPieces).Draw(t, "line")...)
		in = append(in, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")...)
	}
	return append(in, rapid.SampledFrom([]string{"", `{"half`, said("z", "last")}).Draw(t, "rest")...)
}

// Any split of the bytes, with restarts in between, gives the same records; so
// does reading from the end page by page.
func TestAnySplitGivesTheSameRecords(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		in := hardFile(rt)
		maxLine := rapid.SampledFrom([]int{0, 700}).Draw(rt, "limit")
		f, err := os.CreateTemp(dir, "*.jsonl")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.Remove(f.Name()); _ = f.Close() }()
		type got struct {
			list   []string
			counts RecordCounts
		}
		collect := func(g *got, recs *Records) func(Line) {
			return func(l Line) {
				recs.Take(l, func(r *Record) bool {
					g.list = append(g.list, fmt.Sprintf("%d %d %v %s", r.Offset, r.Size, r.TooLong, r.Data))
					return true
				})
				g.counts = recs.Counts
			}
		}
		var pieces got
		recs := &Records{}
		tail := NewTail(f.Name(), TailState{})
		tail.SetMaxLine(maxLine)
		defer func() { _ = tail.Close() }()
		for rest := in; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			if _, err := f.Write(rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
			if rapid.Bool().Draw(rt, "restart") {
				state := tail.State()
				_ = tail.Close()
				tail = NewTail(f.Name(), state)
				tail.SetMaxLine(maxLine)
			}
			if restarted, err := tail.Read(collect(&pieces, recs)); err != nil || restarted {
				rt.Fatal(restarted, err)
			}
		}
		var whole got
		one := NewTail(f.Name(), TailState{})
		one.SetMaxLine(maxLine)
		if _, err := one.Read(collect(&whole, &Records{})); err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(whole, pieces, cmp.AllowUnexported(got{})); d != "" {
			rt.Fatal(d)
		}
		var back got
		from := one.State().Offset
		for from > 0 {
			var page got
			if from, err = one.Before(from, int64(rapid.IntRange(1, 3000).Draw(rt, "page")), collect(&page, &Records{})); err != nil {
				rt.Fatal(err)
			}
			back.list = append(page.list, back.list...)
		}
		if err := one.Close(); err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(whole.list, back.list); d != "" {
			rt.Fatal(d)
		}
	})
}

// The ends of a file are what a whole reading begins and ends with, and a tail
// continues behind them.
func TestEndsAreThoseOfTheFile(t *testing.T) {
	dir := t.TempDir()
	var ends Ends
	rapid.Check(t, func(rt *rapid.T) {
		in := hardFile(rt)
		f, err := os.CreateTemp(dir, "*.jsonl")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.Remove(f.Name()); _ = f.Close() }()
		if _, err := f.Write(in); err != nil {
			rt.Fatal(err)
		}
		var whole []string
		one := NewTail(f.Name(), TailState{})
		defer func() { _ = one.Close() }()
		if _, err := one.Read(func(l Line) { whole = append(whole, fmt.Sprintf("%d %s", l.Offset, l.Data)) }); err != nil {
			rt.Fatal(err)
		}
		n := rapid.Int64Range(1, 4000).Draw(rt, "window")
		_, state, err := ends.Read(f.Name(), n)
		if err != nil {
			rt.Fatal(err)
		}
		var first, second, found []string
		wanted := rapid.IntRange(1, 5).Draw(rt, "wanted")
		after := ends.First(func(l Line) bool {
			first = append(first, fmt.Sprintf("%d %s", l.Offset, l.Data))
			return len(first) < wanted
		})
		more := ends.Last(rapid.Int64Range(1, 5000).Draw(rt, "last"), after, func(l Line) { second = append(second, fmt.Sprintf("%d %s", l.Offset, l.Data)) })
		if len(first)+len(second) > len(whole) || !slices.Equal(first, whole[:len(first)]) || !slices.Equal(second, whole[len(whole)-len(second):]) {
			rt.Fatalf("%q and %q are not the ends of %q", first, second, whole)
		}
		if !ends.Gap() && !more && len(first)+len(second) != len(whole) {
			rt.Fatalf("%q and %q are not all of %q", first, second, whole)
		}
		ends.Beginning(`{"type":"user","uuid":"b"`, func(l Line) { found = append(found, fmt.Sprintf("%d %s", l.Offset, l.Data)) })
		for _, l := range found {
			if !slices.Contains(whole, l) || !strings.Contains(l, `"b"`) {
				rt.Fatalf("%q was found and is none of %q", l, whole)
			}
		}
		if state.Offset != one.State().Offset || !bytes.Equal(state.Before, one.State().Before) {
			rt.Fatalf("continues at %d %q, the lines end at %d %q", state.Offset, state.Before, one.State().Offset, one.State().Before)
		}
		rest := NewTail(f.Name(), state)
		defer func() { _ = rest.Close() }()
		if restarted, err := rest.Read(func(Line) {}); err != nil || restarted {
			rt.Fatal(restarted, err)
		}
	})
}

// Members agrees with the library on what an object is and what stands in it.
func FuzzMembers(f *testing.F) {
	for _, s := range hardPieces {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"a":1.5e-3,"b":[true,false,null,{}],"c":"\\\"","d":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		got := map[string]json.RawMessage{}
		ok := Members(in, func(key, value []byte) { got[string(key)] = bytes.Clone(value) })
		var want map[string]json.RawMessage
		if json.Unmarshal(in, &want) != nil {
			return // a decoder comes after it
		}
		if want != nil && !ok {
			t.Fatalf("%q is an object", in)
		}
		for k, v := range want {
			if raw, plain := got[k]; plain && !bytes.Equal(bytes.TrimSpace(raw), bytes.TrimSpace(v)) {
				t.Fatalf("%q: %q is %q, the library says %q", in, k, raw, v)
			}
		}
	})
}

// FuzzRecords reads any bytes; healed records are valid.
func FuzzRecords(f *testing.F) {
	for _, piece := range hardPieces {
		if len(piece) < 300 { // big ones keep the fuzzer busy with making them small
			f.Add([]byte(piece+"\n"+piece), 64)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		var split Splitter
		split.MaxLine = 16 + max(limit, -limit)%512
		recs := &Records{}
		take := func(l Line) {
			recs.Take(l, func(r *Record) bool {
				if wholeObject(r.Data) != len(r.Data) {
					t.Fatalf("no object: %q", r.Data)
				}
				for i := range r.members {
					_ = Text(r.members[i].value)
					Elements(r.members[i].value, func([]byte) bool { return true })
				}
				return true
			})
		}
		split.Feed(in, take)
		split.Flush(take)
	})
}

func BenchmarkRecords(b *testing.B) {
	l := []byte(said("u1", strings.Repeat("some words of an answer ", 40)))
	recs := &Records{}
	b.SetBytes(int64(len(l)))
	b.ReportAllocs()
	for b.Loop() {
		recs.Take(Line{Data: l}, func(r *Record) bool { return r.Get("uuid") != nil && bytes.HasPrefix(r.Data, []byte("{")) })
	}
}
