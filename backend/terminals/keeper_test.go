package terminals

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// screen is a window as the tests see it: an emulator that follows the size
// markers of the stream.
type screen struct {
	emu  *vt.Emulator
	scan scanner
}

func newScreen() *screen {
	s := &screen{emu: vt.NewEmulator(80, 24)}
	if c, ok := s.emu.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
	return s
}

func (s *screen) write(b []byte) {
	s.scan.feed(b, func(t token) {
		if t.kind == '[' && t.final == 't' {
			n := numbers(t.par)
			s.emu.Resize(n[2], n[1])
			return
		}
		raw := t.raw
		if t.kind == ']' {
			raw = []byte("\x1b]" + string(t.par) + "\x1b\\")
		}
		_, _ = s.emu.Write(raw)
	})
}

// render is all that is compared: cells with attributes, cursor, which screen.
func (s *screen) render() string {
	p := s.emu.CursorPosition()
	return fmt.Sprintf("%dx%d cursor %d,%d alternate %v\n%s", s.emu.Width(), s.emu.Height(), p.X, p.Y,
		s.emu.IsAltScreen(), s.emu.Render())
}

const leave = "\x1b[r\x1b[?1049l"

// pieces leave out what the emulator does differently from terminals: it does
// not save character sets with the cursor. Programs undo their scroll region
// when they leave the alternate screen.
var pieces = []string{
	"hello ", "мир 家 ", "\r\n", "\n", "\x1b[1;31m", "\x1b[m", "\x1b[0;4m", "\x1b[48;5;22m", "\x1b[5;10H", "\x1b[2J", "\x1b[K", "\x1b[3A",
	"\x1b[?25l", "\x1b[?25h", "\x1b[?1049h", leave, "\x1b[?1003h\x1b[?1006h", "\x1b[?2004h", "\x1b[3;12r", "\x1b[r", "\x1b7", "\x1b8",
	"\x1b=", "\x1b[4 q", "\x1b]0;t\x07", "\x1b[6n", "\x1b[L", "\x1b[2P", "\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\",
}

// A window that comes at any moment shows what one that was there from the
// start shows, then and after all that follows.
func TestReplayGivesTheSameScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := respond()
		old := newScreen()
		r.relay = old.write
		var late *screen
		n := rapid.IntRange(1, 80).Draw(t, "n")
		at := rapid.IntRange(0, n).Draw(t, "at")
		check := func(when string) {
			if late == nil {
				return
			}
			if diff := cmp.Diff(old.render(), late.render()); diff != "" {
				t.Fatalf("%s:\n%s", when, diff)
			}
		}
		for i := range n {
			if i == at {
				late = newScreen()
				late.write(r.keep.replay())
				check("at once")
				r.relay = func(b []byte) { old.write(b); late.write(b) }
			}
			piece := rapid.SampledFrom(pieces).Draw(t, "piece")
			if on := piece == "\x1b[?1049h"; (on || piece == leave) && on == r.state.alternate() {
				continue // emulators differ in what a second one does
			}
			if (piece == "\x1b7" || piece == "\x1b8") && r.state.alternate() {
				continue // a place saved in an alternate screen that was left is forgotten
			}
			r.write([]byte(piece))
		}
		check("after the rest")
	})
}

// When the ring has dropped its start, the modes, the screen in use and the
// rest of the state are exact all the same, and a program that draws all
// again (as after the nudge) gives the exact screen.
func TestCutRingKeepsTheModes(t *testing.T) {
	for _, enter := range []string{"", "\x1b[?1049h"} {
		r, _ := respond()
		keep := r.keep.(*ring)
		keep.normal.budget, keep.other.budget = 16<<10, 16<<10
		old := newScreen()
		r.relay = old.write
		r.write([]byte("before\r\n\x1b[?2004h\x1b[?1003h\x1b[?1006h\x1b[?25l\x1b[4 q\x1b=" + enter))
		for i := range 1200 {
			r.write(fmt.Appendf(nil, "\x1b[%dmline %d with some more text in it\x1b[m\r\n", 31+i%7, i))
		}
		if !keep.normal.cut && !keep.other.cut {
			t.Fatal("nothing was dropped")
		}
		replay := r.keep.replay()
		for _, want := range []string{"\x1b[?2004h", "\x1b[?1003h\x1b[?1006h", "\x1b[?25l", "\x1b[4 q", "\x1b=", enter} {
			if !strings.Contains(string(replay), want) {
				t.Errorf("%q is not in the replay", want)
			}
		}
		if len(replay) > 2*(32<<10)+4096 {
			t.Errorf("the replay has %d bytes", len(replay))
		}
		late := newScreen()
		late.write(replay)
		both := func(b []byte) { old.write(b); late.write(b) }
		r.relay = both
		r.write([]byte("\x1b[H\x1b[2J\x1b[32mdrawn again\x1b[m"))
		if diff := cmp.Diff(old.render(), late.render()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLeavingTheOtherScreenForgetsIt(t *testing.T) {
	r, _ := respond("history\r\n\x1b[?1049h", strings.Repeat("full screen ", 90000), "\x1b[?1049l", "$ ")
	replay := string(r.keep.replay())
	if !strings.Contains(replay, "history") || strings.Contains(replay, "full screen") || len(replay) > 4096 {
		t.Errorf("%d bytes: %.200q", len(replay), replay)
	}
	old := newScreen()
	old.write([]byte("history\r\n$ "))
	late := newScreen()
	late.write([]byte(replay))
	if diff := cmp.Diff(old.render(), late.render()); diff != "" {
		t.Error(diff)
	}
}

func TestTextOfTheScreenAndAbove(t *testing.T) {
	var all strings.Builder
	for i := range 300 {
		fmt.Fprintf(&all, "row %d 家\r\n", i)
	}
	r, _ := respond(all.String(), "\x1b[31mprompt>\x1b[m ")
	got := r.keep.text(&r.state, 3)
	if diff := cmp.Diff([]string{"row 298 家", "row 299 家", "prompt>"}, got); diff != "" {
		t.Error(diff)
	}
	if got := r.keep.text(&r.state, 0); len(got) != 301 || got[0] != "row 0 家" {
		t.Errorf("%d rows, first %q", len(got), got[0])
	}
	r.write([]byte("\x1b[?1049hfull"))
	if diff := cmp.Diff([]string{"full"}, r.keep.text(&r.state, 50)); diff != "" {
		t.Error(diff)
	}
}
