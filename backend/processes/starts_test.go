package processes

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

func TestStartWatcherTellsOfANewProcess(t *testing.T) {
	for name, open := range map[string]func() (eventStream, error){
		"system": openEventStream,
		"hints":  func() (eventStream, error) { return nil, errors.ErrUnsupported },
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan Identity, 4096)
			w := newStartWatcher(func(ids []Identity) {
				for _, id := range ids {
					select {
					case got <- id:
					default:
					}
				}
			}, open)
			defer w.Close()
			if name == "hints" && w.Path() != PathHints {
				t.Errorf("path %s", w.Path())
			}
			cmd := exec.Command("sleep", "60")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			if w.Path() == PathHints {
				for range 100 { // a storm is a few scans
					w.Hint()
				}
			}
			deadline := time.After(10 * time.Second)
			for {
				select {
				case id := <-got:
					if id.Pid == cmd.Process.Pid {
						return
					}
				case <-deadline:
					t.Fatal("the start of a process was not told within 10 s")
				}
			}
		})
	}
}

// lossy is a stream that has lost events once.
type lossy struct{ first, closed chan struct{} }

func (l *lossy) next() ([]int, bool, error) {
	select {
	case <-l.first:
		return nil, true, nil
	case <-l.closed:
		return nil, false, errors.New("closed")
	}
}

func (l *lossy) Close() error { close(l.closed); return nil }

func TestLostEventsAreMadeUpForByAScan(t *testing.T) {
	c := shell(t, "sleep 600")
	l := &lossy{first: make(chan struct{}, 1), closed: make(chan struct{})}
	found := make(chan struct{}, 1)
	w := newStartWatcher(func(ids []Identity) {
		for _, id := range ids {
			if id == c.Identity() {
				select {
				case found <- struct{}{}:
				default:
				}
			}
		}
	}, func() (eventStream, error) { return l, nil })
	defer w.Close()
	l.first <- struct{}{}
	select {
	case <-found:
	case <-time.After(10 * time.Second):
		t.Fatal("a process whose start was lost was not told within 10 s")
	}
}
