package terminals

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
)

// window is an attached window that acknowledges what it reads.
type window struct {
	t    *testing.T
	a    *Attachment
	mu   sync.Mutex
	got  bytes.Buffer // replay and output since the attach
	n    uint64
	hold bool // does not acknowledge
	more chan struct{}
	ends int
}

func (w *window) frame(kind Frame, p []byte) {
	w.mu.Lock()
	w.got.Write(p)
	w.n += uint64(len(p))
	if kind == ReplayEnd {
		w.ends++
	}
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *window) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got.String()
}

func (w *window) ack() {
	w.mu.Lock()
	n := w.n
	w.mu.Unlock()
	w.a.Ack(n)
}

// until waits until the window has seen want.
func (w *window) until(want string) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		if strings.Contains(w.text(), want) {
			return
		}
		if !w.hold && w.a != nil {
			w.ack()
		}
		select {
		case <-w.more:
		case <-deadline:
			s := w.text()
			w.t.Fatalf("%q did not come; the last is %q", want, s[max(0, len(s)-300):])
		}
	}
}

type fixture struct {
	*Manager
	t       *testing.T
	mu      sync.Mutex
	changes []model.Terminal
	changed chan struct{}
}

func newFixture(t *testing.T, change ...func(*Options)) *fixture {
	f := &fixture{t: t, changed: make(chan struct{}, 1)}
	opt := Options{
		Shell: "/bin/sh", Home: t.TempDir(), Version: "1",
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PS1=$ "},
		OnChange: func(m model.Terminal, removed bool) {
			f.mu.Lock()
			f.changes = append(f.changes, m)
			f.mu.Unlock()
			select {
			case f.changed <- struct{}{}:
			default:
			}
		},
	}
	for _, c := range change {
		c(&opt)
	}
	f.Manager = New(opt)
	t.Cleanup(func() {
		if err := f.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) create(argv ...string) model.Terminal {
	f.t.Helper()
	info, err := f.Create(f.t.Context(), CreateSpec{Argv: argv, Cols: 80, Rows: 24})
	if err != nil {
		f.t.Fatal(err)
	}
	return info
}

func (f *fixture) attach(id string) *window {
	f.t.Helper()
	w := &window{t: f.t, more: make(chan struct{}, 1)}
	a, _, err := f.Attach(id, 80, 24, true, w.frame)
	if err != nil {
		f.t.Fatal(err)
	}
	w.a = a
	return w
}

// await waits for a published state.
func (f *fixture) await(id string, ok func(model.Terminal) bool) model.Terminal {
	f.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		f.mu.Lock()
		for _, c := range f.changes {
			if c.ID == id && ok(c) {
				f.mu.Unlock()
				return c
			}
		}
		f.mu.Unlock()
		select {
		case <-f.changed:
		case <-deadline:
			f.t.Fatalf("the state did not come; now %+v", f.List())
		}
	}
}

func (f *fixture) type_(id, s string) {
	f.t.Helper()
	if err := f.Input(id, []byte(s)); err != nil {
		f.t.Fatal(err)
	}
}
