package agentkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

type entry struct {
	Type string `json:"type"`
	UUID string `json:"uuid"`
	Text string `json:"text"`
}

// read decodes a stream as a harness does: what does not parse is skipped and
// counted.
func read(t *testing.T, r io.Reader, o LinesOptions) (ids []string, skipped int) {
	t.Helper()
	lines := NewLines(r, o)
	for {
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return ids, lines.Skipped()
		}
		if err != nil {
			t.Fatal(err)
		}
		var e entry
		if !l.Object() || json.Unmarshal(l.Data, &e) != nil {
			lines.Skip()
			continue
		}
		ids = append(ids, e.UUID)
	}
}

func line(id string) string { return `{"type":"user","uuid":"` + id + `","text":"t"}` }

func TestTornAndStrangeLines(t *testing.T) {
	big := `{"type":"user","uuid":"big","text":"` + strings.Repeat("x", 15_000_000) + `"}`
	for _, c := range []struct {
		name, in string
		ids      string
		skipped  int
	}{
		{"T01 torn line in the middle", line("u1") + "\n" + `{"type":"pr-link","prNu{"type":"assistant","uuid":"u2"` + "\n" + line("u3") + "\n", "u1 u3", 1},
		{"T02 block of NULs", line("u1") + "\n" + strings.Repeat("\x00", 512) + line("u2") + "\n", "u1 u2", 0},
		{"T02 NULs between two records", line("u1") + strings.Repeat("\x00", 300) + line("u2") + "\n", "u1 u2", 0},
		{"T05 very long line", line("u1") + "\n" + big + "\n" + line("u4") + "\n", "u1 u4", 1},
		{"T06 lone surrogate and broken UTF-8", `{"uuid":"u1","text":"a\ud83c"}` + "\n{\"uuid\":\"u2\",\"text\":\"\xff\"}\n", "u1 u2", 0},
		{"T07 BOM and CRLF", "\xef\xbb\xbf" + line("u1") + "\r\n" + line("u2") + "\r\n", "u1 u2", 0},
		{"S02 noise", "Welcome!\n\x1b[31mmenu\x1b[0m\n\"ready\"\n" + line("u1") + "\n", "u1", 3},
		{"empty lines", "\n\n" + line("u1") + "\n \n", "u1", 0},
		{"last line without an end", line("u1") + "\n" + line("u2"), "u1 u2", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ids, skipped := read(t, strings.NewReader(c.in), LinesOptions{})
			if got := strings.Join(ids, " "); got != c.ids || skipped != c.skipped {
				t.Errorf("got %q, %d skipped; want %q, %d", got, skipped, c.ids, c.skipped)
			}
		})
	}
}

func TestCaseS02_PrettyPrintedReply(t *testing.T) {
	in := "{\n \"uuid\": \"u1\",\n \"text\": \"x\"\n}\n" + line("u2") + "\n"
	if ids, skipped := read(t, strings.NewReader(in), LinesOptions{Pretty: true}); strings.Join(ids, " ") != "u1 u2" || skipped != 0 {
		t.Errorf("got %v, %d skipped", ids, skipped)
	}
}

// TestS02PrettyPrintedInDepth: an object within the first reply does not end it,
// and a bracket that nothing closes takes no message with it.
func TestCaseS02_PrettyPrintedInDepth(t *testing.T) {
	var pretty bytes.Buffer
	reply := `{"uuid":"u1","list":[{"a":1},{"b":{"c":["}",{}]}}],"text":"{ \" }","empty":{},"last":[]}`
	if err := json.Indent(&pretty, []byte(reply), "", "  "); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]string{
		"alone":                   pretty.String() + "\n" + line("u2") + "\n",
		"after a lone bracket":    "{\n" + pretty.String() + "\n" + line("u2") + "\n",
		"a lone bracket later":    line("u1") + "\n{\n" + line("u2") + "\n",
		"a bracket and a banner":  "{\nWelcome!\n" + line("u1") + "\n" + line("u2") + "\n",
		"half of an object":       "{\n \"a\": [\n  1,\n}\n" + line("u1") + "\n" + line("u2") + "\n",
		"brackets after brackets": "{\n{\n{\n" + pretty.String() + "\n{\n" + line("u2") + "\n",
	} {
		if ids, _ := read(t, strings.NewReader(in), LinesOptions{Pretty: true}); strings.Join(ids, " ") != "u1 u2" {
			t.Errorf("%s: got %v", name, ids)
		}
	}
}

func TestT05LongLineTellsItsSizeInBoundedMemory(t *testing.T) {
	const n = 11_000_000
	in := line("u1") + "\n" + `{"uuid":"img","data":"` + strings.Repeat("A", n) + `"}` + "\n" + line("u2") + "\n"
	lines := NewLines(strings.NewReader(in), LinesOptions{MaxLine: 1 << 20})
	for i := 0; ; i++ {
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 && (!l.TooLong || l.Size < n || len(l.Data) > 1<<20 || !bytes.HasPrefix(l.Data, []byte(`{"uuid":"img"`))) {
			t.Errorf("long line: %d kept of %d, too long %v", len(l.Data), l.Size, l.TooLong)
		}
	}
}

func TestAnySplitGivesTheSameLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []byte
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			in = append(in, rapid.SampledFrom([]string{
				line("a"), `{"text":"привет 👩‍👩‍👧 ─│"}`, "noise", "", "\x00\x00" + line("b"), "{broken",
			}).Draw(t, "line")...)
			in = append(in, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")...)
		}
		in = append(in, rapid.SampledFrom([]string{"", `{"half`, line("c")}).Draw(t, "rest")...)
		collect := func(r io.Reader) (out []Line) {
			lines := NewLines(r, LinesOptions{})
			for {
				l, err := lines.Next()
				if err != nil {
					return out
				}
				out = append(out, l)
			}
		}
		whole := collect(bytes.NewReader(in))
		cut := collect(iotest.OneByteReader(bytes.NewReader(in)))
		if len(whole) != len(cut) {
			t.Fatalf("%d lines whole, %d cut", len(whole), len(cut))
		}
		for i := range whole {
			if !bytes.Equal(whole[i].Data, cut[i].Data) || whole[i].Offset != cut[i].Offset || whole[i].End != cut[i].End {
				t.Fatalf("line %d differs: %+v %+v", i, whole[i], cut[i])
			}
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(line("u1")+"\n"), 3)
	f.Add([]byte("\xef\xbb\xbf{}\r\n\x00\x00{}"), 1)
	f.Fuzz(func(t *testing.T, in []byte, max int) {
		lines := NewLines(bytes.NewReader(in), LinesOptions{MaxLine: max % 64, Pretty: true})
		var at int64
		for {
			l, err := lines.Next()
			if err != nil {
				return
			}
			if l.Offset < at || l.End < l.Offset || bytes.ContainsRune(l.Data, '\n') && !l.TooLong {
				t.Fatalf("bad line %+v after %d", l, at)
			}
			at = l.Offset
		}
	})
}
