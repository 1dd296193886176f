package terminals

import (
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/vt"
)

// How much of the output the emulator is made from: the cursor needs little
// more than a screen, text needs the rows above it. It parses scrolling text
// slower than programs print it (20 us a line), so that more would block the
// terminal; when it falls further behind than that it is thrown away.
const (
	cursorBytes = 32 << 10
	textBytes   = 128 << 10
)

// scrollbackRows bounds the rows that text can return beside the screen.
const scrollbackRows = 2000

// textScreen is an emulator that is made when somebody asks where the cursor
// is or what the text says, from the end of the ring, and follows for as long
// as it keeps up. It is good for text and cursor, not for attributes or exact
// widths, and is never what a window is restored from.
type textScreen struct {
	emu     *vt.Emulator
	made    int // from how many bytes
	pending []byte
	// patience bounds one catching up; output made to be slow costs no more.
	patience time.Duration
	skip     int // bytes to come before it is tried again
}

func (x *textScreen) write(raw []byte) {
	x.skip = max(x.skip-len(raw), 0)
	if x.emu == nil {
		return
	}
	if len(x.pending)+len(raw) > cursorBytes {
		x.drop()
		return
	}
	x.pending = append(x.pending, raw...)
}

func (x *textScreen) drop() {
	if x.emu != nil {
		_ = x.emu.Close()
	}
	*x = textScreen{patience: x.patience, skip: x.skip}
}

func (x *textScreen) resize(cols, rows int) {
	if x.emu == nil {
		return
	}
	x.guard(func() {
		if x.catchUp(); x.emu != nil {
			x.emu.Resize(cols, rows)
		}
	})
}

// guard runs f on the emulator. The bytes are whatever a program prints; if
// they break the emulator only the emulator is lost.
func (x *textScreen) guard(f func()) (ok bool) {
	defer func() {
		if recover() != nil {
			*x = textScreen{patience: x.patience, skip: cursorBytes}
			ok = false
		}
	}()
	f()
	return true
}

// catchUp writes what is pending in small pieces, as long as patience lasts.
func (x *textScreen) catchUp() {
	end := time.Now().Add(x.patience)
	for p := x.pending; len(p) > 0; {
		n := min(len(p), 128)
		_, _ = x.emu.Write(p[:n])
		p = p[n:]
		if len(p) > 0 && time.Now().After(end) {
			x.skip = cursorBytes
			x.drop()
			return
		}
	}
	x.pending = x.pending[:0]
}

// ready makes the emulator equal to the end of the ring.
func (x *textScreen) ready(r *ring, s *screenState, n int) bool {
	if x.made < n {
		x.drop()
	}
	if x.skip > 0 {
		return false
	}
	return x.guard(func() {
		if x.emu == nil {
			x.emu = vt.NewEmulator(s.cols, s.rows)
			x.emu.SetScrollbackSize(scrollbackRows)
			// It answers queries into a pipe and would block without a reader; the
			// closed pipe refuses at once.
			if c, ok := x.emu.InputPipe().(io.Closer); ok {
				_ = c.Close()
			}
			x.made, x.pending = n, r.tail(n)
		}
		x.catchUp()
	}) && x.emu != nil
}

// cursor is the cursor's place from 1.
func (x *textScreen) cursor(r *ring, s *screenState) (row, col int) {
	row, col = 1, 1
	if x.ready(r, s, cursorBytes) {
		x.guard(func() {
			p := x.emu.CursorPosition()
			row, col = p.Y+1, p.X+1
		})
	}
	return min(max(row, 1), s.rows), min(max(col, 1), s.cols)
}

// text are the last rows.
func (x *textScreen) text(r *ring, s *screenState, rows int) []string {
	var out []string
	if !x.ready(r, s, textBytes) {
		return nil
	}
	x.guard(func() {
		screen := strings.Split(x.emu.String(), "\n")
		for len(screen) > 0 && strings.TrimSpace(screen[len(screen)-1]) == "" {
			screen = screen[:len(screen)-1]
		}
		if !x.emu.IsAltScreen() {
			for y := range x.emu.ScrollbackLen() {
				var line strings.Builder
				for col := 0; col < x.emu.Width(); {
					cell := x.emu.ScrollbackCellAt(col, y)
					if cell == nil || cell.Width == 0 {
						if cell == nil {
							break
						}
						col++
						continue
					}
					if cell.Content == "" {
						line.WriteByte(' ')
					} else {
						line.WriteString(cell.Content)
					}
					col += max(cell.Width, 1)
				}
				out = append(out, line.String())
			}
		}
		out = append(out, screen...)
	})
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	if rows > 0 && len(out) > rows {
		out = out[len(out)-rows:]
	}
	return out
}
