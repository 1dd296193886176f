package terminals

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLoginShellTalks(t *testing.T) {
	f := newFixture(t)
	info := f.create()
	w := f.attach(info.ID)
	if err := w.a.Input([]byte("echo $0 $TERM $COLORTERM $LANG $((40+2)); stty size; tty\r")); err != nil {
		t.Fatal(err)
	}
	w.until("-sh xterm-256color truecolor C.UTF-8 42\r\n24 80\r\n/dev/")
	w.a.Resize(100, 30, true)
	f.type_(info.ID, "stty size\r")
	w.until("\x1b[8;30;100t")
	w.until("30 100\r\n")
	f.type_(info.ID, "exit 3\r")
	end := f.await(info.ID, func(m model.Terminal) bool { return !m.Running })
	if end.ExitCode == nil || *end.ExitCode != 3 {
		t.Errorf("%+v", end)
	}
	if got := strings.Join(f.Read(info.ID, 100), "\n"); !strings.Contains(got, "xterm-256color truecolor") {
		t.Errorf("the text of an ended terminal: %q", got)
	}
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	f := newFixture(t)
	_, err := f.Create(t.Context(), CreateSpec{Argv: []string{"no-such-agent"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-agent was not found in PATH") {
		t.Error(err)
	}
	_, err = f.Create(t.Context(), CreateSpec{Argv: []string{"/no/such/bin"}})
	if err == nil || !strings.Contains(err.Error(), "/no/such/bin does not exist") {
		t.Error(err)
	}
	_, err = f.Create(t.Context(), CreateSpec{Cwd: "/no/such/folder"})
	if err == nil || !strings.Contains(err.Error(), "the folder /no/such/folder cannot be used") {
		t.Error(err)
	}
	if n := len(f.List()); n != 0 {
		t.Errorf("%d terminals", n)
	}
}

// Queries are answered once with no, one and three windows.
func TestAnsweredOnceWithAnyNumberOfWindows(t *testing.T) {
	script := `stty raw -echo min 0 time 5; printf '\033[6n\033]7501;?\033\\\033[c'; sleep 0.3; printf 'G'; dd bs=1 count=200 2>/dev/null | od -An -c | tr -d ' \n'; printf 'END'`
	for _, n := range []int{0, 1, 3} {
		f := newFixture(t)
		info := f.create("sh", "-c", script)
		for range n {
			f.attach(info.ID)
		}
		w := f.attach(info.ID)
		w.until("END")
		want := `G033[1;1R033]7501;?033\033[?62;22cEND`
		if got := strings.ReplaceAll(w.text(), `\\`, `\`); !strings.Contains(got, want) {
			t.Errorf("%d windows: %q", n, got)
		}
	}
}

// Case S01, the terminal's part: box characters arrive whole and in order.
func TestCaseS01_TerminalSendsWholeCharacters(t *testing.T) {
	f := newFixture(t)
	line := strings.Repeat("─│", 100)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "box"), []byte(strings.Repeat(line+"\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	info := f.create("sh", "-c", "read x; cat "+filepath.Join(dir, "box")+"; echo END")
	broken := make(chan []byte, 1)
	w := &window{t: t, more: make(chan struct{}, 1)}
	a, _, err := f.Attach(info.ID, 80, 24, true, func(k Frame, p []byte) {
		if !bytes.Equal(bytes.ToValidUTF8(p, nil), p) {
			select {
			case broken <- bytes.Clone(p):
			default:
			}
		}
		w.frame(k, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.a = a
	f.type_(info.ID, "\r")
	w.until("END")
	if n := strings.Count(w.text(), line); n != 100 {
		t.Errorf("%d whole lines", n)
	}
	select {
	case p := <-broken:
		t.Errorf("a frame cuts a character: %.60q", p)
	default:
	}
}

func TestSlowWindowPausesAndLosesNothing(t *testing.T) {
	f := newFixture(t)
	info := f.create("sh", "-c", `read x; seq -f "number %.0f of a long list of numbers" 1 60000; echo END`)
	slow := f.attach(info.ID)
	slow.hold = true
	f.type_(info.ID, "\r")
	slow.until("number 3000 ")
	settled := -1
	for prev := -2; prev != settled; { // until nothing comes any more
		prev = settled
		select {
		case <-slow.more:
		case <-time.After(time.Second):
		}
		settled = len(slow.text())
	}
	if settled > pauseAt+2*maxFrame+chunkBytes*8 {
		t.Errorf("%d bytes were sent to a window that acknowledged nothing", settled)
	}
	if strings.Contains(slow.text(), "END") {
		t.Error("was not paused")
	}
	slow.hold = false
	slow.ack()
	slow.until("END")
	s := slow.text()
	for i := 1; i <= 60000; i += 997 {
		if !strings.Contains(s, fmt.Sprintf("number %d of a long list of numbers\r\n", i)) {
			t.Fatalf("number %d is lost", i)
		}
	}
}

func TestDeadWindowHoldsNobody(t *testing.T) {
	f := newFixture(t)
	info := f.create("sh", "-c", `read x; seq -f "number %.0f of a long list of numbers" 1 60000; echo END`)
	dead := f.attach(info.ID)
	dead.hold = true
	f.type_(info.ID, "\r")
	dead.until("number 3000 ")
	live := f.attach(info.ID)
	dead.a.Detach()
	live.until("END")
}

func TestNewWindowSeesTheScreen(t *testing.T) {
	f := newFixture(t)
	info := f.create("sh", "-c", `printf 'history\r\n\033[?2004h\033[?1049h\033[?1003h\033[?25lfull screen'; read x; printf '\033[?1049l\033[?25h'; echo back; read y`)
	first := f.attach(info.ID)
	first.until("full screen")
	first.a.Detach()
	second := f.attach(info.ID)
	second.until("full screen")
	s := second.text()
	for _, want := range []string{"history", "\x1b[?2004h", "\x1b[?1049h", "\x1b[?1003h", "\x1b[?25l"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is not in the replay %q", want, s)
		}
	}
	if second.ends != 1 || !strings.HasPrefix(s, "\x1bc") {
		t.Errorf("%d ends, begins %.20q", second.ends, s)
	}
	f.type_(info.ID, "\r")
	second.until("back")
	third := f.attach(info.ID)
	third.until("back")
	if s := third.text(); strings.Contains(s, "full screen") || !strings.Contains(s, "history") {
		t.Errorf("after the program left its screen: %q", s)
	}
}

func TestProgramStatusDiesWithItsProcess(t *testing.T) {
	f := newFixture(t)
	info := f.create()
	f.type_(info.ID, `sh -c "printf '\033]7501;state=working:app=codex\007'; read x"`+"\r")
	f.await(info.ID, func(m model.Terminal) bool {
		return m.Program != nil && m.Program.State == "working" && m.Program.App == "codex"
	})
	f.mu.Lock()
	f.changes = nil
	f.mu.Unlock()
	f.type_(info.ID, "\r")
	f.await(info.ID, func(m model.Terminal) bool { return m.Program == nil && m.Running })
}

func TestTitleBellAndFolder(t *testing.T) {
	f := newFixture(t)
	info := f.create("sh", "-c", `printf '\033]0;my \342\200\256title\007\007\033]7;file:///tmp\033\\'; read x`)
	got := f.await(info.ID, func(m model.Terminal) bool { return m.Bell && m.Cwd == "/tmp" })
	if got.Title != "my title" {
		t.Errorf("%q", got.Title)
	}
}

func TestBusy(t *testing.T) {
	f := newFixture(t)
	info := f.create()
	w := f.attach(info.ID)
	f.type_(info.ID, "echo re''ady\r")
	w.until("ready")
	f.type_(info.ID, "sh -c 'echo wor''king; read x'\r")
	w.until("working")
	if n := f.BusyCount(); n != 1 {
		t.Errorf("%d busy", n)
	}
	f.await(info.ID, func(m model.Terminal) bool { return m.Busy })
}

func TestCloseEndsTheWholeSession(t *testing.T) {
	f := newFixture(t)
	info := f.create("bash", "-c", `trap '' HUP TERM; setsid sleep 602 & e=$!; set -m; (sleep 600; true) & sleep 601 & echo; echo $e $$ ok; read x`)
	w := f.attach(info.ID)
	w.until(" ok")
	var escaped, leader int
	s := w.text()
	s = s[:strings.Index(s, " ok")]
	if _, err := fmt.Sscan(s[strings.LastIndex(s, "\n")+1:], &escaped, &leader); err != nil {
		t.Fatalf("%v in %q", err, s)
	}
	waitFor(t, func() bool { p, err := processes.Read(escaped); return err == nil && p.Sid == escaped })
	escapedID, err := processes.Identify(escaped)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = escapedID.Signal(syscall.SIGKILL) }()
	leaders := f.Leaders()
	if len(leaders) != 1 || leaders[0].Pid != leader {
		t.Fatalf("%v, want %d", leaders, leader)
	}
	if n := len(sessionMembers(leaders[0])); n < 3 {
		t.Errorf("%d members", n)
	}
	if err := f.Close(t.Context(), info.ID); err != nil {
		t.Fatal(err)
	}
	if left := sessionMembers(leaders[0]); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if !escapedID.Alive() {
		t.Error("who left the session by setsid was killed")
	}
	if _, _, err := f.Attach(info.ID, 0, 0, false, func(Frame, []byte) {}); !errors.Is(err, ErrClosed) {
		t.Errorf("attach after close: %v", err)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("did not become true within 10 s")
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// Case R01: 200 cycles with failing commands and surviving grandchildren give
// back every descriptor and leave no child.
func TestCaseR01_TwoHundredCyclesLeakNothing(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	defer func() {
		b, _ := os.ReadFile(pids)
		for _, line := range strings.Fields(string(b)) {
			var pid int
			if _, err := fmt.Sscan(line, &pid); err == nil {
				if argv, err := processes.Argv(pid); err == nil && strings.Join(argv, " ") == "sleep 377" {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
	}()
	cycle := func(i int) {
		switch i % 4 {
		case 0:
			info := f.create("sh", "-c", "setsid sleep 377 & echo $! >> "+pids+"; exit")
			f.await(info.ID, func(m model.Terminal) bool { return !m.Running })
		case 1:
			if _, err := f.Create(t.Context(), CreateSpec{Argv: []string{"/no/such/bin"}}); err == nil {
				t.Fatal("started nothing")
			}
		case 2:
			info := f.create("sh", "-c", "exit 5")
			f.await(info.ID, func(m model.Terminal) bool { return m.ExitCode != nil && *m.ExitCode == 5 })
		case 3:
			info := f.create("sh", "-c", "sleep 600")
			_ = syscall.Kill(info.Pid, syscall.SIGKILL)
			f.await(info.ID, func(m model.Terminal) bool { return m.Signal != "" })
		}
		for _, info := range f.List() {
			if err := f.Close(t.Context(), info.ID); err != nil {
				t.Fatal(err)
			}
		}
		f.mu.Lock()
		f.changes = nil
		f.mu.Unlock()
	}
	for i := range 4 {
		cycle(i)
	}
	before := openFiles(t)
	for i := range 200 {
		cycle(i)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	table, err := processes.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table.Children(os.Getpid()) {
		t.Errorf("a child is left: %+v", p)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if d, err := os.ReadDir(dir); err == nil {
			return len(d)
		}
	}
	t.Fatal("the open files cannot be counted")
	return 0
}

// A full-screen program is asked to draw all again for a new window, even
// when the size is the same, and is left with its own size.
func TestFullScreenProgramIsNudged(t *testing.T) {
	f := newFixture(t)
	info := f.create("bash", "-c", `trap 'echo "size $(stty size)"' WINCH; printf '\033[?1049hready'; while :; do read -t 1 x; done`)
	first := f.attach(info.ID)
	first.until("ready")
	first.a.Detach()
	second := f.attach(info.ID)
	second.until("size 23 80")
	second.until("size 24 80")
}

func TestFocusedWindowDecidesTheSize(t *testing.T) {
	f := newFixture(t)
	info := f.create()
	size := func(m model.Terminal) string { return fmt.Sprint(m.Cols, "x", m.Rows) }
	now := func() string { m, _ := f.Get(info.ID); return size(m) }
	one := f.attach(info.ID)
	two := &window{t: t, more: make(chan struct{}, 1)}
	a, got, err := f.Attach(info.ID, 120, 40, false, two.frame)
	if err != nil {
		t.Fatal(err)
	}
	if size(got) != "80x24" {
		t.Errorf("a window in the background resized to %s", size(got))
	}
	a.Resize(120, 40, true)
	one.a.Resize(90, 20, false)
	if now() != "120x40" {
		t.Errorf("%s", now())
	}
	if err := f.Resize(info.ID, 0, 100000); err != nil || now() != "80x1000" {
		t.Errorf("%v %s", err, now())
	}
}

func TestInputIsOrderedAndBounded(t *testing.T) {
	f := newFixture(t)
	info := f.create("sh", "-c", "stty raw -echo; echo go; head -c 200000 | cksum; sleep 600")
	w := f.attach(info.ID)
	w.until("go")
	sum := bytes.Buffer{}
	for i := 0; sum.Len() < 200000; i++ {
		piece := fmt.Appendf(nil, "piece %d;", i)
		piece = piece[:min(len(piece), 200000-sum.Len())]
		sum.Write(piece)
		if err := w.a.Input(piece); err != nil {
			t.Fatal(err)
		}
	}
	want := checksum(t, sum.Bytes())
	w.until(want)
	var err error
	for range 3 * maxInput / 65536 {
		if err = w.a.Input(make([]byte, 65536)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrInputFull) {
		t.Errorf("a program that does not read takes everything: %v", err)
	}
}

func checksum(t *testing.T, b []byte) string {
	t.Helper()
	cmd := exec.Command("cksum")
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestEnvironment(t *testing.T) {
	got := strings.Join(environment([]string{
		"PATH=/bin", "TMUX=x", "TMUX_TMPDIR=/t", "KITTY_WINDOW_ID=1", "ZELLIJ_SESSION_NAME=s", "TERM=dumb", "LANG=de_DE", "LC_ALL=C", "HOME=/h",
	}, map[string]string{"TERM_PROGRAM": "mine"}, "2"), " ")
	want := "COLORTERM=truecolor HOME=/h LANG=C.UTF-8 PATH=/bin TERM=xterm-256color TERM_PROGRAM=mine TERM_PROGRAM_VERSION=2 TMUX_TMPDIR=/t"
	if got != want {
		t.Errorf("%s", got)
	}
	if got := strings.Join(environment([]string{"LC_CTYPE=de_DE.utf8"}, nil, "2"), " "); !strings.HasPrefix(got, "COLORTERM=truecolor LC_CTYPE=de_DE.utf8 TERM=") {
		t.Errorf("%s", got)
	}
}
