package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/whippletree-app/whippletree/backend/processes"
)

func TestWhichEditorAndHow(t *testing.T) {
	has := func(names ...string) func(string) (string, error) {
		return func(name string) (string, error) {
			if slices.Contains(names, name) {
				return "/bin/" + name, nil
			}
			return "", errors.New("not there")
		}
	}
	for _, c := range []struct {
		name     string
		command  []string
		env      []string
		look     func(string) (string, error)
		want     string
		terminal bool
	}{
		{"the settings say all of it", []string{"ed", "-x", "{file}", "at", "{line}"}, []string{"EDITOR=vim"}, has(), "ed -x /p/a b.go at 12", false},
		{"the settings name a program", []string{"/opt/zed"}, nil, has(), "/opt/zed /p/a b.go:12", false},
		{"VISUAL before EDITOR", nil, []string{"EDITOR=nano", "VISUAL=code --wait"}, has(), "code --wait --goto /p/a b.go:12", false},
		{"an editor of the terminal", nil, []string{"EDITOR=/usr/bin/nvim"}, has(), "/usr/bin/nvim +12 /p/a b.go", true},
		{"an unknown EDITOR runs in a terminal", nil, []string{"EDITOR=odd"}, has(), "odd /p/a b.go", true},
		{"the first that is there", nil, nil, has("vi", "kate"), "/bin/kate --line 12 /p/a b.go", false},
		{"only vi", nil, []string{"EDITOR="}, has("vi"), "/bin/vi +12 /p/a b.go", true},
		{"none", nil, nil, has(), "", false},
	} {
		e, err := chooseEditor(c.command, c.env, c.look)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %v", c.name, e)
			}
			continue
		}
		if got := strings.Join(e.at("/p/a b.go", 12), " "); err != nil || got != c.want || e.terminal != c.terminal {
			t.Errorf("%s: %q, in a terminal %v, %v; want %q, %v", c.name, got, e.terminal, err, c.want, c.terminal)
		}
	}
	// A name cannot become the program, nor a placeholder be filled twice.
	if got := (editor{argv: []string{"{file}", "{file}"}}).at("/p/{line}", 3); got[0] != "{file}" || got[1] != "/p/{line}" {
		t.Errorf("%q", got)
	}
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "-rf.go")
	for _, f := range []string{file, filepath.Join(home, "n.md")} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"-rf.go": file, file: file, "sub/../-rf.go": file, "~/n.md": filepath.Join(home, "n.md")} {
		if got, err := plainFile(path, dir, home); err != nil || got != want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	for _, path := range []string{"", "gone.go", pipe, ".", "/dev/null", "a\x00b", "a\nb", "a\x1b[2J", strings.Repeat("a", 5000), "https://example.org/a"} {
		if got, err := plainFile(path, dir, home); err == nil {
			t.Errorf("%q is opened as %s", path, got)
		}
	}
	if _, err := plainFile("-rf.go", "", home); err == nil {
		t.Error("a relative path without a folder")
	}
}

func TestAnEditorIsStartedApart(t *testing.T) {
	exits := processes.NewExitWatcher()
	defer exits.Close()
	dir := t.TempDir()
	script := filepath.Join(dir, "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n[ \"$1\" != bad ] || exit 3\necho \"$1\" > told\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + dir + ":/usr/bin:/bin"}
	if err := startApart(t.Context(), exits, []string{script, "/p/$(touch x); a.go"}, dir, env); err != nil {
		t.Fatal(err)
	}
	if told, _ := os.ReadFile(filepath.Join(dir, "told")); string(told) != "/p/$(touch x); a.go\n" {
		t.Errorf("the editor got %q", told)
	}
	var exit *exec.ExitError
	if err := startApart(t.Context(), exits, []string{script, "bad"}, dir, env); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("a start that fails: %v", err)
	}
	if _, err := lookPath("./editor", env); err == nil {
		t.Error("a relative program is found")
	}
	if path, err := lookPath("editor", env); err != nil || path != script {
		t.Errorf("%s, %v", path, err)
	}
}
