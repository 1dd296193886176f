package processes

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// Case P03: a recorded pid that now belongs to something else is ended.
func TestCaseP03_PidReuseAndReboot(t *testing.T) {
	c := shell(t, "exec sleep 600")
	id := c.Identity()
	if !id.Alive() {
		t.Fatal("a running process is not alive")
	}
	again, err := Identify(id.Pid)
	if err != nil || again != id {
		t.Errorf("%v %v", again, err)
	}
	reused := id
	reused.Start = 1
	rebooted := id
	rebooted.Boot = "00000000-0000-0000-0000-000000000000"
	if reused.Alive() || rebooted.Alive() || (Identity{}).Alive() {
		t.Error("another process passed as the recorded one")
	}
	w := NewExitWatcher()
	defer w.Close()
	if _, err := w.Watch(reused, func() { t.Error("called") }); !errors.Is(err, ErrGone) {
		t.Errorf("watching a reused pid: %v", err)
	}
	if err := reused.Signal(syscall.SIGKILL); !errors.Is(err, ErrGone) || !id.Alive() {
		t.Errorf("signal to a reused pid: %v", err)
	}
}

// Case P08: what cannot be read degrades that process only.
func TestCaseP08_UnreadableProcessFacts(t *testing.T) {
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	pid := zombie.Process.Pid
	waitFor(t, func() bool { p, err := ReadUnreaped(pid); return err == nil && p.Zombie })
	if _, err := Identify(pid); !errors.Is(err, ErrGone) {
		t.Errorf("a zombie is not gone: %v", err)
	}
	for name, read := range map[string]func(int) ([]string, error){"argv": Argv, "environ": Environ} {
		var fact *FactError
		if v, err := read(pid); !errors.Is(err, ErrGone) && !errors.Is(err, ErrDenied) || !errors.As(err, &fact) {
			t.Errorf("%s of a zombie: %q %v", name, v, err)
		}
	}
	if _, err := Cwd(pid); err == nil {
		t.Error("a zombie has a working directory")
	}
	table, err := Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := table.Get(pid); !ok || !p.Zombie {
		t.Error("the zombie is not in the table")
	}
	// In a container the session's leader may be outside: then it is 0 for all.
	sid, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	if self, ok := table.Get(os.Getpid()); !ok || self.UID != os.Geteuid() || self.Sid != sid {
		t.Errorf("this process: uid %d, session %d of %d: %+v", self.UID, self.Sid, sid, self)
	}
	_ = zombie.Wait()

	long := strings.Repeat("x", 120<<10) // the most one argument may have
	args := []string{"-c", "read x"}
	for range 14 {
		args = append(args, long)
	}
	big := exec.Command("sh", args...)
	stdin, err := big.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close(); _ = big.Wait() }()
	waitFor(t, func() bool { argv, err := Argv(big.Process.Pid); return err == nil && len(argv) > 0 })
	argv, err := Argv(big.Process.Pid)
	if err != nil || len(argv) != 17 || argv[16] != long {
		t.Errorf("big argv: %d parts, %v", len(argv), err)
	}
}

func TestFactsOfThisProcess(t *testing.T) {
	argv, err := Argv(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(os.Args, argv); diff != "" {
		t.Error(diff)
	}
	wd, _ := os.Getwd()
	if got, err := Cwd(os.Getpid()); err != nil || got != wd {
		t.Errorf("%q %v", got, err)
	}
	exe, _ := os.Executable()
	if got, err := Exe(os.Getpid()); err != nil || got != exe {
		t.Errorf("%q %v", got, err)
	}
	if _, err := Environ(1 << 22); !errors.Is(err, ErrGone) {
		t.Errorf("environment of nobody: %v", err)
	}
}

func TestAncestorsAndChildren(t *testing.T) {
	c := shell(t, `sh -c 'sleep 600; true'; true`)
	waitFor(t, func() bool {
		table, err := Snapshot()
		return err == nil && len(table.Descendants(c.Identity().Pid)) == 2
	})
	table, _ := Snapshot()
	down := table.Descendants(c.Identity().Pid)
	up := table.Ancestors(down[1].Pid)
	if len(up) < 3 || up[0].Pid != down[0].Pid || up[1].Pid != c.Identity().Pid || up[2].Pid != os.Getpid() {
		t.Errorf("ancestors %+v", up)
	}
	if g := table.Group(c.Identity().Pid); len(g) != 3 {
		t.Errorf("group %+v", g)
	}
}

func TestAncestorsEnd(t *testing.T) {
	row := func(pid, ppid int, start uint64) Proc {
		return Proc{Identity: Identity{Pid: pid, Start: start}, Ppid: ppid}
	}
	// 7's parent started after it: another process got that pid.
	table := NewTable([]Proc{row(1, 0, 0), row(2, 3, 5), row(3, 2, 5), row(6, 1, 9), row(7, 6, 4)})
	if up := table.Ancestors(7); len(up) != 0 {
		t.Errorf("%+v", up)
	}
	if up := table.Ancestors(2); len(up) != maxAncestors {
		t.Errorf("a cycle gave %d", len(up))
	}
	if down := table.Descendants(2); len(down) != 1 {
		t.Errorf("%+v", down)
	}
}

func TestExitWatcherSeesForeignProcesses(t *testing.T) {
	c := shell(t, `sleep 600 & echo $!; wait`)
	buf := make([]byte, 32)
	n, err := c.Stdout.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for _, b := range buf[:n] {
		if b >= '0' && b <= '9' {
			pid = pid*10 + int(b-'0')
		}
	}
	id, err := Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	w := NewExitWatcher()
	defer w.Close()
	ended := make(chan struct{}, 2)
	if _, err := w.Watch(id, func() { ended <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	stop, err := w.Watch(id, func() { t.Error("called after stop") })
	if err != nil {
		t.Fatal(err)
	}
	stop()
	stop()
	_ = id.Signal(syscall.SIGKILL)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the exit was not told within 5 s")
	}
	if id.Alive() {
		t.Error("alive after its end")
	}
}

func TestExitWatcherClosesWithWatchesOpen(t *testing.T) {
	c := shell(t, "sleep 600")
	there := goleak.IgnoreCurrent()
	w := NewExitWatcher()
	for range 50 {
		if _, err := w.Watch(c.Identity(), func() { t.Error("called") }); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	goleak.VerifyNone(t, there)
	if _, err := w.Watch(c.Identity(), func() {}); err == nil {
		t.Error("a closed watcher watches")
	}
}
