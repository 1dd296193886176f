package terminals

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/whippletree-app/whippletree/backend/processes"
)

// Two terminals in one folder, the same agent behind three wrappers in each,
// one that made a session of its own, and a decoy outside: each process is
// bound to the right terminal and the decoy to none.
func TestBindingByAncestry(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	agent := write("agent", "#!/bin/sh\necho $$ > \"$1.tmp\"\nmv \"$1.tmp\" \"$1\"\nexec sleep 600\n")
	inner := write("inner", "#!/bin/sh\n"+agent+" \"$1\"\nexit\n")
	wrap := write("wrap", "#!/bin/sh\nenv WRAPPED=1 sh -c '"+inner+" \"$1\"; true' x \"$1\"\ntrue\n")

	started := func(name string) int {
		var pid int
		waitFor(t, func() bool {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
			}
			return err == nil
		})
		return pid
	}
	spec := CreateSpec{Cwd: dir}
	one, err := f.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	two, err := f.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	f.type_(one.ID, wrap+" pid1\r")
	f.type_(two.ID, wrap+" pid2\r")
	decoy := exec.Command("sh", wrap, "pid3")
	decoy.Dir = dir
	if err := decoy.Start(); err != nil {
		t.Fatal(err)
	}
	third := started("pid3")
	defer func() {
		_ = mustIdentify(t, third).Signal(syscall.SIGKILL) // its wrappers end with it
		_ = decoy.Wait()
	}()
	first, second := started("pid1"), started("pid2")

	table, err := processes.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]string{first: one.ID, second: two.ID, third: "", os.Getpid(): "", one.Pid: one.ID} {
		got, ok := f.Of(table, pid)
		if got != want || ok != (want != "") {
			t.Errorf("pid %d by the table: %q %v, want %q", pid, got, ok, want)
		}
		if got, _ := f.ByPid(pid); got != want {
			t.Errorf("pid %d alone: %q, want %q", pid, got, want)
		}
	}
	if n := len(table.Ancestors(first)); n < 4 {
		t.Errorf("only %d ancestors: the wrappers are missing", n)
	}
	p, _ := table.Get(first)
	if got, ok := f.Owns(p.Sid, 0); !ok || got != one.ID {
		t.Errorf("by session: %q", got)
	}
	if got, ok := f.Owns(0, p.TTY); !ok || got != one.ID {
		t.Errorf("by terminal: %q", got)
	}
	if _, ok := f.Owns(0, 0); ok {
		t.Error("nothing is owned by a terminal")
	}
	if g, ok := f.Foreground(one.ID); !ok || g == one.Pid {
		t.Errorf("foreground group %d", g)
	}

	// One in a session of its own still descends from the terminal.
	if err := f.Close(context.Background(), two.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Of(table, second); ok {
		t.Error("bound to a closed terminal")
	}
	f.type_(one.ID, "\x03")
	f.type_(one.ID, "setsid --wait sh "+agent+" pid4\r")
	own := started("pid4")
	if got, _ := f.ByPid(own); got != one.ID {
		t.Errorf("in its own session: %q", got)
	}
	_ = mustIdentify(t, own).Signal(syscall.SIGKILL)
}

func mustIdentify(t *testing.T, pid int) processes.Identity {
	t.Helper()
	id, err := processes.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
