package agenttest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// HandoverConfig says how to run the handover suite.
type HandoverConfig struct {
	New func(t *testing.T) agent.Handover
	// Session makes a stored conversation that no process has open, and tells
	// its live rows (nil: not compared).
	Session func(t *testing.T) (agent.Handle, []agent.Item)
	// Env is what a terminal of the user would have, before the command's own
	// additions; nil means this process's.
	Env []string
	// Prompt is typed into the terminal; the agent must answer it with a text
	// and be idle again. Empty: nothing is typed.
	Prompt string
	// Rules limits the run to these, by name; Without leaves some out.
	Rules   []string
	Without []string
	// Deadline bounds each wait; the default is 30 s.
	Deadline time.Duration
}

func (c *HandoverConfig) deadline() time.Duration {
	if c.Deadline > 0 {
		return c.Deadline
	}
	return 30 * time.Second
}

// handoverRules is the table of what a handover is held to.
var handoverRules = []rule[*HandoverConfig]{
	{"Command", "The command is an absolute argv in the session's folder that names the session.", nil, testCommand},
	{"Owner", "Who writes is told with evidence: nobody, the terminal while its process lives, nobody after its exit and after a kill.", nil, testOwner},
	{"Mirror", "The mirror gives the live rows, closed, and nothing twice when it continues at its end.", nil, testMirror},
	{"MirrorOfALiveTerminal", "What is typed in the terminal appears, and reads the same afterwards.", func(c *HandoverConfig) bool { return c.Prompt != "" }, testMirrorLive},
	{"SecondWriter", "With two processes on one session nobody may think it free (case H02).", nil, testSecondWriter},
	{"ForeignIDs", "An id is never a path or an option (case X06).", nil, testForeignIDs},
}

// Handover runs the rules of a handover.
func Handover(t *testing.T, cfg HandoverConfig) {
	t.Helper()
	runRules(t, &cfg, choice{cfg.Rules, cfg.Without}, handoverRules)
}

func (c *HandoverConfig) command(t *testing.T, h agent.Handover, handle agent.Handle) agent.Command {
	t.Helper()
	cmd, _, err := h.TerminalCommand(t.Context(), agent.TerminalRequest{Handle: handle})
	if err != nil {
		t.Fatalf("TerminalCommand: %v", err)
	}
	return cmd
}

func testCommand(t *testing.T, cfg *HandoverConfig) {
	h := cfg.New(t)
	handle, _ := cfg.Session(t)
	cmd := cfg.command(t, h, handle)
	if len(cmd.Argv) == 0 || !filepath.IsAbs(cmd.Argv[0]) {
		t.Fatalf("argv %q does not begin with an absolute path", cmd.Argv)
	}
	if _, err := exec.LookPath(cmd.Argv[0]); err != nil {
		t.Errorf("the program cannot be run: %v", err)
	}
	if cmd.Cwd != handle.Cwd {
		t.Errorf("the folder is %s, not %s", cmd.Cwd, handle.Cwd)
	}
	if !strings.Contains(strings.Join(cmd.Argv, " "), handle.NativeID) {
		t.Errorf("argv %q does not name the session", cmd.Argv)
	}
	tip, err := h.Tip(t.Context(), handle)
	if err != nil || tip.NativeID == "" {
		t.Errorf("Tip: %+v %v", tip, err)
	}
}

// Terminal is a command in a pseudo terminal whose answers to device queries
// are those of a plain one.
type Terminal struct {
	Pid  int
	t    *testing.T
	file *os.File
	done chan struct{}
}

// StartTerminal runs the command as a terminal would.
func StartTerminal(t *testing.T, c agent.Command, env []string) *Terminal {
	t.Helper()
	if env == nil {
		env = os.Environ()
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Cwd
	cmd.Env = append(append([]string(nil), env...), "TERM=xterm-256color")
	for k, v := range c.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatalf("terminal: %v", err)
	}
	term := &Terminal{Pid: cmd.Process.Pid, t: t, file: f, done: make(chan struct{})}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, f)
	}()
	go func() {
		defer close(term.done)
		_ = cmd.Wait()
		<-drained
		f.Close()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-term.Pid, syscall.SIGKILL)
		<-term.done
	})
	return term
}

// Type writes keys.
func (x *Terminal) Type(keys string) {
	if _, err := x.file.WriteString(keys); err != nil {
		x.t.Errorf("terminal: %v", err)
	}
}

// Done is closed after its end.
func (x *Terminal) Done() <-chan struct{} { return x.done }

// owner waits until Owner says what is wanted. It asks again and again: a start
// and an end of a process need not touch a directory that could be watched.
func (c *HandoverConfig) owner(t *testing.T, h agent.Handover, handle agent.Handle, ignore []int, want func(agent.Ownership) bool) agent.Ownership {
	t.Helper()
	over := time.After(c.deadline())
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		o, err := h.Owner(t.Context(), handle, ignore)
		if err != nil {
			t.Fatalf("Owner: %v", err)
		}
		if o.Evidence == "" || agent.UTF16Len(o.Evidence) > agent.LimitEvidence {
			t.Fatalf("Owner has no evidence, or too much: %+v", o)
		}
		if want(o) {
			return o
		}
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("the owner is still %+v", o)
		}
	}
}

func is(owner agent.Owner) func(agent.Ownership) bool {
	return func(o agent.Ownership) bool { return o.Owner == owner }
}

func testOwner(t *testing.T, cfg *HandoverConfig) {
	h := cfg.New(t)
	handle, _ := cfg.Session(t)
	cfg.owner(t, h, handle, nil, is(agent.OwnerNobody))
	if len(h.ChangeDirs(handle)) == 0 {
		t.Error("ChangeDirs names no directory")
	}
	term := StartTerminal(t, cfg.command(t, h, handle), cfg.Env)
	o := cfg.owner(t, h, handle, nil, is(agent.OwnerTerminal))
	if o.Pid != term.Pid || o.Link != agent.LinkProved {
		t.Errorf("the terminal's process is %d, the owner is %+v", term.Pid, o)
	}
	cfg.owner(t, h, handle, []int{term.Pid}, is(agent.OwnerNobody))
	if r, ok := h.(agent.ExitRequester); ok {
		if err := r.RequestExit(t.Context(), handle, o); err != nil {
			t.Fatalf("RequestExit: %v", err)
		}
	} else if err := syscall.Kill(o.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-term.Done():
	case <-time.After(cfg.deadline()):
		t.Fatal("the terminal's process did not end when asked to")
	}
	cfg.owner(t, h, handle, nil, is(agent.OwnerNobody))

	killed := StartTerminal(t, cfg.command(t, h, handle), cfg.Env)
	cfg.owner(t, h, handle, nil, is(agent.OwnerTerminal))
	_ = syscall.Kill(killed.Pid, syscall.SIGKILL)
	<-killed.Done()
	cfg.owner(t, h, handle, nil, is(agent.OwnerNobody))
}

func testMirror(t *testing.T, cfg *HandoverConfig) {
	h := cfg.New(t)
	handle, live := cfg.Session(t)
	sink := NewMirrorSink()
	stop := StartMirror(t, h, handle, agent.Position{}, sink)
	sink.MustWait(t, cfg.deadline(), "CaughtUp", func() bool { _, n := sink.Position(); return n > 0 })
	stop()
	rows := sink.Items()
	if len(rows) == 0 {
		t.Fatal("the mirror shows nothing")
	}
	for _, it := range rows {
		if it.Open() {
			t.Errorf("nobody writes, and item %s is open", it.ID)
		}
	}
	if live != nil {
		sameRows(t, live, rows)
	}
	sameRows(t, rows, MirrorRows(t, h, handle, cfg.deadline())) // read again, the same
	at, _ := sink.Position()
	rest := NewMirrorSink()
	stop = StartMirror(t, h, handle, at, rest)
	rest.MustWait(t, cfg.deadline(), "CaughtUp", func() bool { _, n := rest.Position(); return n > 0 })
	stop()
	if n := rest.Published(); n != 0 {
		t.Errorf("a mirror that continues at the end publishes %d rows again", n)
	}
	for _, v := range sink.Violations() {
		t.Errorf("violation of the mirror: %s", v)
	}
}

// testMirrorLive: what is typed in the terminal appears, and reads the same
// afterwards.
func testMirrorLive(t *testing.T, cfg *HandoverConfig) {
	h := cfg.New(t)
	handle, _ := cfg.Session(t)
	before := len(MirrorRows(t, h, handle, cfg.deadline()))
	sink := NewMirrorSink()
	stop := StartMirror(t, h, handle, agent.Position{}, sink)
	term := StartTerminal(t, cfg.command(t, h, handle), cfg.Env)
	o := cfg.owner(t, h, handle, nil, is(agent.OwnerTerminal))
	term.Type(cfg.Prompt + "\r")
	sink.MustWait(t, cfg.deadline(), "a closed answer from the terminal", func() bool {
		rows := sink.Items()
		if len(rows) <= before {
			return false
		}
		last := rows[len(rows)-1]
		return last.Type == agent.ItemText && !last.Open() && sink.Now().Status == agent.StatusIdle
	})
	_ = syscall.Kill(o.Pid, syscall.SIGTERM)
	<-term.Done()
	stop()
	sameRows(t, sink.Items(), MirrorRows(t, h, handle, cfg.deadline()))
}

// testSecondWriter: with two processes on one session nobody may think it free,
// nor write to it.
func testSecondWriter(t *testing.T, cfg *HandoverConfig) {
	h := cfg.New(t)
	handle, _ := cfg.Session(t)
	cmd := cfg.command(t, h, handle)
	first := StartTerminal(t, cmd, cfg.Env)
	cfg.owner(t, h, handle, nil, is(agent.OwnerTerminal))
	second := StartTerminal(t, cmd, cfg.Env)
	cfg.owner(t, h, handle, []int{first.Pid}, func(o agent.Ownership) bool { return o.Pid == second.Pid })
	o := cfg.owner(t, h, handle, nil, func(agent.Ownership) bool { return true })
	if o.Owner != agent.OwnerUnclear && o.Owner != agent.OwnerTerminal {
		t.Errorf("two processes have the session open and the owner is %s", o.Owner)
	}
	_ = syscall.Kill(first.Pid, syscall.SIGKILL)
	<-first.Done()
	cfg.owner(t, h, handle, nil, func(o agent.Ownership) bool { return o.Owner == agent.OwnerTerminal && o.Pid == second.Pid })
}

// testForeignIDs (case X06): an id is never a path.
func testForeignIDs(t *testing.T, cfg *HandoverConfig) {
	h := cfg.New(t)
	handle, _ := cfg.Session(t)
	for _, id := range []string{"", ".", "..", "../../etc/passwd", "a/b", "%2e%2e", "a\x00b", strings.Repeat("x", 4096), "--help"} {
		bad := handle
		bad.NativeID = id
		if cmd, _, err := h.TerminalCommand(t.Context(), agent.TerminalRequest{Handle: bad}); err == nil {
			t.Errorf("TerminalCommand took the id %q: %q", short(id), cmd.Argv)
		}
		ctx, cancel := context.WithTimeout(t.Context(), cfg.deadline())
		if err := h.Mirror(ctx, bad, agent.Position{}, NewMirrorSink()); err == nil {
			t.Errorf("Mirror took the id %q", short(id))
		}
		cancel()
	}
}
