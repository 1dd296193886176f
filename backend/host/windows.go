package host

import (
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// maxRestarts within restartSpan: a window that keeps dying is left alone.
const (
	maxRestarts = 3
	restartSpan = time.Minute
)

// windows are the shells that registered how they are started. One whose
// process died without a goodbye is started again.
type windows struct {
	host *Host

	mu       sync.Mutex
	open     map[*api.Caller]window
	restarts map[string][]time.Time // by window id
	stopped  bool
	stops    map[*api.Caller]func() // exit watches
}

type window struct {
	id      string
	argv    []string
	env     map[string]string
	process processes.Identity
}

func newWindows(h *Host) *windows {
	return &windows{host: h, open: map[*api.Caller]window{}, restarts: map[string][]time.Time{}, stops: map[*api.Caller]func(){}}
}

// opened registers a window. Only a shell of ours may: what it registers is run
// by the host.
func (w *windows) opened(c *api.Caller) {
	if c.Client() != "window" || len(c.Hello.Argv) == 0 {
		return
	}
	if !filepath.IsAbs(c.Hello.Argv[0]) || !w.host.people.window(c.Pid) && !w.same(c) {
		return
	}
	id, err := processes.Identify(c.Pid)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[c] = window{id: c.Hello.Window, argv: c.Hello.Argv, env: c.Hello.Env, process: id}
}

// same tells whether the registered program is the one that runs now.
func (w *windows) same(c *api.Caller) bool {
	exe, err := processes.Exe(c.Pid)
	return err == nil && exe == c.Hello.Argv[0]
}

// goodbye forgets a window that closes on purpose.
func (w *windows) goodbye(c *api.Caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
}

// lost is a connection that ended without goodbye: when the process is gone, or
// as soon as it is, the window is started again.
func (w *windows) lost(c *api.Caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x, ok := w.open[c]
	delete(w.open, c)
	if !ok || w.stopped {
		return
	}
	stop, err := w.host.exits.Watch(x.process, func() { w.restart(c, x) })
	if err != nil { // gone already
		go w.restart(c, x)
		return
	}
	w.stops[c] = stop
}

func (w *windows) restart(c *api.Caller, x window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.stops, c)
	if w.stopped || slices.ContainsFunc(w.list(), func(o window) bool { return o.id == x.id }) {
		return // it came back by itself
	}
	now := time.Now()
	recent := slices.DeleteFunc(w.restarts[x.id], func(t time.Time) bool { return now.Sub(t) > restartSpan })
	if len(recent) >= maxRestarts {
		w.host.log.Error("a window keeps ending and is not started again", "window", x.id)
		return
	}
	w.restarts[x.id] = append(recent, now)
	cmd := exec.Command(x.argv[0], x.argv[1:]...)
	cmd.Env = append(cmd.Env, w.host.o.Env...)
	for k, v := range x.env { // the last one counts
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Dir = w.host.o.UserHome
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.host.log.Error("a window could not be started again", "window", x.id, "err", err)
		return
	}
	w.host.log.Info("window started again", "window", x.id, "pid", cmd.Process.Pid)
	go func() { _ = cmd.Wait() }() // a window outlives this host
}

func (w *windows) list() []window {
	out := make([]window, 0, len(w.open))
	for _, x := range w.open {
		out = append(out, x)
	}
	return out
}

func (w *windows) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

func (w *windows) stop() {
	w.mu.Lock()
	w.stopped = true
	stops := w.stops
	w.stops = map[*api.Caller]func(){}
	w.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}
