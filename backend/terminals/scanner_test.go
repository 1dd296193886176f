package terminals

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// render writes tokens so that runs of text compare equal however they are cut.
func render(s *scanner, pieces ...[]byte) string {
	var out bytes.Buffer
	inText := false
	for _, p := range pieces {
		s.feed(p, func(t token) {
			if t.kind == 't' {
				out.Write(t.raw)
				inText = true
				return
			}
			if inText {
				out.WriteByte('\n')
				inText = false
			}
			fmt.Fprintf(&out, "<%c priv=%q par=%q inter=%q final=%q bel=%v raw=%q>\n", t.kind, t.priv, t.par, t.inter, t.final, t.bel, t.raw)
		})
	}
	return out.String()
}

const mixed = "plain \x1b[1;31mred\x1b[m привет 👩‍👩‍👧 ─│\r\n\x1b]0;title\x07\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\" +
	"\x1b[?1049h\x1b[?2026$p\x1b[>c\x1b[6n\x1bP+q544e\x1b\\\x1b_Ga=q\x1b\\\x1b(0\x1b=\x1b7\xc2\x9b5n\xc2\x9d2;c1 title\xc2\x9c\xc2\xa9\x05\x07" +
	"\x1b[3\n1m\x1b]2;cut\x1b[31mX\x1b[12\x18Y\x1b]9;gone\x1aZ\x80\xff\xe2\x94"

func TestScannerTokens(t *testing.T) {
	got := render(&scanner{}, []byte("a\x1b[?25hb\x1b]7501;?\x07\x1bP$qm\x1b\\\xc2\x9b6n"))
	want := "a\n" +
		"<[ priv='?' par=\"25\" inter=\"\" final='h' bel=false raw=\"\\x1b[?25h\">\n" +
		"b\n" +
		"<] priv='\\x00' par=\"7501;?\" inter=\"\" final='\\x00' bel=true raw=\"\">\n" +
		"<P priv='\\x00' par=\"$qm\" inter=\"\" final='\\x00' bel=false raw=\"\">\n" +
		"<[ priv='\\x00' par=\"6\" inter=\"\" final='n' bel=false raw=\"\\x1b[6n\">\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Case S01: characters and sequences are whole at every split position.
func TestCaseS01_EverySplitGivesTheSame(t *testing.T) {
	all := []byte(mixed)
	want := render(&scanner{}, all)
	for i := range all {
		if got := render(&scanner{}, all[:i], all[i:]); got != want {
			t.Fatalf("cut at %d:\n%s", i, cmp.Diff(want, got))
		}
	}
	var single [][]byte
	for i := range all {
		single = append(single, all[i:i+1])
	}
	if got := render(&scanner{}, single...); got != want {
		t.Errorf("byte by byte:\n%s", cmp.Diff(want, got))
	}
}

func TestScannerNeverCutsACharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.RuneFrom([]rune("aя─👩\u200d家é"))).Draw(t, "text"))
		s := &scanner{}
		var got []byte
		for len(text) > 0 {
			n := rapid.IntRange(1, len(text)).Draw(t, "n")
			s.feed(text[:n], func(tok token) {
				if !bytes.Equal(bytes.ToValidUTF8(tok.raw, nil), tok.raw) {
					t.Fatalf("cut character in %q", tok.raw)
				}
				got = append(got, tok.raw...)
			})
			text = text[n:]
		}
		if len(s.runes) > 0 || s.state == atLead {
			t.Fatalf("something whole was held back: %q", s.runes)
		}
	})
}

func TestScannerDropsWhatIsTooLong(t *testing.T) {
	flood := append([]byte("\x1b]9;"), bytes.Repeat([]byte("x"), 1<<20)...)
	s := &scanner{}
	got := render(s, flood, []byte("\x07after"))
	if got != "after" {
		t.Errorf("%.80q", got)
	}
	if cap(s.held) > 2*maxString {
		t.Errorf("%d bytes kept", cap(s.held))
	}
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte(mixed), 3)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		want := render(&scanner{}, b)
		if n <= 0 || n > 4096 {
			n = 1
		}
		var pieces [][]byte
		for rest := b; len(rest) > 0; {
			k := min(n, len(rest))
			pieces = append(pieces, rest[:k])
			rest = rest[k:]
		}
		if got := render(&scanner{}, pieces...); got != want {
			t.Errorf("split by %d:\n%s", n, cmp.Diff(want, got))
		}
	})
}
