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

// Ends reads the beginnings and the ends of files. It keeps its buffers between
// files and is used by one goroutine. The zero value works.
type Ends struct {
	head, tail []byte
	from       int64 // offset of tail; that of head is 0
	gap        bool  // something between them was not read
	split      Splitter
}

// maxEndLine bounds a line of the ends, in bytes; a longer one is TooLong.
const maxEndLine = 256 << 10

// Read reads the first and the last n bytes of a file, in one read each; of a
// file that is no longer than both it reads everything. The state is where a
// [Tail] continues behind the last whole line.
func (e *Ends) Read(path string, n int64) (Stamp, TailState, error) {
	f, st, err := openRaw(path)
	if err != nil {
		return st, TailState{}, err
	}
	defer f.close()
	state := TailState{Inode: st.Inode}
	e.gap = st.Size > 2*n
	if !e.gap {
		n = st.Size
	}
	if e.head, err = f.read(e.head, 0, n); err != nil {
		return st, state, err
	}
	// The byte before the end's part tells whether it begins with a whole line.
	e.tail, e.from = e.tail[:0], int64(len(e.head))
	if e.gap {
		e.from = st.Size - n - 1
		if e.tail, err = f.read(e.tail, e.from, n+1); err != nil {
			return st, state, err
		}
	}
	last, at := e.head, int64(0)
	if e.gap {
		last, at = e.tail, e.from
	}
	if i := int64(bytes.LastIndexByte(last, '\n')); i >= 0 {
		state.Offset = at + i + 1
		state.Before = bytes.Clone(last[max(0, i+1-tailBefore) : i+1])
		if int64(len(state.Before)) == min(state.Offset, tailBefore) {
			return st, state, nil
		}
	} else if e.gap { // the last line is unfinished and longer than what was read
		if state.Offset, err = lineStart(f, at); err != nil {
			return st, state, err
		}
	}
	state.Before = lastBytes(f, state.Offset)
	return st, state, nil
}

// Gap reports whether a part of the file was not read.
func (e *Ends) Gap() bool { return e.gap }

// First gives out the whole lines of the beginning until yield returns false, and
// returns where it stopped.
func (e *Ends) First(yield func(Line) bool) (end int64) {
	data, at := e.head, int64(0)
	for more := true; more && len(data) > 0; {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			break
		}
		e.split.MaxLine = maxEndLine
		e.split.Reset(at)
		e.split.Feed(data[:i+1], func(l Line) { more = yield(l) && more })
		data, at = data[i+1:], at+int64(i)+1
	}
	return at
}

// Last gives out the whole lines that begin in the last n bytes that were read,
// none before the offset after. It reports whether more were read.
func (e *Ends) Last(n, after int64, yield func(Line)) (more bool) {
	data, at := e.tail, e.from
	if !e.gap {
		data, at = e.head, 0
	}
	if skip := int64(len(data)) - n; skip > 0 {
		i := bytes.IndexByte(data[skip-1:], '\n')
		if i < 0 {
			return true
		}
		skip += int64(i)
		data, at, more = data[skip:], at+skip, true
	} else if e.gap { // cut at the first whole line
		i := int64(bytes.IndexByte(data, '\n'))
		if i < 0 {
			return false
		}
		data, at = data[i+1:], at+i+1
	}
	if at < after {
		data, at, more = data[min(after-at, int64(len(data))):], after, false
	}
	e.split.MaxLine = maxEndLine
	e.split.Reset(at)
	e.split.Feed(data, yield)
	return more
}

// Beginning gives out the whole lines of both ends that begin with a text.
func (e *Ends) Beginning(text string, yield func(Line)) {
	for _, part := range []struct {
		data []byte
		at   int64
	}{{e.head, 0}, {e.tail, e.from}} {
		data, at := part.data, part.at
		for first := at > 0; len(data) > 0; first = false { // the first one of the end is cut
			i := bytes.IndexByte(data, '\n')
			if i < 0 {
				break
			}
			if !first && len(data) > len(text) && string(data[:len(text)]) == text {
				e.split.MaxLine = maxEndLine
				e.split.Reset(at)
				e.split.Feed(data[:i+1], yield)
			}
			data, at = data[i+1:], at+int64(i)+1
		}
	}
}

// rawFile is a file that is opened for a moment: ten thousand of them need not be
// known to the runtime.
type rawFile int

func openRaw(path string) (rawFile, Stamp, error) {
	var fd int
	var st syscall.Stat_t
	err := again(func() (err error) {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		return err
	})
	if errors.Is(err, syscall.ELOOP) {
		return 0, Stamp{}, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return 0, Stamp{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := rawFile(fd)
	if err = again(func() error { return syscall.Fstat(fd, &st) }); err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		f.close()
		return 0, Stamp{}, err
	}
	return f, Stamp{st.Size, mtime(&st), st.Ino}, nil
}

func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func (f rawFile) close() { _ = syscall.Close(int(f)) }

// read fills buf with n bytes from at, less at the end of the file.
func (f rawFile) read(buf []byte, at, n int64) ([]byte, error) {
	if int64(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	got := 0
	for got < len(buf) {
		k, err := f.ReadAt(buf[got:], at+int64(got))
		got += k
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return buf[:0], err
		}
	}
	return buf[:got], nil
}

// ReadAt implements io.ReaderAt, but for reading less than asked for without an
// error.
func (f rawFile) ReadAt(p []byte, at int64) (n int, err error) {
	err = again(func() (err error) { n, err = syscall.Pread(int(f), p, at); return err })
	if err == nil && n == 0 && len(p) > 0 {
		err = io.EOF
	}
	return max(n, 0), err
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
	split := Splitter{MaxLine: t.split.MaxLine}
	split.Reset(from)
	buf := make([]byte, min(end-from, 64<<10))
	for at := from; at < end; {
		k, err := t.file.ReadAt(buf[:min(end-at, int64(len(buf)))], at)
		split.Feed(buf[:k], yield)
		at += int64(k)
		if errors.Is(err, io.EOF) || err == nil && k == 0 {
			break
		}
		if err != nil {
			return from, err
		}
	}
	return from, nil
}

// lineStart is where the line begins that holds the byte at.
func lineStart(f io.ReaderAt, at int64) (int64, error) {
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
