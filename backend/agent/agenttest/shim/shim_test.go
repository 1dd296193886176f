package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func parsed(t *testing.T, raw string) *script {
	t.Helper()
	p, err := parsePlan(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &script{plan: p}
}

func play(s *script, lines ...string) string {
	var out bytes.Buffer
	for _, l := range lines {
		out.Write(s.line([]byte(l + "\n")))
	}
	out.Write(s.rest())
	return strings.Join(strings.Fields(out.String()), " ")
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, plan, want string }{
		{"nothing", `{}`, "a b c"},
		{"kept back", `{"moves":[{"line":"^a","after":"^b"}]}`, "b a c"},
		{"kept back for nothing", `{"moves":[{"line":"^b","after":"^zz"}]}`, "a c b"},
		{"said again", `{"repeats":[{"line":"^a","after":"^c"}]}`, "a b c a"},
		{"added", `{"inserts":[{"after":"^(b)","text":"<$1>"}]}`, "a b <b> c"},
	} {
		plan := `{"program":"x",` + strings.TrimPrefix(c.plan, "{")
		if c.plan == "{}" {
			plan = `{"program":"x"}`
		}
		if got := play(parsed(t, plan), "a", "b", "c"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNoiseKeepsTheMessages: whatever stands between them, the messages are
// there, whole and in order.
func TestNoiseKeepsTheMessages(t *testing.T) {
	s := parsed(t, `{"program":"x","noise":true}`)
	out := play(s, `{"n":1}`, `{"n":2}`)
	if i, j := strings.Index(out, `{"n":1}`), strings.Index(out, `{"n":2}`); i < 0 || j < i {
		t.Errorf("%q", out)
	}
	pretty := parsed(t, `{"program":"x","pretty":true}`).line([]byte(`{"n":{"m":[1]}}` + "\n"))
	var v any
	if bytes.Count(pretty, []byte("\n")) < 4 || json.Unmarshal(pretty, &v) != nil {
		t.Errorf("%q", pretty)
	}
}

// TestCutsLoseNothing: the pieces together are what was put in.
func TestCutsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got []byte
		var sizes []int
		c := &cutter{cuts: rapid.SliceOfN(rapid.IntRange(0, 9), 1, 5).Draw(t, "cuts"), write: func(p []byte) error {
			got = append(got, p...)
			sizes = append(sizes, len(p))
			return nil
		}}
		var want []byte
		for _, p := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "pieces") {
			want = append(want, p...)
			if err := c.put(p); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		for _, n := range sizes {
			if n > 9 {
				t.Fatalf("a piece of %d bytes", n)
			}
		}
	})
}

func TestPlansAreChecked(t *testing.T) {
	for _, raw := range []string{``, `{}`, `{"program":"x","deaf":"("}`, `{"program":"x","moves":[{"line":"("}]}`, `{"program":"x","inserts":[{"after":"("}]}`} {
		if _, err := parsePlan(raw); err == nil {
			t.Errorf("taken: %q", raw)
		}
	}
}
