package native

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/whippletree-app/whippletree/backend/processes"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("did not become true within 20 s")
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

func TestOpenArgv(t *testing.T) {
	o := Opening{Path: "/bin/x", Script: "/run/l/run", Cwd: "/tmp/a b", Title: "-t $(x)"}
	want := map[string][]string{
		"ghostty":        {"/bin/x", "--gtk-single-instance=false", "--working-directory=/tmp/a b", "--title=-t $(x)", "-e", "/run/l/run"},
		"kitty":          {"/bin/x", "--directory=/tmp/a b", "--title=-t $(x)", "/run/l/run"},
		"wezterm":        {"/bin/x", "start", "--cwd", "/tmp/a b", "--", "/run/l/run"},
		"alacritty":      {"/bin/x", "--working-directory", "/tmp/a b", "--title=-t $(x)", "-e", "/run/l/run"},
		"foot":           {"/bin/x", "--working-directory=/tmp/a b", "--title=-t $(x)", "/run/l/run"},
		"gnome-terminal": {"/bin/x", "--window", "--working-directory=/tmp/a b", "--title=-t $(x)", "--", "/run/l/run"},
		"konsole":        {"/bin/x", "--workdir", "/tmp/a b", "-p", "tabtitle=-t $(x)", "-e", "/run/l/run"},
		"xfce4-terminal": {"/bin/x", "--disable-server", "--working-directory=/tmp/a b", "--title=-t $(x)", "-x", "/run/l/run"},
		"tilix":          {"/bin/x", "--working-directory=/tmp/a b", "--title=-t $(x)", "-e", "/run/l/run"},
		"xterm":          {"/bin/x", "-T", "-t $(x)", "-e", "/run/l/run"},
		"iterm2":         {"open", "-b", "com.googlecode.iterm2", "/run/l/run"},
		"terminal-app":   {"open", "-b", "com.apple.Terminal", "/run/l/run"},
	}
	got := map[string][]string{}
	for _, a := range Apps() {
		got[a.ID] = a.Open(o)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFocusPlans(t *testing.T) {
	env := map[string]string{
		"WINDOWID": "73", "KITTY_LISTEN_ON": "unix:/tmp/k-1", "KITTY_WINDOW_ID": "4", "WEZTERM_PANE": "9",
		"KONSOLE_DBUS_SERVICE": ":1.5", "KONSOLE_DBUS_WINDOW": "/Windows/1", "KONSOLE_DBUS_SESSION": "/Sessions/3",
		"ITERM_SESSION_ID": "w0t1p0:ABC-1",
	}
	s := Spot{App: processes.Identity{Pid: 5}, TTY: "/dev/ttys003", Env: env}
	want := map[string][]string{
		"ghostty": {"raise 73"}, "alacritty": {"raise 73", "exact"}, "foot": {"raise 0", "exact"}, "gnome-terminal": {"raise 0"},
		"kitty":          {"kitty @ --to unix:/tmp/k-1 focus-window --match id:4", "raise 73", "exact"},
		"wezterm":        {"wezterm cli activate-pane --pane-id 9", "raise 0", "exact"},
		"konsole":        {"dbus-send --session --print-reply --dest=:1.5 /Windows/1 org.kde.konsole.Window.setCurrentSession int32:3", "raise 73", "exact"},
		"xfce4-terminal": {"raise 73"}, "tilix": {"raise 0"}, "xterm": {"raise 73", "exact"},
		"iterm2":       {"ABC-1 /dev/ttys003", "exact"},
		"terminal-app": {"/dev/ttys003", "exact"},
	}
	got := map[string][]string{}
	for _, a := range Apps() {
		p := a.Focus(s)
		var out []string
		for _, c := range p.Commands {
			line := strings.Join(c, " ")
			if c[0] == "osascript" { // only the values; the text is a constant
				_, line, _ = strings.Cut(line, " -- ")
			}
			out = append(out, line)
		}
		if p.Raise {
			out = append(out, "raise "+fmtUint(p.Window))
		}
		if p.Exact {
			out = append(out, "exact")
		} else if p.Why == "" {
			t.Errorf("%s is not exact and does not say why", a.ID)
		}
		got[a.ID] = out
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"xterm", "kitty", "foot"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(env ...string) []string {
		var out []string
		for _, c := range New(Options{GOOS: "linux", Env: append(env, "PATH="+dir)}).List() {
			id := c.ID
			if c.Default {
				id += "*"
			}
			out = append(out, id)
		}
		return out
	}
	for _, c := range []struct {
		env  []string
		want []string
	}{
		{[]string{"DISPLAY=:0"}, []string{"kitty*", "xterm"}},
		{[]string{"DISPLAY=:0", "TERMINAL=/usr/bin/xterm -ls"}, []string{"xterm*", "kitty"}},
		{[]string{"WAYLAND_DISPLAY=wayland-0"}, []string{"kitty*", "foot"}},
		{nil, nil},
	} {
		if diff := cmp.Diff(c.want, ids(c.env...)); diff != "" {
			t.Errorf("%v: %s", c.env, diff)
		}
	}
	app := t.TempDir()
	if err := os.Mkdir(filepath.Join(app, "iTerm.app"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := New(Options{GOOS: "darwin", Applications: []string{app}}).List()
	if len(got) != 1 || got[0].ID != "iterm2" || !got[0].Default {
		t.Errorf("%+v", got)
	}
}

// runScript runs a launch script without a terminal app.
func runScript(t *testing.T, spec LaunchSpec) (*Launch, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	fake := filepath.Join(t.TempDir(), "xterm")
	text := "#!/bin/sh\nfor last; do :; done\nSHELL=/bin/true WINDOWID=77 exec \"$last\" > " + out + " 2>&1\n"
	if err := os.WriteFile(fake, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	exits := processes.NewExitWatcher()
	n := New(Options{
		GOOS: "linux", Exits: exits,
		Env: []string{"PATH=" + filepath.Dir(fake) + ":" + os.Getenv("PATH"), "DISPLAY=:0", "WINDOWID=1", "TMUX=x"},
	})
	spec.RunDir = t.TempDir()
	l, err := n.Open(t.Context(), "xterm", spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		<-l.ended
		exits.Close()
	})
	return l, out
}

func TestLaunchScriptReports(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "go")
	l, out := runScript(t, LaunchSpec{
		Argv: []string{"sh", "-c", `echo "pid $$ $MY_HOME $(pwd)"; while [ ! -e "` + fifo + `" ]; do sleep 0.05; done; exit 4`},
		Env:  map[string]string{"MY_HOME": "it's $HOME"}, Cwd: dir, Title: "t",
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := l.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Agent.Alive() || r.Agent.Pid == r.Shell || r.Env["WINDOWID"] != "77" || r.Env["TMUX"] != "" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "run")); !os.IsNotExist(err) {
		t.Error("the script did not delete itself")
	}
	if _, ended := l.ExitCode(); ended {
		t.Error("ended while it runs")
	}
	if err := os.WriteFile(fifo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, ended := l.ExitCode(); return ended })
	if code, _ := l.ExitCode(); code != 4 {
		t.Errorf("exit code %d", code)
	}
	// The code is left for us first, the line for the person comes after it.
	var b []byte
	waitFor(t, func() bool { b, _ = os.ReadFile(out); return strings.Contains(string(b), "[exit code ") })
	want := "pid " + fmtUint(uint64(r.Agent.Pid)) + " it's $HOME " + dir + "\n"
	if !strings.HasPrefix(string(b), want) || !strings.Contains(string(b), "[exit code 4]") {
		t.Errorf("%q, want %q", b, want)
	}
	info, err := os.Stat(l.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Case X03, the command's part: nothing of a title, a folder, an argument or
// a variable is run by a shell.
func TestCaseX03_NothingIsInjected(t *testing.T) {
	base := t.TempDir()
	trap := filepath.Join(base, "trap")
	evil := "$(touch " + trap + ")`touch " + trap + "`'\"; touch " + trap + " #\u202e\n\x01\\"
	dir := filepath.Join(base, strings.ReplaceAll(evil, "/", "_"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, out := runScript(t, LaunchSpec{
		Argv: []string{"printf", "%s|", evil, "-n", "", "*", "~"},
		Env:  map[string]string{"EVIL": evil}, Cwd: dir, Title: evil,
	})
	waitFor(t, func() bool { _, ended := l.ExitCode(); return ended })
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := evil + "|-n||*|~|"; string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
	if _, err := os.Stat(trap); !os.IsNotExist(err) {
		t.Error("a text was run as a command")
	}
	if _, err := script("id", "/d", LaunchSpec{Argv: []string{"x"}, Cwd: "/", Env: map[string]string{"A;touch x": "1"}}); err == nil {
		t.Error("a variable's name with a command in it was taken")
	}
	if _, err := script("id", "/d", LaunchSpec{Argv: []string{"a\x00b"}, Cwd: "/"}); err == nil {
		t.Error("a NUL byte was taken")
	}
}

func TestOpenRefuses(t *testing.T) {
	n := New(Options{GOOS: "linux", Env: []string{"PATH=/nowhere"}})
	for choice, want := range map[string]string{"xterm": "not installed", "nonsense": "not a known", "iterm2": "not a known"} {
		if _, err := n.Open(t.Context(), choice, LaunchSpec{Argv: []string{"x"}, Cwd: "/"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", choice, err)
		}
	}
}

func TestDisplayAndCookie(t *testing.T) {
	for in, want := range map[string]string{":0": "|0", ":99.0": "|99", "host:10.0": "host|10", "": "!", ":x": "!"} {
		h, n, err := parseDisplay(in)
		got := h + "|" + n
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	entry := func(number, key string) string {
		out := "\x01\x00"
		for _, f := range []string{"host", number, "MIT-MAGIC-COOKIE-1", key} {
			out += string([]byte{0, byte(len(f))}) + f
		}
		return out
	}
	path := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(path, []byte(entry("1", "one")+entry("7", "seven")+entry("", "any")), 0o600); err != nil {
		t.Fatal(err)
	}
	if string(cookie(path, "7")) != "seven" || string(cookie(path, "9")) != "any" || cookie("", "7") != nil {
		t.Error("wrong cookie")
	}
}

func FuzzCookie(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x01a\x00\x010\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := cookieIn(b, "0"); len(got) > len(b) {
			t.Fatalf("%d bytes out of %d", len(got), len(b))
		}
	})
}

func fmtUint(n uint64) string { return strconv.FormatUint(n, 10) }
