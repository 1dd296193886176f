package handoff

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/e2e/agents"
)

// matrixWorld is a test's view of a home.
type matrixWorld struct {
	*testing.T
	*matrixHome
}

// with is the same home for another test: scenes run beside each other.
func (w *matrixWorld) with(t *testing.T) *matrixWorld { return &matrixWorld{t, w.matrixHome} }

// matrixHome is a home with a host in a process of its own.
type matrixHome struct {
	dir  string
	name string
	cast *cast
	env  []string
	kit  *agentkit.Host
	h    agent.Harness

	mu      sync.Mutex
	host    *exec.Cmd
	in      io.WriteCloser
	n       int
	waiting map[int]chan report
	paused  map[pausedAt]bool
	changed chan struct{}
	ended   chan struct{}
}

func newMatrixWorld(t *testing.T, name string) *matrixWorld {
	w := &matrixWorld{t, &matrixHome{dir: agents.Home(t), name: name, cast: castNamed(name)}}
	set := w.cast.setUp(t, w)
	if set == nil {
		set = map[string]string{}
	}
	set["TMPDIR"] = filepath.Join(w.dir, "tmp")
	if err := os.Mkdir(set["TMPDIR"], 0o700); err != nil {
		t.Fatal(err)
	}
	set["HANDOFF_DIR"], set["HANDOFF_CAST"] = w.dir, name
	w.env = agents.Environ(w.dir, set)
	w.kit = w.cast.kit(w.dir, w.env)
	w.h = w.cast.harness(w.kit)
	w.holding(false)
	t.Cleanup(func() {
		w.stop()
		w.nothingLeft()
		w.kit.Exits.Close()
		_ = w.kit.Watcher.Close()
	})
	w.serve()
	return w
}

// holding says whether turns stand still in the middle.
func (w *matrixWorld) holding(on bool) {
	if file := filepath.Join(w.dir, "on"); on {
		_ = os.Remove(file)
	} else if err := os.WriteFile(file, nil, 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *matrixWorld) serve() {
	w.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(w.env, roleEnv+"=host")
	cmd.Dir = w.dir
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	ended := make(chan struct{})
	w.mu.Lock()
	w.host, w.in, w.ended = cmd, in, ended
	w.waiting, w.paused, w.changed = map[int]chan report{}, map[pausedAt]bool{}, make(chan struct{})
	w.mu.Unlock()
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var r report
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				w.heard(r)
			}
		}
		_ = cmd.Wait()
	}()
}

func (w *matrixWorld) heard(r report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.waiting[r.N]; c != nil {
		delete(w.waiting, r.N)
		c <- r
		return
	}
	if r.At != nil {
		w.paused[*r.At] = true
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// begin gives an order without waiting for what becomes of it.
func (w *matrixWorld) begin(o order) <-chan report {
	w.Helper()
	out := make(chan report, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	o.N = w.n
	w.waiting[o.N] = out
	b, err := json.Marshal(o)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.in.Write(append(b, '\n')); err != nil {
		w.Fatal(err)
	}
	return out
}

// try gives an order and waits.
func (w *matrixWorld) try(o order, v any) error {
	w.Helper()
	out := w.begin(o)
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	select {
	case r := <-out:
		if r.Err != "" {
			return errors.New(r.Err)
		}
		if v == nil {
			return nil
		}
		return json.Unmarshal(r.V, v)
	case <-ended:
		return errors.New("the host ended")
	case <-time.After(60 * time.Second):
		return errors.New("no answer")
	}
}

func (w *matrixWorld) call(o order, v any) {
	w.Helper()
	if err := w.try(o, v); err != nil {
		w.Fatalf("%s: %v", o.Do, err)
	}
}

func (w *matrixWorld) get(chat string) (c model.Chat) {
	w.Helper()
	w.call(order{Do: "get", Chat: chat}, &c)
	return c
}

// until waits for a condition; what changes in the host wakes it.
func (w *matrixWorld) until(what string, within time.Duration, cond func() bool) bool {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if cond() {
			return true
		}
		again := time.NewTimer(50 * time.Millisecond) // for files and screens
		select {
		case <-changed:
		case <-again.C:
		case <-late.C:
			return false
		}
		again.Stop()
	}
}

const matrixPatience = 40 * time.Second

// kill ends the host as a crash would.
func (w *matrixWorld) kill() {
	w.Helper()
	_ = w.host.Process.Kill()
	<-w.ended
}

func (w *matrixWorld) stop() {
	w.mu.Lock()
	in, ended := w.in, w.ended
	w.mu.Unlock()
	_ = in.Close()
	select {
	case <-ended:
	case <-time.After(matrixPatience):
		w.Error("the host did not end")
		_ = w.host.Process.Kill()
		<-ended
	}
}

// nothingLeft looks that no process of this home lives on, but the windows.
func (w *matrixWorld) nothingLeft() {
	pids, _ := filepath.Glob(filepath.Join(w.dir, "window-*", "pid"))
	for _, f := range pids {
		b, _ := os.ReadFile(f)
		if pid, err := strconv.Atoi(string(b)); err == nil {
			w.killed(pid)
		}
	}
	var left []processes.Proc
	if !w.until("nothing to be left", 20*time.Second, func() bool { left = w.living(); return len(left) == 0 }) {
		for _, p := range left {
			argv, _ := processes.Argv(p.Pid)
			w.Errorf("left running: %v %q", p.Identity, argv)
			_ = p.Signal(syscall.SIGKILL)
		}
	}
}

// living are the processes with this home in their environment.
func (w *matrixWorld) living() (list []processes.Proc) {
	t, err := processes.Snapshot()
	if err != nil {
		w.Fatal(err)
	}
	mark := "HANDOFF_DIR=" + w.dir
	for _, p := range t.All() {
		env, err := processes.Environ(p.Pid)
		if err != nil || p.Zombie {
			continue
		}
		for _, kv := range env {
			if kv == mark {
				list = append(list, p)
				break
			}
		}
	}
	return list
}

// killed ends a process and waits until it is gone.
func (w *matrixWorld) killed(pid int) {
	w.Helper()
	id, err := processes.Identify(pid)
	if err != nil {
		return
	}
	_ = id.Signal(syscall.SIGKILL)
	if !w.until("the end of a process", matrixPatience, func() bool { return !id.Alive() }) {
		w.Fatalf("%v does not end", id)
	}
}

// screen is a terminal that can be typed into and read.
type screen struct {
	w *matrixWorld
	// tab is one of ours, window a name of the person's terminal app.
	tab, window string
}

func (x screen) keys(text string) {
	x.w.Helper()
	if x.tab != "" {
		x.w.call(order{Do: "type", Terminal: x.tab, Text: text}, nil)
		return
	}
	c, err := net.Dial("unix", filepath.Join(x.w.dir, x.window, "k"))
	if err != nil {
		x.w.Fatal(err)
	}
	_, err = io.WriteString(c, text)
	if err = errors.Join(err, c.Close()); err != nil {
		x.w.Fatal(err)
	}
}

var matrixEscapes = regexp.MustCompile("\x1b(\\[[0-9;?<>=]*[A-Za-z]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[()][A-Z0-9]|[=>78])")

func (x screen) text() (s string) {
	x.w.Helper()
	if x.tab != "" {
		x.w.call(order{Do: "screen", Terminal: x.tab}, &s)
	} else {
		b, _ := os.ReadFile(filepath.Join(x.w.dir, x.window, "screen"))
		s = matrixEscapes.ReplaceAllString(string(b), " ")
	}
	return strings.Join(strings.Fields(s), "")
}

func (x screen) sees(text string) {
	x.w.Helper()
	text = strings.Join(strings.Fields(text), "")
	if !x.w.until("the screen", matrixPatience, func() bool { return strings.Contains(x.text(), text) }) {
		x.w.Fatalf("the terminal does not show %q:\n%s", text, x.text())
	}
}

// line types a line and confirms it until it was taken: Claude Code takes a
// Return that comes with the text as pasted.
func (x screen) line(text string, taken func() bool) {
	x.w.Helper()
	for range 10 {
		x.keys("\x15" + text)
		x.sees(text)
		x.keys("\r")
		if x.w.until("the line", 3*time.Second, taken) {
			return
		}
	}
	x.w.Fatalf("the terminal did not take %q:\n%s", text, x.text())
}

// pid is the terminal app's own process.
func (x screen) pid() int {
	x.w.Helper()
	b, err := os.ReadFile(filepath.Join(x.w.dir, x.window, "pid"))
	if err != nil {
		x.w.Fatal(err)
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		x.w.Fatal(err)
	}
	return pid
}

// windowOf is the terminal app that was opened with a session.
func (w *matrixWorld) windowOf(session string) (name string) {
	w.Helper()
	if !w.until("the window", matrixPatience, func() bool {
		list, _ := filepath.Glob(filepath.Join(w.dir, "window-*", "argv"))
		for _, f := range list {
			if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), session) {
				name = filepath.Base(filepath.Dir(f))
			}
		}
		return name != ""
	}) {
		w.Fatal("no window was opened")
	}
	return name
}

// records are the lines of a session's transcript.
func (w *matrixWorld) records(session string) []byte {
	b, err := os.ReadFile(w.cast.transcript(w.dir, session))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	return b
}

// owner is who the harness says writes to a session.
func (w *matrixWorld) owner(h agent.Handle) agent.Ownership {
	w.Helper()
	o, err := w.h.Handover.Owner(ctx, h, nil)
	if err != nil {
		w.Fatal(err)
	}
	return o
}

func (w *matrixWorld) describe(c model.Chat) string {
	return fmt.Sprintf("%s turn %s hand %+v end %+v queue %d\n%s", c.State, c.Turn, c.Hand, c.LastEnd, len(c.Queue), rowsOf(c.Items))
}
