package shell

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is the host of these tests: FAKE_HOST is the socket it
// listens on until it is killed, FAKE_HOST_FAILS what it says before it fails.
func TestMain(m *testing.M) {
	if why := os.Getenv("FAKE_HOST_FAILS"); why != "" {
		fmt.Fprintln(os.Stderr, why)
		os.Exit(3)
	}
	if path := os.Getenv("FAKE_HOST"); path != "" {
		_ = os.Remove(path)
		l, err := net.Listen("unix", path)
		if err != nil {
			os.Exit(4)
		}
		for {
			c, err := l.Accept()
			if err != nil {
				os.Exit(5)
			}
			fmt.Fprintln(c, os.Getpid())
		}
	}
	goleak.VerifyTestMain(m)
}

func fakeHost(t *testing.T, env ...string) (*Launcher, *atomic.Pointer[error]) {
	t.Helper()
	dir, err := os.MkdirTemp("", "shell")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "h.sock")
	var told atomic.Pointer[error]
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := NewLauncher(LauncherOptions{
		Connect: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
		Argv:   []string{self},
		Env:    append(os.Environ(), append(env, "FAKE_HOST="+path)...),
		Stderr: filepath.Join(dir, "logs", "host.err"),
		Failed: func(err error) { told.CompareAndSwap(nil, &err) },
	})
	t.Cleanup(func() {
		l.Stop()
		if pid := l.Pid(); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			<-l.child.done
		}
		_ = os.RemoveAll(dir)
	})
	return l, &told
}

func dialPid(t *testing.T, l *Launcher) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := l.Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var pid int
	if _, err := fmt.Fscan(c, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestLauncherStartsOnceAndAgainAfterKill(t *testing.T) {
	l, told := fakeHost(t)
	if err := l.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	first := l.Pid()
	if got := dialPid(t, l); got != first {
		t.Fatalf("dialled %d, prepared %d", got, first)
	}
	if got := dialPid(t, l); got != first {
		t.Fatalf("a second dial reached %d, not %d", got, first)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-l.child.done
	second := dialPid(t, l)
	if second == first || second != l.Pid() {
		t.Fatalf("after the kill: %d, %d, %d", first, second, l.Pid())
	}
	if told.Load() != nil {
		t.Error("a killed host is no failure to tell")
	}
}

func TestLauncherAttachesToARunningHost(t *testing.T) {
	l, _ := fakeHost(t)
	pid := dialPid(t, l)
	other := NewLauncher(LauncherOptions{Connect: l.opts.Connect, Argv: []string{"/no/such/program"}})
	if got := dialPid(t, other); got != pid {
		t.Fatalf("reached %d, not %d", got, pid)
	}
	if other.Pid() != 0 {
		t.Error("it started a host of its own")
	}
}

func TestLauncherTellsWhyAHostFails(t *testing.T) {
	l, told := fakeHost(t, "FAKE_HOST_FAILS=the database is of a newer version")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := l.Dial(ctx)
	if err == nil {
		t.Fatal("it connected")
	}
	why := told.Load()
	if why == nil {
		t.Fatal("nobody was told")
	}
	if !strings.Contains((*why).Error(), "newer version") {
		t.Errorf("told %v", *why)
	}
}

func TestLauncherStopped(t *testing.T) {
	l, _ := fakeHost(t)
	l.Stop()
	if _, err := l.Dial(context.Background()); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if l.Pid() != 0 {
		t.Error("started after Stop")
	}
}
