package rehearsal

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// tty is the agent in a pseudo terminal whose output is kept.
type tty struct {
	t    *testing.T
	file *os.File
	mu   sync.Mutex
	out  bytes.Buffer
	grew chan struct{}
	done chan error
	mark int
}

func startTTY(t *testing.T, flags ...string) *tty {
	t.Helper()
	h := newHost(t)
	cmd := exec.Command(h.Executable, append([]string{"rehearsal", "--pace", "none"}, flags...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(h.Env(), wire.HomeVariable+"="+t.TempDir(), "TERM=xterm-256color")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	x := &tty{t: t, file: f, grew: make(chan struct{}, 1), done: make(chan error, 1)}
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := f.Read(buf)
			x.mu.Lock()
			x.out.Write(buf[:n])
			x.mu.Unlock()
			select {
			case x.grew <- struct{}{}:
			default:
			}
			if err != nil {
				x.done <- cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		f.Close()
	})
	return x
}

// expect waits for text after what was expected before.
func (x *tty) expect(text string) {
	x.t.Helper()
	over := time.After(deadline)
	for {
		x.mu.Lock()
		rest := x.out.String()[x.mark:]
		if i := strings.Index(rest, text); i >= 0 {
			x.mark += i + len(text)
			x.mu.Unlock()
			return
		}
		x.mu.Unlock()
		select {
		case <-x.grew:
		case <-over:
			x.t.Fatalf("%q did not appear after\n%q", text, rest)
		}
	}
}

func (x *tty) typed(keys string) {
	x.t.Helper()
	if _, err := x.file.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

func status(s string) string { return "\x1b]7501;" + s + ":app=rehearsal\x1b\\" }

// TestTerminalReportsItsStatus: after the terminal answered the query, every
// state is reported; title and prompt are there.
func TestTerminalReportsItsStatus(t *testing.T) {
	x := startTTY(t)
	x.expect("\x1b]7501;?\x1b\\\x1b[c")
	x.expect("demonstration")
	x.expect("\x1b]0;Rehearsal: new session")
	x.typed("\x1b]7501;?\x1b\\\x1b[?1;2c")
	x.expect(status("state=idle"))
	x.typed("run\r")
	x.expect(status("state=working"))
	x.expect("The curtain is up.")
	x.expect(status("state=blocked:kind=permission:msg=" + base64.StdEncoding.EncodeToString([]byte("Run a command"))))
	x.typed("3")
	x.expect(status("state=working"))
	x.expect("You said no")
	x.expect(status("state=done"))
	x.typed("question\r")
	x.expect("state=blocked:kind=question")
	x.typed("\x1b")
	x.expect("Stopped.")
	x.expect(status("state=idle"))
	x.typed("fail\r")
	x.expect(status("state=error"))
	x.typed("/exit\r")
	x.expect("\x1b]7501;state=clear\x1b\\")
	if err := <-x.done; err != nil {
		t.Errorf("exit: %v", err)
	}
}

// TestTerminalWithoutAnswer: a terminal that does not know the query gets no
// reports, and everything else works.
func TestTerminalWithoutAnswer(t *testing.T) {
	x := startTTY(t, "--fullscreen")
	x.expect("\x1b[?1049h")
	x.typed("hello\r")
	x.expect("Rehearsal")
	x.expect("Things to try")
	x.expect("\x1b[1m› ") // the turn is over
	x.typed("\x04")
	x.expect("\x1b[?1049l")
	if err := <-x.done; err != nil {
		t.Errorf("exit: %v", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if strings.Contains(x.out.String(), "state=") {
		t.Error("a report was sent unasked")
	}
}

// TestClearSupersedes: /clear gives the same process a new session, which
// says what it replaces.
func TestClearSupersedes(t *testing.T) {
	h := newHost(t)
	root := t.TempDir()
	id, term, _ := terminalSession(t, h, root)
	pub := agenttest.NewPublications(ID)
	agenttest.StartSource(t, New(h).Source, agent.SourceStart{Harnesses: []string{ID}, Publisher: pub, Roots: []string{root}})
	pub.MustWait(t, deadline, "the session", func(m map[string]agent.Snapshot) bool { _, ok := m[id]; return ok })
	term.Type("/clear\r")
	pub.MustWait(t, deadline, "the new session in place of the old", func(m map[string]agent.Snapshot) bool {
		for _, s := range m {
			return len(m) == 1 && s.ID != id && s.Supersedes == id && s.Pid == term.Pid
		}
		return false
	})
	if v := pub.Violations(); len(v) > 0 {
		t.Error(v)
	}
}
