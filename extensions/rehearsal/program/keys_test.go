package program

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestKeys(t *testing.T) {
	runes := func(s string) (out []key) {
		for _, r := range s {
			out = append(out, key{kind: keyRune, r: r})
		}
		return out
	}
	for in, want := range map[string][]key{
		"hé\r":                         append(runes("hé"), key{kind: keyEnter}),
		"\x7f\x03\x04":                 {{kind: keyBackspace}, {kind: keyInterrupt}, {kind: keyEnd}},
		"\x1b[A\x1bOPx":                runes("x"),
		"\x1b]7501;?\x1b\\\x1b[?1;2ca": append([]key{{kind: keyOSC, text: "7501;?"}}, runes("a")...),
		"\x1b]11;rgb:0/0/0\ab":         append([]key{{kind: keyOSC, text: "11;rgb:0/0/0"}}, runes("b")...),
		"\x1bP>|xterm(1)\x1b\\c":       runes("c"),
		"\x1b[200~a\rb\x1b[201~\r":     append(runes("a b"), key{kind: keyEnter}),
	} {
		var k keyReader
		if got := k.feed([]byte(in)); !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

// TestEscape: a lone escape is a key only when nothing follows it.
func TestEscape(t *testing.T) {
	var k keyReader
	if got := k.feed([]byte("\x1b")); len(got) > 0 || !k.pending() {
		t.Fatalf("%+v", got)
	}
	if got := k.feed([]byte("[A")); len(got) > 0 || k.pending() {
		t.Fatalf("an arrow cut in two is %+v", got)
	}
	k.feed([]byte("\x1b"))
	if got := k.flush(); len(got) != 1 || got[0].kind != keyEscape {
		t.Fatalf("%+v", got)
	}
}

// TestKeysAnySplit: how the bytes are cut changes nothing.
func TestKeysAnySplit(t *testing.T) {
	const in = "héllo\x1b]7501;?\x1b\\\x1b[?1;2c\x1b[200~a\rb\x1b[201~👩‍👩‍👧\r\x1bP1$r\x1b\\x"
	var whole keyReader
	want := whole.feed([]byte(in))
	rapid.Check(t, func(t *rapid.T) {
		var k keyReader
		var got []key
		for rest := []byte(in); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got = append(got, k.feed(rest[:n])...)
			rest = rest[n:]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b]7501;?\x07\x1b[200~"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var k keyReader
		k.feed(in)
		if len(k.buf) > maxSequence {
			t.Fatalf("%d bytes are kept", len(k.buf))
		}
	})
}

func TestWordsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "text")
		out := ""
		for _, w := range words(in) {
			if w == "" {
				t.Fatal("an empty delta")
			}
			out += w
		}
		if out != in {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

func TestScenesByWords(t *testing.T) {
	for text, want := range map[string]int{
		"hello there": 0, "Plan, then edit and run!": 3, "plan plan plan": 1, "/run date": 1,
		"a planet": 0, "sub-agents": 1, "edition": 0,
	} {
		if got := len(called(text, false)); got != want {
			t.Errorf("%q calls %d scenes, not %d", text, got, want)
		}
	}
}

func TestCleanLine(t *testing.T) {
	if got := clean("a\x1b[31mb\u202ec\x00\td\n"); got != "a[31mbc d " {
		t.Errorf("%q", got)
	}
}
