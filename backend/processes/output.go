package processes

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// output reads the standard output of a child. A grandchild that inherited
// the pipe would keep a reader waiting after the process has ended; from then
// on a read that finds nothing for drainDelay is the end. A slow reader loses
// nothing: what is in the pipe is read before the deadline counts.
type output struct {
	f     *os.File
	ended atomic.Bool
}

func (o *output) processEnded() {
	o.ended.Store(true)
	_ = o.f.SetReadDeadline(time.Now().Add(drainDelay))
}

func (o *output) Read(p []byte) (int, error) {
	n, err := o.f.Read(p)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && o.ended.Load() {
		// The deadline may have passed long before this call with data waiting.
		_ = o.f.SetReadDeadline(time.Now().Add(drainDelay / 10))
		n, err = o.f.Read(p)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = io.EOF
		}
	}
	return n, err
}

func (o *output) Close() error { return o.f.Close() }
