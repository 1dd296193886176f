package terminals

import (
	"io"
	"sync"

	"github.com/whippletree-app/whippletree/backend/model"
)

// inputQueue orders what is written to the program: keys and answers.
type inputQueue struct {
	mu     sync.Mutex
	buf    []byte
	filled chan struct{}
	closed bool
}

func (q *inputQueue) add(p []byte, limit int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	if len(q.buf)+len(p) > limit {
		return ErrInputFull
	}
	q.buf = append(q.buf, p...)
	select {
	case q.filled <- struct{}{}:
	default:
	}
	return nil
}

func (q *inputQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.filled)
	}
}

func (q *inputQueue) drain(w io.Writer) {
	for range q.filled {
		for {
			q.mu.Lock()
			b := q.buf
			q.buf = nil
			q.mu.Unlock()
			if len(b) == 0 {
				break
			}
			if _, err := w.Write(b); err != nil {
				break // closed, or the program is gone: its end is told elsewhere
			}
		}
	}
}

func (t *terminal) input(p []byte) error {
	if err := t.in.add(p, maxInput); err != nil {
		return err
	}
	t.mu.Lock()
	bell := t.info.Bell
	t.mu.Unlock()
	if bell {
		t.update(func(i *model.Terminal) { i.Bell = false })
		t.wake()
	}
	return nil
}

// write hands keys and answers to the program until the terminal is closed.
func (t *terminal) write() {
	defer t.done.Done()
	t.in.drain(t.f)
}
