package agentkit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Stamp says how a file stood when it was looked at: one that still stands so
// need not be read again. Mtime is in nanoseconds of the epoch.
type Stamp struct {
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime"`
	Inode uint64 `json:"inode"`
}

// StampOf reads a stamp from what the system said of a file.
func StampOf(info fs.FileInfo) Stamp {
	return Stamp{info.Size(), info.ModTime().UnixNano(), inode(info)}
}

// openRegular opens a file for reading; a link, a pipe or a device is not opened.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Ends reads the beginnings and the ends of files. It keeps its buffer between
// files and is used by one goroutine. The zero value works.
type Ends struct {
	buf   []byte
	split Splitter
}

// Read gives out the whole lines in the first head bytes of a file and those in
// its last tail bytes; gap, which may be nil, is called in between when
// something was left out. The state is where a [Tail] continues behind what was
// given out. A line over a quarter of a megabyte is TooLong.
func (e *Ends) Read(path string, head, tail int64, line func(Line), gap func()) (Stamp, TailState, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return Stamp{}, TailState{}, err
	}
	defer func() { _ = f.Close() }()
	st := Stamp{info.Size(), info.ModTime().UnixNano(), inode(info)}
	state := TailState{Inode: st.Inode}
	e.split.MaxLine = 256 << 10
	if st.Size <= head+tail {
		e.split.Reset(0)
		if err := e.feed(f, 0, st.Size, line); err != nil {
			return st, state, err
		}
		state.Offset = e.split.Complete()
		state.Before = lastBytes(f, state.Offset)
		return st, state, nil
	}
	e.split.Reset(0)
	if err := e.feed(f, 0, head, line); err != nil {
		return st, state, err
	}
	if gap != nil {
		gap()
	}
	// The byte before the window tells whether it begins with a whole line.
	from := st.Size - tail
	e.split.Reset(from - 1)
	cut := true
	err = e.feed(f, from-1, tail+1, func(l Line) {
		if !cut || l.Offset >= from {
			line(l)
		}
		cut = false
	})
	if err != nil {
		return st, state, err
	}
	state.Offset = e.split.Complete()
	if state.Offset < from { // the last line is unfinished and longer than the window
		state.Offset, err = lineStart(f, from)
	}
	state.Before = lastBytes(f, state.Offset)
	return st, state, err
}

func (e *Ends) feed(f *os.File, at, n int64, line func(Line)) error {
	if int64(cap(e.buf)) < min(n, 64<<10) {
		e.buf = make([]byte, min(n, 64<<10))
	}
	for n > 0 {
		k, err := f.ReadAt(e.buf[:min(n, int64(cap(e.buf)))], at)
		e.split.Feed(e.buf[:k], line)
		at, n = at+int64(k), n-int64(k)
		if errors.Is(err, io.EOF) || err == nil && k == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TailFirst opens a file on its end: the tail begins with the line that holds
// the byte n before the end. What is before it, [Tail.Before] gives page by page.
// from is where the first line begins. A missing file begins at its beginning.
func TailFirst(path string, n int64) (t *Tail, from int64, err error) {
	t = NewTail(path, TailState{})
	if _, err := t.open(); err != nil || t.file == nil {
		return t, 0, err
	}
	info, err := t.file.Stat()
	if err == nil {
		from, err = lineStart(t.file, max(0, info.Size()-max(n, 1)))
	}
	if err == nil {
		t.state.Offset = from
		t.split.Reset(from)
		t.state.Before = lastBytes(t.file, from)
	}
	if err != nil {
		_ = t.Close()
		return nil, 0, err
	}
	return t, from, nil
}

// Before gives out the whole lines that end at or before end, those of about the
// last n bytes, in the order of the file. from is where the first one begins: the
// next end, 0 at the beginning of the file. It reads the file that the tail has
// open.
func (t *Tail) Before(end, n int64, yield func(Line)) (from int64, err error) {
	if t.file == nil {
		if _, err := t.open(); err != nil || t.file == nil {
			return 0, err
		}
	}
	if end <= 0 {
		return 0, nil
	}
	if from, err = lineStart(t.file, max(0, end-max(n, 1))); err != nil {
		return 0, err
	}
	e := Ends{split: Splitter{MaxLine: t.split.MaxLine}}
	e.split.Reset(from)
	return from, e.feed(t.file, from, end-from, yield)
}

// lineStart is where the line begins that holds the byte at.
func lineStart(f *os.File, at int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for at > 0 {
		n := min(at, int64(len(buf)))
		k, err := f.ReadAt(buf[:n], at-n)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:k], '\n'); i >= 0 {
			return at - n + int64(i) + 1, nil
		}
		at -= n
	}
	return 0, nil
}
