package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
)

// actWindow makes this test binary a window: it registers how it is started
// again, notes its pid and stays until it is killed.
func actWindow(note string) {
	exe, _ := os.Executable()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	c, err := api.NewClient(ctx, api.ClientOptions{
		Dial: (&program{home: os.Getenv("WHIPPLETREE_HOME")}).dialer(),
		Hello: api.Hello{Client: "window", Window: "main", Lease: true, Argv: []string{exe, "-as-window"}, Env: map[string]string{
			"WHIPPLETREE_TEST_WINDOW": note, "WHIPPLETREE_HOME": os.Getenv("WHIPPLETREE_HOME"),
		}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	f, err := os.OpenFile(note, os.O_WRONLY, 0) // a pipe: the test reads
	if err != nil {
		os.Exit(1)
	}
	fmt.Fprintln(f, os.Getpid())
	_ = f.Close()
	<-c.Done() // the host ended
}

func TestAKilledWindowIsStartedAgain(t *testing.T) {
	w := newWorld(t, "")
	note := w.work + "/pids"
	if err := syscall.Mkfifo(note, 0o600); err != nil {
		t.Fatal(err)
	}
	// Both ends: the pipe never ends between two windows.
	pipe, err := os.OpenFile(note, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	pids := make(chan int, 4)
	go func() {
		for s := bufio.NewScanner(pipe); s.Scan(); {
			if pid, err := strconv.Atoi(strings.TrimSpace(s.Text())); err == nil {
				pids <- pid
			}
		}
	}()
	h := w.start(binary, "serve")
	w.client(api.ClientOptions{}).Close() // it answers
	defer func() {
		if t.Failed() {
			log, _ := os.ReadFile(w.home + "/logs/host.log")
			t.Logf("%s", log)
		}
	}()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := w.command(exe, "-as-window")
	first.Env = append(w.env(), "WHIPPLETREE_TEST_WINDOW="+note)
	first.Stderr = os.Stderr
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	pid := within(t, pids)
	if pid != first.Process.Pid {
		t.Fatal(pid)
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	again := within(t, pids)
	if again == pid {
		t.Fatal("the same process")
	}
	// The new one ends with the host.
	c := w.client(api.ClientOptions{})
	if r, err := api.Call[api.GoodbyeResult](t.Context(), c, "host.goodbye", api.Goodbye{QuitHost: true}); err != nil || !r.Ending {
		t.Errorf("%+v %v", r, err)
	}
	h.exit(t)
}
