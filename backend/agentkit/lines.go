package agentkit

import (
	"bytes"
	"errors"
	"io"
)

// DefaultMaxLine bounds how much of one line is kept in memory, in bytes.
const DefaultMaxLine = 8 << 20

// keptOfLongLine is how much of each end of a line over the limit is kept, in
// bytes, so that its type, ids and time can still be read.
const keptOfLongLine = 4 << 10

// Line is one line of a JSONL stream without its end (CR, LF), without a byte
// order mark and without NULs around it.
type Line struct {
	// Data is valid until the next line is read.
	Data []byte
	// Offset is the position of the line's first byte, End that of the first
	// byte after its line feed, both in bytes from the start of the stream.
	Offset, End int64
	// Size is the whole length in bytes; it is more than len(Data) only when
	// TooLong.
	Size int64
	// TooLong marks a line over the limit: Data holds its beginning, Rest its
	// last bytes.
	TooLong bool
	Rest    []byte
	// Recovered marks a line that stood beside a block of NULs (a crash of the
	// writer's machine left them).
	Recovered bool
	// Partial marks a last line without its line feed: it may still grow.
	Partial bool
}

// Object reports whether the line can be a JSON object.
func (l Line) Object() bool { return len(l.Data) > 1 && l.Data[0] == '{' && !l.TooLong }

// Splitter cuts a stream of bytes, in pieces of any size, into lines. Memory is
// bounded by MaxLine. The zero value works.
type Splitter struct {
	MaxLine int // 0: DefaultMaxLine

	buf    []byte
	start  int64 // offset of the pending line
	size   int64 // bytes of the pending line so far
	long   bool
	rest   []byte // the last bytes of a long line
	zero   bool   // the pending line ends in a NUL
	before bool   // something was fed before
}

// Reset starts over at offset, as if nothing had been read.
func (s *Splitter) Reset(offset int64) {
	*s = Splitter{MaxLine: s.MaxLine, start: offset, before: offset > 0}
}

// Complete is the offset up to which whole lines were given out.
func (s *Splitter) Complete() int64 { return s.start }

// Feed takes p and calls yield for each complete line, in order. Empty lines
// are not given out.
func (s *Splitter) Feed(p []byte, yield func(Line)) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.keep(p)
			return
		}
		if s.size == 0 && i <= s.limit() { // a whole line: it need not be kept
			s.size = int64(i)
			s.lines(p[:i], s.start+s.size+1, false, yield)
			s.next(s.start + s.size + 1)
		} else {
			s.keep(p[:i])
			s.lines(s.buf, s.start+s.size+1, false, yield)
			s.next(s.start + s.size + 1)
		}
		p = p[i+1:]
	}
}

// Flush gives out what stands after the last line feed, marked Partial, and
// keeps it: more bytes may follow.
func (s *Splitter) Flush(yield func(Line)) {
	if s.size > 0 {
		s.lines(s.buf, s.start+s.size, true, yield)
	}
}

func (s *Splitter) keep(p []byte) {
	max := s.limit()
	if len(p) == 0 {
		return
	}
	s.size += int64(len(p))
	if len(s.buf) == 0 || s.zero { // of a block of NULs, which can be big, one is kept
		p = bytes.TrimLeft(p, "\x00")
		if len(s.buf) == 0 && int64(len(p)) < s.size {
			s.buf = append(s.buf, 0)
		}
	}
	if len(p) == 0 {
		s.zero = len(s.buf) > 0
		return
	}
	s.zero = p[len(p)-1] == 0
	if s.long {
		s.keepRest(p)
		return
	}
	if len(s.buf)+len(p) > max {
		s.keepRest(s.buf)
		s.keepRest(p)
		s.buf = append(s.buf, p[:min(len(p), max-len(s.buf))]...)
		s.long = true
		s.buf = append([]byte(nil), s.buf[:min(len(s.buf), keptOfLongLine)]...) // give the memory back
		return
	}
	s.buf = append(s.buf, p...)
}

// keepRest keeps the last bytes of a long line.
func (s *Splitter) keepRest(p []byte) {
	p = p[max(0, len(p)-keptOfLongLine):]
	s.rest = append(s.rest, p...)
	if over := len(s.rest) - keptOfLongLine; over > 0 {
		s.rest = s.rest[:copy(s.rest, s.rest[over:])]
	}
}

func (s *Splitter) limit() int {
	if s.MaxLine <= 0 {
		return DefaultMaxLine
	}
	return s.MaxLine
}

// next begins the line that stands at an offset.
func (s *Splitter) next(end int64) {
	s.start, s.size, s.long, s.before, s.zero = end, 0, false, true, false
	s.rest = s.rest[:0]
	if cap(s.buf) > 1<<20 {
		s.buf = nil
	}
	s.buf = s.buf[:0]
}

var bom = []byte("\xef\xbb\xbf")

// lines gives out the pending bytes: one line, or several where blocks of NULs
// stand between them.
func (s *Splitter) lines(data []byte, end int64, partial bool, yield func(Line)) {
	if !s.before {
		data = bytes.TrimPrefix(data, bom)
	}
	l := Line{Offset: s.start, End: end, Size: s.size, TooLong: s.long, Rest: s.rest, Partial: partial}
	if bytes.IndexByte(data, 0) < 0 {
		if l.Data = bytes.TrimSpace(data); len(l.Data) > 0 {
			yield(l)
		}
		return
	}
	l.Recovered = true
	for len(data) > 0 {
		part, rest, more := bytes.Cut(data, []byte{0})
		one := l
		if one.Data = bytes.TrimSpace(part); more { // only the last part can be a cut one
			one.TooLong, one.Rest = false, nil
		}
		if len(one.Data) > 0 {
			yield(one)
		}
		data = rest
	}
}

// Lines reads a stream line by line. It never fails on content: a bad line is
// the caller's to skip and count (see [Lines.Skip]).
type Lines struct {
	r       io.Reader
	split   Splitter
	buf     []byte
	queue   []Line
	skipped int
	err     error
	pretty  bool
	joined  []byte
	nested  []byte // the open brackets of joined
}

// LinesOptions adjusts a reader; the zero value is right for files.
type LinesOptions struct {
	MaxLine int
	// Offset is where the stream starts in the file.
	Offset int64
	// Pretty joins an object that was printed over several lines: it begins
	// with a line "{" and ends with the bracket that closes it (some agents print
	// their first reply so).
	Pretty bool
}

// NewLines reads r, which it does not close.
func NewLines(r io.Reader, o LinesOptions) *Lines {
	l := &Lines{r: r, buf: make([]byte, 64<<10), pretty: o.Pretty}
	l.split.MaxLine = o.MaxLine
	l.split.Reset(o.Offset)
	return l
}

// Next returns the next line. The error is that of the reader; io.EOF comes
// after the last line, which is Partial when it had no end.
func (l *Lines) Next() (Line, error) {
	for {
		line, err := l.next()
		if err != nil || !l.pretty {
			return line, err
		}
		if whole, ok := l.join(line); ok {
			return whole, nil
		}
	}
}

func (l *Lines) next() (Line, error) {
	for len(l.queue) == 0 {
		if l.err != nil {
			return Line{}, l.err
		}
		n, err := l.r.Read(l.buf)
		if n > 0 {
			l.split.Feed(l.buf[:n], l.push)
		}
		if err != nil {
			l.err = err
			if errors.Is(err, io.EOF) {
				l.split.Flush(l.push)
			}
		}
	}
	line := l.queue[0]
	l.queue = l.queue[1:]
	return line, nil
}

func (l *Lines) push(line Line) {
	line.Data, line.Rest = bytes.Clone(line.Data), bytes.Clone(line.Rest)
	l.queue = append(l.queue, line)
}

// prettyMax bounds an object printed over several lines.
const prettyMax = 1 << 20

// join puts an object together that was printed over several lines. A line that
// cannot go on with it shows that it never was one (a lone bracket in somebody's
// output): what was joined is given out for the caller to skip, and the line is
// looked at again.
func (l *Lines) join(line Line) (Line, bool) {
	if l.joined == nil {
		if string(line.Data) != "{" {
			return line, true
		}
		l.joined, l.nested = []byte{'{'}, []byte{'{'}
		return Line{}, false
	}
	if line.TooLong || !continues(l.nested, line.Data) {
		broken := line
		broken.Data, broken.TooLong, l.joined = l.joined, false, nil
		l.queue = append([]Line{line}, l.queue...)
		return broken, true
	}
	l.joined = append(l.joined, line.Data...)
	l.nested = nest(l.nested, line.Data)
	if len(l.nested) == 0 || len(l.joined) > prettyMax {
		line.Data, l.joined = l.joined, nil
		return line, true
	}
	return Line{}, false
}

// continues reports whether a line can follow within the innermost of the open
// brackets: in an object a member or its end.
func continues(open, line []byte) bool {
	if open[len(open)-1] == '{' {
		return line[0] == '"' || line[0] == '}'
	}
	return line[0] != '}'
}

// nest follows the brackets of a line outside of its texts, which never go over
// the end of a line.
func nest(open, line []byte) []byte {
	text := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{', c == '[':
			open = append(open, c)
		case c == '}', c == ']':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	return open
}

// Skip counts one line that could not be used.
func (l *Lines) Skip() { l.skipped++ }

// Skipped is the number of lines counted with Skip.
func (l *Lines) Skipped() int { return l.skipped }

// Offset is the position up to which whole lines were read.
func (l *Lines) Offset() int64 { return l.split.Complete() }
