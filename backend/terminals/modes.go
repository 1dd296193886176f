package terminals

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// defaultModes are the DEC private modes that are answered, with the state a
// fresh terminal has them in. What is not here is unknown to programs.
var defaultModes = map[int]bool{
	1: false, 5: false, 6: false, 7: true, 9: false, 12: false, 25: true, 45: false, 47: false, 66: false,
	1000: false, 1002: false, 1003: false, 1004: false, 1006: false, 1007: false, 1015: false, 1016: false,
	1047: false, 1048: false, 1049: false, 2004: false, 2026: false,
}

type modeSet struct {
	mode int
	on   bool
}

// screenState is what a terminal remembers beside its cells: enough to make a
// fresh window continue from a point in the middle of the output.
type screenState struct {
	cols, rows int
	// modes were changed from their defaults or back, in the order of their
	// last change: of several mouse modes the last one counts.
	modes       []modeSet
	insert      bool
	newline     bool
	keypad      bool // application keypad
	cursorStyle int  // of DECSCUSR, -1 untouched
	charsets    [4]byte
	shiftOut    bool
	pen         []byte // the SGR sequences since the last reset
	colors      map[string]string
	// Each screen has its own scroll region and saved cursor; the normal one is 0.
	region [2]region
	saved  [2]savedPen
}

// region is a scroll region, 0 for the screen's edge.
type region struct{ top, bottom int }

// savedPen is what DECSC keeps beside the place.
type savedPen struct {
	pen      []byte
	charsets [4]byte
	shiftOut bool
}

// maxPen bounds the remembered pen; programs that need more than this between
// two resets do not exist outside of tests.
const maxPen = 512

func newState(cols, rows int) screenState {
	return screenState{cols: cols, rows: rows, cursorStyle: -1}
}

func (s *screenState) clone() screenState {
	c := *s
	c.modes = slices.Clone(s.modes)
	c.pen = slices.Clone(s.pen)
	if s.colors != nil {
		c.colors = make(map[string]string, len(s.colors))
		for k, v := range s.colors {
			c.colors[k] = v
		}
	}
	return c
}

func (s *screenState) mode(n int) bool {
	for _, m := range s.modes {
		if m.mode == n {
			return m.on
		}
	}
	return defaultModes[n]
}

// alternate reports whether the alternate screen is shown.
func (s *screenState) alternate() bool { return s.mode(1049) || s.mode(1047) || s.mode(47) }

func (s *screenState) screen() int {
	if s.alternate() {
		return 1
	}
	return 0
}

func (s *screenState) save() { s.saved[s.screen()] = savedPen{s.pen, s.charsets, s.shiftOut} }

func (s *screenState) restore() {
	v := s.saved[s.screen()]
	s.pen, s.charsets, s.shiftOut = v.pen, v.charsets, v.shiftOut
}

func (s *screenState) setMode(n int, on bool) {
	if _, known := defaultModes[n]; !known {
		return
	}
	s.modes = slices.DeleteFunc(s.modes, func(m modeSet) bool { return m.mode == n })
	s.modes = append(s.modes, modeSet{n, on})
}

// apply follows one relayed token.
func (s *screenState) apply(t token) {
	switch t.kind {
	case 't':
		for _, b := range t.raw {
			if b == 0x0e {
				s.shiftOut = true
			} else if b == 0x0f {
				s.shiftOut = false
			}
		}
	case 'e':
		s.applyEscape(t)
	case '[':
		s.applyControl(t)
	}
}

func (s *screenState) applyEscape(t token) {
	if len(t.inter) == 1 {
		if g := strings.IndexByte("()*+", t.inter[0]); g >= 0 {
			s.charsets[g] = t.final
		}
		return
	}
	switch t.final {
	case 'c':
		*s = newState(s.cols, s.rows)
	case '7':
		s.save()
	case '8':
		s.restore()
	case '=':
		s.keypad = true
	case '>':
		s.keypad = false
	}
}

func (s *screenState) applyControl(t token) {
	if len(t.inter) > 0 {
		switch {
		case t.final == 'q' && t.inter[0] == ' ' && t.priv == 0:
			s.cursorStyle = number(t.par, 0)
		case t.final == 'p' && t.inter[0] == '!':
			s.softReset()
		}
		return
	}
	switch t.final {
	case 'h', 'l':
		on := t.final == 'h'
		for _, n := range numbers(t.par) {
			switch {
			case t.priv == '?':
				s.privateMode(n, on)
			case t.priv != 0:
			case n == 4:
				s.insert = on
			case n == 20:
				s.newline = on
			}
		}
	case 'm':
		if t.priv != 0 {
			return
		}
		p := string(t.par)
		if p == "" || p == "0" {
			s.pen = s.pen[:0:0]
			return
		}
		if strings.HasPrefix(p, "0;") {
			s.pen = s.pen[:0:0]
		}
		if len(s.pen)+len(t.raw) <= maxPen {
			s.pen = append(s.pen[:len(s.pen):len(s.pen)], t.raw...)
		}
	case 'r':
		if t.priv == 0 {
			n := numbers(t.par)
			var r region
			if len(n) > 0 && n[0] > 0 {
				r.top = n[0]
			}
			if len(n) > 1 && n[1] > 0 && n[1] < s.rows {
				r.bottom = n[1]
			}
			s.region[s.screen()] = r
		}
	case 's':
		if t.priv == 0 && len(t.par) == 0 {
			s.save()
		}
	case 'u':
		if t.priv == 0 {
			s.restore()
		}
	}
}

func (s *screenState) privateMode(n int, on bool) {
	switch n {
	case 1048:
		if on {
			s.save()
		} else {
			s.restore()
		}
	case 1049:
		if on {
			s.save()
		}
	}
	s.setMode(n, on)
	if n == 1049 && !on {
		s.setMode(47, false)
		s.setMode(1047, false)
		s.restore()
	}
}

func (s *screenState) softReset() {
	for _, m := range []int{1, 6} {
		s.setMode(m, false)
	}
	s.setMode(25, true)
	s.setMode(7, true)
	s.insert, s.keypad, s.shiftOut = false, false, false
	s.region[s.screen()], s.pen = region{}, nil
	s.charsets = [4]byte{}
}

// prefix brings a fresh terminal to this state. Cursor and cells are whatever
// the bytes after it make them.
func (s *screenState) prefix(alternate bool) []byte {
	b := []byte(sizeMarker(s.cols, s.rows))
	screen := 0
	if alternate {
		screen = 1
		b = append(b, "\x1b[?1049h"...)
	}
	// These two move the cursor.
	if r := s.region[screen]; r != (region{}) {
		bottom := r.bottom
		if bottom == 0 {
			bottom = s.rows
		}
		b = fmt.Appendf(b, "\x1b[%d;%dr", max(r.top, 1), bottom)
	}
	if s.mode(6) {
		b = append(b, "\x1b[?6h"...)
	}
	return s.appendModes(b)
}

// comeBack brings a terminal that was left in the alternate screen with the
// given size to this state of the normal one, with the cursor where it was. A
// size marker would undo the scroll region, so there is none without need.
func (s *screenState) comeBack(cols, rows int) []byte {
	b := []byte("\x1b[?1049l")
	if cols != s.cols || rows != s.rows {
		b = append(b, sizeMarker(s.cols, s.rows)...)
	}
	return s.appendModes(b)
}

func (s *screenState) appendModes(b []byte) []byte {
	for _, key := range sortedKeys(s.colors) {
		b = fmt.Appendf(b, "\x1b]%s;%s\x1b\\", key, s.colors[key])
	}
	for _, m := range s.modes {
		switch m.mode {
		case 6, 47, 1047, 1048, 1049, 2026:
			continue // chosen elsewhere; a frame is never left open
		}
		b = fmt.Appendf(b, "\x1b[?%d%c", m.mode, setOrReset(m.on))
	}
	b = fmt.Appendf(b, "\x1b[4%c\x1b[20%c", setOrReset(s.insert), setOrReset(s.newline))
	if s.keypad {
		b = append(b, "\x1b="...)
	} else {
		b = append(b, "\x1b>"...)
	}
	if s.cursorStyle >= 0 {
		b = fmt.Appendf(b, "\x1b[%d q", s.cursorStyle)
	}
	for i, set := range s.charsets {
		if set == 0 {
			set = 'B'
		}
		b = append(b, 0x1b, "()*+"[i], set)
	}
	if s.shiftOut {
		b = append(b, 0x0e)
	} else {
		b = append(b, 0x0f)
	}
	b = append(b, "\x1b[m"...)
	return append(b, s.pen...)
}

// sizeMarker is how the stream tells a window that the size changed.
func sizeMarker(cols, rows int) string { return fmt.Sprintf("\x1b[8;%d;%dt", rows, cols) }

func setOrReset(on bool) byte {
	if on {
		return 'h'
	}
	return 'l'
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// number is the first parameter, or def.
func number(par []byte, def int) int {
	if n := numbers(par); len(n) > 0 {
		return n[0]
	}
	return def
}

// numbers reads "1;2;3"; an empty or broken one is -1, sub-parameters are cut.
func numbers(par []byte) []int {
	if len(par) == 0 {
		return nil
	}
	parts := strings.Split(string(par), ";")
	out := make([]int, len(parts))
	for i, p := range parts {
		p, _, _ = strings.Cut(p, ":")
		n, err := strconv.Atoi(p)
		if err != nil {
			n = -1
		}
		out[i] = n
	}
	return out
}
