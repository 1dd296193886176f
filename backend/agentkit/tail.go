package agentkit

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// TailState is what a restart needs to continue where a tail stopped. It is
// plain data; the zero value is the beginning of whatever file is there.
type TailState struct {
	Offset int64  `json:"offset,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Before holds the last bytes before Offset: a file that was cut and
	// rewritten is told from one that grew.
	Before []byte `json:"before,omitempty"`
}

const tailBefore = 32

// Tail reads the whole lines that a file gets, across being renamed, replaced,
// cut and rewritten. It is used by one goroutine. It holds the file open
// between reads, so that what is written just before a rename is not lost.
type Tail struct {
	path  string
	file  *os.File
	state TailState
	split Splitter
	buf   []byte
}

// NewTail reads path, continuing at state. Nothing is opened yet.
func NewTail(path string, state TailState) *Tail {
	t := &Tail{path: path, state: state}
	t.split.Reset(state.Offset)
	return t
}

// SetMaxLine bounds one line in bytes; see [DefaultMaxLine].
func (t *Tail) SetMaxLine(n int) { t.split.MaxLine = n }

// State is where the next read continues.
func (t *Tail) State() TailState { return t.state }

// Close lets go of the file.
func (t *Tail) Close() error {
	if t.file == nil {
		return nil
	}
	f := t.file
	t.file = nil
	return f.Close()
}

// ErrNotRegular says that the path is a link, a pipe or a device; it is never
// opened.
var ErrNotRegular = errors.New("not a regular file")

// Read gives out all whole lines since the last read. restarted is true when
// the file turned out to be another one (replaced, cut, rewritten): the lines
// then come from its beginning and the reader drops repeated records by their
// id. A missing file is no error: there is nothing to read yet.
func (t *Tail) Read(yield func(Line)) (restarted bool, err error) {
	for {
		again, err := t.open()
		restarted = restarted || again
		if err != nil || t.file == nil {
			return restarted, err
		}
		if t.cut() {
			t.restart()
			restarted = true
		}
		if err := t.drain(yield); err != nil {
			return restarted, err
		}
		if !t.replaced() {
			return restarted, nil
		}
		t.Close()
	}
}

func (t *Tail) open() (restarted bool, err error) {
	if t.file != nil {
		return false, nil
	}
	f, info, err := openRegular(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	t.file = f
	if ino := inode(info); t.state.Inode != ino {
		known := t.state.Inode != 0
		t.state.Inode = ino
		if known {
			t.restart()
			return true, nil
		}
	}
	return false, nil
}

func (t *Tail) restart() {
	t.state.Offset, t.state.Before = 0, nil
	t.split.Reset(0)
}

// cut reports whether the open file is no longer the one that was read: shorter
// than what was read, or with other bytes before the offset.
func (t *Tail) cut() bool {
	info, err := t.file.Stat()
	if err != nil || info.Size() < t.state.Offset {
		return true
	}
	if len(t.state.Before) == 0 {
		return false
	}
	had := make([]byte, len(t.state.Before))
	n, _ := t.file.ReadAt(had, t.state.Offset-int64(len(had)))
	return !bytes.Equal(had[:n], t.state.Before)
}

func (t *Tail) replaced() bool {
	info, err := os.Lstat(t.path)
	return err == nil && info.Mode().IsRegular() && inode(info) != t.state.Inode
}

func (t *Tail) drain(yield func(Line)) error {
	if t.buf == nil {
		t.buf = make([]byte, 64<<10)
	}
	// An unfinished line is read again at the next call: the offset only moves
	// past whole lines, so that a restart in between loses nothing.
	t.split.Reset(t.state.Offset)
	at := t.state.Offset
	for {
		n, err := t.file.ReadAt(t.buf, at)
		if n > 0 {
			before := t.split.Complete()
			t.split.Feed(t.buf[:n], yield)
			if done := t.split.Complete(); done != before {
				t.state.Offset = done
				if in := done - at; in >= tailBefore { // the bytes before it are here
					t.state.Before = append(t.state.Before[:0], t.buf[in-tailBefore:in]...)
				} else {
					t.state.Before = lastBytes(t.file, done)
				}
			}
			at += int64(n)
		}
		if errors.Is(err, io.EOF) || (err == nil && n == 0) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lastBytes are the bytes before an offset, by which a file is known again.
func lastBytes(f io.ReaderAt, offset int64) []byte {
	b := make([]byte, min(offset, tailBefore))
	n, _ := f.ReadAt(b, offset-int64(len(b)))
	return b[:n]
}

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// LastLines gives out the whole lines in the last n bytes of a file, without
// reading the rest: enough for a title, a model and a state. The first, cut
// line is left out unless the file is shorter than n.
func LastLines(path string, n int64, yield func(Line)) error {
	f, info, err := openRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	from := max(0, info.Size()-n)
	var split Splitter
	split.Reset(from)
	first := from > 0
	buf := make([]byte, 64<<10)
	for at := from; ; {
		k, err := f.ReadAt(buf, at)
		at += int64(k)
		split.Feed(buf[:k], func(l Line) {
			if first && l.Offset == from {
				return
			}
			yield(l)
		})
		if errors.Is(err, io.EOF) || (err == nil && k == 0) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// FirstLines gives out the whole lines in the first n bytes of a file until
// yield returns false.
func FirstLines(path string, n int64, yield func(Line) bool) error {
	f, info, err := openRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	lines := NewLines(io.LimitReader(f, n), LinesOptions{})
	for {
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if l.Partial && l.End < info.Size() {
			return nil
		}
		if !yield(l) {
			return nil
		}
	}
}
