package terminals

import "time"

// keeper is what a terminal remembers of its screen for windows that come
// later, for cursor queries and for reading the text. It sees only what
// windows see, in whole tokens, from one goroutine. An exact emulator may
// stand behind it instead of the ring.
type keeper interface {
	// write takes one relayed token; before is the state it meets.
	write(t token, before *screenState)
	// resize follows a change of size; s has the new one.
	resize(s *screenState)
	// replay are the bytes that rebuild the screen in any window, from a reset on.
	replay() []byte
	// cursor is the cursor's place from 1, in the whole screen.
	cursor(s *screenState) (row, col int)
	// text are the last rows (scrolled-off ones included) without attributes.
	text(s *screenState, rows int) []string
}

// Budgets of the two rings of a terminal, in bytes.
const (
	normalBudget = 1 << 20
	otherBudget  = 512 << 10
	chunkBytes   = 16 << 10
)

// chunk is a piece of output that begins at a token, with the state a
// terminal has there.
type chunk struct {
	state screenState
	// jump says that the bytes before this chunk do not lead to its state:
	// the alternate screen was shown between and its bytes are gone.
	jump bool
	data []byte
	// the size at the end of data
	cols, rows int
}

// ring keeps the end of the output, in whole chunks. The alternate screen has
// its own, which is forgotten when a program leaves it: a full-screen program
// never pushes the shell's history out.
type ring struct {
	normal, other chunks
	inOther       bool
	screen        textScreen
}

type chunks struct {
	list   []chunk
	bytes  int
	budget int
	cut    bool // something was dropped at the front
}

func newRing() *ring {
	return &ring{
		normal: chunks{budget: normalBudget}, other: chunks{budget: otherBudget},
		screen: textScreen{patience: 500 * time.Millisecond},
	}
}

func (c *chunks) append(raw []byte, before *screenState, jump bool) {
	if n := len(c.list); n == 0 || jump || len(c.list[n-1].data) >= chunkBytes {
		c.list = append(c.list, chunk{state: before.clone(), jump: jump})
	}
	last := &c.list[len(c.list)-1]
	last.data = append(last.data, raw...)
	last.cols, last.rows = before.cols, before.rows
	c.bytes += len(raw)
	for c.bytes > c.budget && len(c.list) > 1 {
		c.bytes -= len(c.list[0].data)
		c.list[0] = chunk{}
		c.list = c.list[1:]
		c.cut = true
	}
}

func (c *chunks) reset() { *c = chunks{budget: c.budget} }

func (r *ring) write(t token, before *screenState) {
	if t.kind == 'e' && len(t.inter) == 0 && t.final == 'c' {
		r.normal.reset()
		r.other.reset()
		r.inOther = false
	}
	jump := false
	if now := before.alternate(); now != r.inOther {
		r.inOther = now
		if !now {
			r.other.reset()
			jump = len(r.normal.list) > 0
		}
	}
	raw := t.raw
	for len(raw) > 0 {
		// Long text is cut between characters, so that no chunk grows far.
		n := len(raw)
		if t.kind == 't' && n > chunkBytes {
			n = wholeRunes(raw[:chunkBytes])
		}
		if r.inOther {
			r.other.append(raw[:n], before, false)
		} else {
			r.normal.append(raw[:n], before, jump)
		}
		jump = false
		raw = raw[n:]
	}
	r.screen.write(t.raw)
}

func (r *ring) resize(s *screenState) {
	r.write(token{kind: '[', raw: []byte(sizeMarker(s.cols, s.rows)), final: 't'}, s)
	r.screen.resize(s.cols, s.rows)
}

func (r *ring) replay() []byte { return r.tail(normalBudget + otherBudget) }

func (r *ring) cursor(s *screenState) (row, col int) { return r.screen.cursor(r, s) }

func (r *ring) text(s *screenState, rows int) []string { return r.screen.text(r, s, rows) }

// tail is the replay from about the last n bytes of each screen on.
func (r *ring) tail(n int) []byte {
	b := make([]byte, 0, min(n, r.normal.bytes+r.other.bytes)+1024)
	b = append(b, "\x1bc"...)
	b = appendChunks(b, r.normal.from(n), false)
	if r.inOther {
		list := r.other.from(n)
		// The first chunk of a whole alternate screen begins after the sequence
		// that entered it, which ends the normal one.
		if r.other.cut || len(list) != len(r.other.list) {
			b = appendChunks(b, list, true)
		} else {
			for _, c := range list {
				b = append(b, c.data...)
			}
		}
	}
	return b
}

func appendChunks(b []byte, list []chunk, other bool) []byte {
	for i, c := range list {
		if i == 0 {
			b = append(b, c.state.prefix(other)...)
		} else if c.jump {
			b = append(b, c.state.comeBack(list[i-1].cols, list[i-1].rows)...)
		}
		b = append(b, c.data...)
	}
	return b
}

// from are the last chunks with about n bytes.
func (c *chunks) from(n int) []chunk {
	i := len(c.list)
	for i > 0 && n > 0 {
		i--
		n -= len(c.list[i].data)
	}
	return c.list[i:]
}
