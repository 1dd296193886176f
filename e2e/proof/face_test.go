//go:build agents && linux

package proof

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/e2e/display"
)

// clearLine is Ctrl-U, enter the Return key.
const (
	clearLine = "\x15"
	enter     = "\r"
)

// face is a terminal in which an agent's own interface runs and a person types.
type face interface {
	// keys types a text, enter or clearLine.
	keys(text string)
	// screen is the text that is shown now; ok is false where it cannot be read.
	screen() (text string, ok bool)
	// proves checks the place of a session that runs here, raised what going to
	// it did.
	proves(model.Place)
	raised(api.FocusResult)
}

// tab is a terminal of ours.
type tab struct {
	w      *world
	id     string
	stream *api.ClientStream
}

func (w *world) openTab(argv ...string) *tab {
	w.t.Helper()
	got := call[api.TerminalResult](w, "terminals.create", api.CreateTerminal{Cwd: w.cwd, Argv: argv, Cols: 120, Rows: 40})
	return w.attach(got.Terminal.ID)
}

func (w *world) attach(id string) *tab {
	w.t.Helper()
	s, _, err := w.client.Attach(w.ctx(), api.AttachTerminal{ID: id, Cols: 120, Rows: 40, Focus: true}, api.TerminalReader{})
	if err != nil {
		w.t.Fatal(err)
	}
	return &tab{w: w, id: id, stream: s}
}

func (f *tab) keys(text string) {
	f.w.t.Helper()
	if err := f.stream.Input([]byte(text)); err != nil {
		f.w.t.Fatal(err)
	}
}

func (f *tab) screen() (string, bool) {
	f.w.t.Helper()
	return strings.Join(call[api.TerminalText](f.w, "terminals.read", api.ReadTerminal{ID: f.id, Lines: 60}).Lines, "\n"), true
}

func (f *tab) proves(p model.Place) {
	f.w.t.Helper()
	if p.Kind != "tab" || p.TerminalID != f.id || p.External || !p.CanFocus {
		f.w.t.Errorf("place in a tab: %+v", p)
	}
}

func (f *tab) raised(r api.FocusResult) {
	f.w.t.Helper()
	if r.Exact != "exact" || r.TerminalID != f.id {
		f.w.t.Errorf("going to a tab: %+v", r)
	}
}

// pane is a tmux pane of a private server that nobody is attached to.
type pane struct {
	w      *world
	server string
}

func (w *world) openPane(argv ...string) *pane {
	w.t.Helper()
	p := &pane{w: w, server: "p" + strconv.Itoa(os.Getpid())}
	words := append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "-c", w.cwd, "--"}, argv...)
	if _, err := p.tmux(words...); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _, _ = p.tmux("kill-server") }) // it may have ended with its last pane
	return p
}

func (f *pane) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-L", f.server}, args...)...)
	cmd.Env = append(f.w.env, "TMUX_TMPDIR="+f.w.home)
	cmd.Dir = f.w.cwd
	out, err := cmd.Output()
	return string(out), err
}

func (f *pane) keys(text string) {
	f.w.t.Helper()
	args := []string{"send-keys", "-l", "--", text}
	switch text {
	case enter:
		args = []string{"send-keys", "Enter"}
	case clearLine:
		args = []string{"send-keys", "C-u"}
	}
	if _, err := f.tmux(args...); err != nil {
		f.w.t.Fatal(err)
	}
}

func (f *pane) screen() (string, bool) {
	out, err := f.tmux("capture-pane", "-p")
	return out, err == nil
}

func (f *pane) proves(p model.Place) {
	f.w.t.Helper()
	if p.Kind != "tmux" || !p.External || p.Label == "" || p.CanFocus || p.WhyNot == "" {
		f.w.t.Errorf("place in a tmux nobody shows: %+v", p)
	}
}

func (f *pane) raised(r api.FocusResult) {
	f.w.t.Helper()
	if r.Exact != "unavailable" || r.Why == "" {
		f.w.t.Errorf("going to a pane that nobody shows: %+v", r)
	}
}

// xterm is a real xterm on the display of the tests. Its screen is not read.
type xterm struct {
	w      *world
	window *display.Window
}

func (w *world) openXterm(argv ...string) *xterm {
	w.t.Helper()
	cmd := exec.Command("xterm", append([]string{"-geometry", "120x40", "-e"}, argv...)...)
	cmd.Env, cmd.Dir = w.env, w.cwd
	bound(cmd)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	return w.xtermOf(cmd.Process.Pid)
}

// xtermAbove is the window in which a process runs.
func (w *world) xtermAbove(pid int) *xterm {
	w.t.Helper()
	for _, p := range processes.Ancestors(pid) {
		if p.Comm == "xterm" {
			return w.xtermOf(p.Pid)
		}
	}
	w.t.Fatalf("process %d runs below no xterm", pid)
	return nil
}

func (w *world) xtermOf(pid int) *xterm {
	w.t.Helper()
	window, err := w.screen.FindWindow(pid, patience)
	if err == nil {
		err = window.Focus()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return &xterm{w: w, window: window}
}

func (f *xterm) keys(text string) {
	f.w.t.Helper()
	var err error
	switch text {
	case enter:
		err = f.w.screen.Key("Return")
	case clearLine:
		err = f.w.screen.Key("ctrl+u")
	default:
		err = f.w.screen.Type(text)
	}
	if err != nil {
		f.w.t.Fatal(err)
	}
}

func (f *xterm) screen() (string, bool) { return "", false }

func (f *xterm) proves(p model.Place) {
	f.w.t.Helper()
	if p.Kind != "terminal" || p.App != "xterm" || !p.External || !p.CanFocus {
		f.w.t.Errorf("place in xterm: %+v", p)
	}
}

func (f *xterm) raised(r api.FocusResult) {
	f.w.t.Helper()
	if r.Exact != "exact" || !f.window.Active() {
		f.w.t.Errorf("going to xterm: %+v, has the keyboard: %v", r, f.window.Active())
	}
}

// sees waits until the words are on a screen that can be read.
func (w *world) sees(f face, words string) {
	w.t.Helper()
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	deadline := time.Now().Add(patience)
	for {
		text, ok := f.screen()
		if !ok || strings.Contains(squeeze(text), squeeze(words)) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the screen does not show %q:\n%s", words, text)
		}
		time.Sleep(50 * time.Millisecond) // a screen tells nobody when it changes
	}
}

// press types a key, again while it was not taken: Claude Code drops keys just
// after a dialog opened, and takes a Return that comes at once as pasted.
func (w *world) press(f face, key string, taken func(within time.Duration) bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		f.keys(key)
		if taken(2 * time.Second) {
			return
		}
	}
	text, _ := f.screen()
	w.t.Fatalf("the key %q was not taken:\n%s\nlog:\n%s", key, text, w.transcripts())
}

// line types a text and confirms it. What stood in the line is cleared: an answer
// may have been typed before its question was asked.
func (w *world) line(f face, text string, taken func(within time.Duration) bool) {
	w.t.Helper()
	f.keys(clearLine)
	f.keys(text)
	w.sees(f, text)
	w.press(f, enter, taken)
}

// answer presses the key of an option until the session does not wait any more.
// A key too many would be typed into the next prompt.
func (w *world) answer(f face, key string, b *board, session model.SessionKey) {
	w.t.Helper()
	w.press(f, key, func(within time.Duration) bool {
		return b.has(within, func(s model.Session) bool { return s.Key == session && s.State != model.SessionWaiting }, nil)
	})
}

// transcripts names the files of all conversations, for a failure's message.
func (w *world) transcripts() string {
	list, _ := filepath.Glob(filepath.Join(w.home, ".claude", "projects", "*", "*.jsonl"))
	return strings.Join(list, "\n")
}
