package terminals

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/whippletree-app/whippletree/backend/model"
	"pgregory.net/rapid"
)

type heard struct {
	titles, cwds, notices, programs []string
	bells, prompts                  int
}

func (h *heard) title(s string)  { h.titles = append(h.titles, s) }
func (h *heard) cwd(s string)    { h.cwds = append(h.cwds, s) }
func (h *heard) bell()           { h.bells++ }
func (h *heard) notice(s string) { h.notices = append(h.notices, s) }
func (h *heard) promptStarted()  { h.prompts++ }
func (h *heard) program(p *model.ProgramStatus) {
	if p == nil {
		h.programs = append(h.programs, "clear")
		return
	}
	h.programs = append(h.programs, p.State+"/"+p.App+"/"+p.Kind+"/"+p.Text)
}

type answered struct {
	relayed, replied string
	heard
}

func respond(pieces ...string) (*responder, *answered) {
	a := &answered{}
	r := &responder{
		state: newState(80, 24), keep: newRing(), colors: defaultColors, name: "Whippletree 1",
		now:   func() int64 { return 1 },
		relay: func(b []byte) { a.relayed += string(b) },
		reply: func(b []byte) { a.replied += string(b) },
	}
	r.tell = &a.heard
	r.keep.(*ring).screen.patience = time.Minute // a slow machine is no slow program
	for _, p := range pieces {
		r.write([]byte(p))
	}
	return r, a
}

// The table of what is asked, what goes back, and that no window sees it.
func TestQueriesAreAnsweredAndCutOut(t *testing.T) {
	for _, c := range []struct{ ask, reply string }{
		{"\x1b[c", "\x1b[?62;22c"},
		{"\x1b[0c", "\x1b[?62;22c"},
		{"\x1bZ", "\x1b[?62;22c"},
		{"\x1b[>c", "\x1b[>1;10;0c"},
		{"\x1b[=c", ""},
		{"\x1b[5n", "\x1b[0n"},
		{"\x1b[6n", "\x1b[1;5R"},
		{"\x1b[?6n", "\x1b[?1;5R"},
		{"\x1b[?996n", ""},
		{"\x1b[>q", "\x1bP>|Whippletree 1\x1b\\"},
		{"\x1b[>0q", "\x1bP>|Whippletree 1\x1b\\"},
		{"\x1b[?2026$p", "\x1b[?2026;2$y"},
		{"\x1b[?2027$p", "\x1b[?2027;0$y"},
		{"\x1b[?7$p", "\x1b[?7;1$y"},
		{"\x1b[4$p", "\x1b[4;2$y"},
		{"\x1b[?u", ""},
		{"\x1b[>5u", ""},
		{"\x1b[18t", "\x1b[8;24;80t"},
		{"\x1b[14t", ""},
		{"\x1b[21t", ""},
		{"\x1b[8;50;100t", ""},
		{"\x1b]7501;?\x1b\\", "\x1b]7501;?\x1b\\"},
		{"\x1b]7501;?\x07", "\x1b]7501;?\x07"},
		{"\x1b]10;?\x07", "\x1b]10;rgb:e6e6/e6e6/e6e6\x07"},
		{"\x1b]11;?\x1b\\", "\x1b]11;rgb:1010/1010/1414\x1b\\"},
		{"\x1b]10;?;?\x07", "\x1b]10;rgb:e6e6/e6e6/e6e6\x07\x1b]11;rgb:1010/1010/1414\x07"},
		{"\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07"},
		{"\x1b]4;231;?\x07", "\x1b]4;231;rgb:ffff/ffff/ffff\x07"},
		{"\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"},
		{"\x1bP$qm\x1b\\", "\x1bP0$r\x1b\\"},
		{"\x1b_Ga=q\x1b\\", ""},
		{"\x1b]52;c;?\x07", ""},
		{"\xc2\x9b6n", "\x1b[1;5R"},
		{"\x05", ""},
	} {
		_, a := respond("abcd", c.ask, "e")
		if a.replied != c.reply {
			t.Errorf("%q: replied %q, want %q", c.ask, a.replied, c.reply)
		}
		if a.relayed != "abcde" {
			t.Errorf("%q: a window sees %q", c.ask, a.relayed)
		}
	}
}

func TestOrdinarySequencesPass(t *testing.T) {
	all := "\x1b[1;31mx\x1b[m\x1b[2J\x1b[3;4H\x1b[?25l\x1b[?1049h\x1b(0\x1b7\x1b8\x1b[s\x1b[u\x1b[2 q\x1b[!p\x1b[4:3m\x1b[>4;2m\x1bD\r\n\x1b]8;id=1;http://x/\x1b\\y"
	if _, a := respond(all); a.relayed != all || a.replied != "" {
		t.Errorf("%s", cmp.Diff(all, a.relayed))
	}
}

func TestCountsAreCutToWhatHasAnEffect(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[2147483647b": "\x1b[1920b", "\x1b[99999999999999999999L": "\x1b[24L", "\x1b[50L": "\x1b[24L", "\x1b[500P": "\x1b[80P",
		"\x1b[99999;3H": "\x1b[9999;3H", "\x1b[38;2;1;2;255m": "\x1b[38;2;1;2;255m", "\x1b[4:3m": "\x1b[4:3m", "\x1b[7b": "\x1b[7b", "\x1b[;H": "\x1b[;H",
		"\x1b[38:2::1:2:3m": "\x1b[38:2::1:2:3m",
	} {
		if _, a := respond(in); a.relayed != want {
			t.Errorf("%q: %q, want %q", in, a.relayed, want)
		}
	}
}

// A program cannot hold its terminal up with output that is slow to follow.
func TestPatienceEnds(t *testing.T) {
	r, a := respond()
	r.keep.(*ring).screen.patience = time.Millisecond
	r.write([]byte(strings.Repeat("x\x1b[1900b\n", 3000)))
	for range 100 {
		r.write([]byte("\x1b[6n"))
	}
	if n := strings.Count(a.replied, "R"); n != 100 {
		t.Errorf("%d answers", n)
	}
}

func TestRepliesInTheOrderOfAsking(t *testing.T) {
	_, a := respond("\x1b[>0q\x1b[?u\x1b]7501;?\x1b\\\x1b[c")
	want := "\x1bP>|Whippletree 1\x1b\\\x1b]7501;?\x1b\\\x1b[?62;22c"
	if a.replied != want {
		t.Errorf("%q", a.replied)
	}
}

func TestAnySplitGivesTheSameAnswers(t *testing.T) {
	all := mixed + "\x1b[2;5H\x1b[6n\x1b]7501;?\x07\x1b[c\x1b]11;?\x1b\\\x1b[?25l\x1b[?1003h\x1b[?1003$p"
	_, want := respond(all)
	rapid.Check(t, func(t *rapid.T) {
		var pieces []string
		for rest := all; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		_, got := respond(pieces...)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(answered{}, heard{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestCursorFollowsWhatCameBefore(t *testing.T) {
	_, a := respond("\x1b[7;9Hab\x1b[6n\x1b[5;20r\x1b[?6h\x1b[3;4H\x1b[6n")
	if want := "\x1b[7;11R\x1b[3;4R"; a.replied != want {
		t.Errorf("%q, want %q", a.replied, want)
	}
	r, a := respond(strings.Repeat("line\r\n", 8000))
	r.write([]byte("xy\x1b[6n"))
	if want := "\x1b[24;3R"; a.replied != want {
		t.Errorf("after a flood: %q, want %q", a.replied, want)
	}
}

// Case X03: escapes are harmless.
func TestCaseX03_TerminalEscapes(t *testing.T) {
	evil := "$(touch /tmp/p)'\"; rm\u202eexe\u0085\u200b\x01"
	_, a := respond("\x1b]52;c;cm0gLXJm\x07", "\x1b]0;x\x07\x1b[21t", "\x1b]9;"+strings.Repeat("y", 1<<20)+"\x07",
		"\x1b]2;"+evil+"\x07", "\x1b]2;"+strings.Repeat("t", 5000)+"\x07", "\x1b]9;hey\u202e\nyou\x07", "\x1b]8;;file:///etc/passwd\x1b\\")
	if a.replied != "" {
		t.Errorf("replied %q", a.replied)
	}
	if a.relayed != "\x1b]8;;file:///etc/passwd\x1b\\" {
		t.Errorf("relayed %.200q", a.relayed)
	}
	want := []string{"x", "$(touch /tmp/p)'\"; rmexe", strings.Repeat("t", maxTitle)}
	if diff := cmp.Diff(want, a.titles); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"hey you"}, a.notices); diff != "" {
		t.Error(diff)
	}
}

func TestProgramStatus(t *testing.T) {
	msg := base64.StdEncoding.EncodeToString([]byte("approve Bash: rm\x1b[31m\u202e -rf"))
	_, a := respond("\x1b]7501;state=working:app=codex\x07", "\x1b]7501;state=blocked:kind=permission:msg="+msg+"\x1b\\",
		"\x1b]7501;state=blocked:kind=odd\x07", "\x1b]7501;state=idle:kind=permission\x07", "\x1b]7501;state=clear\x07",
		"\x1b]7501;state=nonsense\x07", "\x1b]7501;id=a/b:state=working\x07", "\x1b]133;A\x07\x1b]7;file://host/tmp/a%20b\x07\x1b]7;http://x/\x07")
	want := []string{"working/codex//", "blocked//permission/approve Bash: rm[31m -rf", "blocked///", "idle///", "clear"}
	if diff := cmp.Diff(want, a.programs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/tmp/a b"}, a.cwds); diff != "" {
		t.Error(diff)
	}
	if a.prompts != 1 {
		t.Errorf("%d prompts", a.prompts)
	}
}

func TestColorsSetByTheProgramAreAnswered(t *testing.T) {
	r, a := respond("\x1b]11;#102030\x07\x1b]11;?\x07\x1b]4;3;rgb:1/2/3\x07\x1b]4;3;?\x07")
	if want := "\x1b]11;rgb:1010/2020/3030\x07\x1b]4;3;rgb:1/2/3\x07"; a.replied != want {
		t.Errorf("%q", a.replied)
	}
	a.replied = ""
	r.write([]byte("\x1b]111\x07\x1b]104\x07\x1b]11;?\x07\x1b]4;3;?\x07"))
	if want := "\x1b]11;rgb:1010/1010/1414\x07\x1b]4;3;rgb:cdcd/cdcd/0000\x07"; a.replied != want {
		t.Errorf("%q", a.replied)
	}
}

func FuzzResponder(f *testing.F) {
	f.Add([]byte(mixed))
	f.Add([]byte("\x1b[6n\x1b]4;999;?\x07\x1b[r\x1b[?6h\x1b[6n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, _ := respond()
		r.keep.(*ring).screen.patience = 100 * time.Millisecond
		r.write(b)
		r.resize(10, 5)
		r.write(b)
		_ = r.keep.replay()
		_ = r.keep.text(&r.state, 10)
		if row, col := r.keep.cursor(&r.state); row < 1 || col < 1 || row > 5 || col > 10 {
			t.Errorf("cursor %d %d", row, col)
		}
		_ = fmt.Sprint(r.state)
	})
}
