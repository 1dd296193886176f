package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/host"
	"github.com/whippletree-app/whippletree/backend/model"
)

// binary is the real program, built once; terminalProgram a shell whose process
// is named like a terminal app, so that what runs below it is a person's.
var binary, terminalProgram string

func TestMain(m *testing.M) {
	if note := os.Getenv("WHIPPLETREE_TEST_WINDOW"); note != "" {
		actWindow(note)
		return
	}
	dir, err := os.MkdirTemp("", "whippletree-cli")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "whippletree")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s\n", out)
		os.Exit(1)
	}
	terminalProgram = filepath.Join(dir, "xterm")
	sh, err := os.ReadFile("/bin/sh")
	if err == nil {
		err = os.WriteFile(terminalProgram, sh, 0o700)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// world is one home with the real program.
type world struct {
	t          *testing.T
	home, work string
	user       string
	extra      []string // of the environment
}

func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work"), user: filepath.Join(dir, "user")}
	for _, d := range []string{w.home, w.work, w.user} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if settings == "" {
		settings = `{"harnesses": {"rehearsal": {"args": ["--pace", "none"]}}}`
	}
	if err := os.WriteFile(filepath.Join(w.home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) env() []string {
	return append([]string{
		"PATH=/usr/bin:/bin", "SHELL=/bin/sh", "TERM=dumb", "HOME=" + w.user,
		"WHIPPLETREE_HOME=" + w.home, "WHIPPLETREE_SKIP_SHELL=1",
	}, w.extra...)
}

func (w *world) command(argv ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = w.env(), w.work
	cmd.WaitDelay = time.Second
	return cmd
}

type result struct {
	code     int
	out, err string
}

func (w *world) finish(cmd *exec.Cmd) result {
	w.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// cli runs a command that descends from no terminal.
func (w *world) cli(args ...string) result {
	w.t.Helper()
	return w.finish(w.command(append([]string{binary}, args...)...))
}

// person runs a command as if typed in a terminal.
func (w *world) person(args ...string) result {
	w.t.Helper()
	return w.finish(w.command(append([]string{terminalProgram, "-c", `"$@"; exit $?`, "sh", binary}, args...)...))
}

// background is a running command with its output.
type background struct {
	*exec.Cmd
	out, err bytes.Buffer
	done     chan struct{}
}

func (w *world) start(argv ...string) *background {
	w.t.Helper()
	b := &background{Cmd: w.command(argv...), done: make(chan struct{})}
	b.Stdout, b.Stderr = &b.out, &b.err
	if err := b.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { _ = b.Wait(); close(b.done) }()
	w.t.Cleanup(func() {
		_ = b.Process.Kill()
		<-b.done
	})
	return b
}

func (b *background) exit(t *testing.T) int {
	t.Helper()
	within(t, b.done)
	return b.ProcessState.ExitCode()
}

// serve starts a host that stays and waits until it answers.
func (w *world) serve(args ...string) *background {
	w.t.Helper()
	b := w.start(append([]string{binary, "serve"}, args...)...)
	w.client(api.ClientOptions{}).Close()
	w.t.Cleanup(func() {
		_ = b.Process.Signal(syscall.SIGTERM)
		select {
		case <-b.done:
		case <-time.After(20 * time.Second):
			w.t.Error("the host did not end after TERM")
		}
	})
	return b
}

// client connects to the running host, waiting until it answers.
func (w *world) client(opts api.ClientOptions) *api.Client {
	w.t.Helper()
	opts.Dial = (&program{home: w.home}).dialer()
	opts.Hello.Client = "test"
	ctx, cancel := context.WithTimeout(w.t.Context(), 15*time.Second)
	defer cancel()
	for {
		c, err := api.NewClient(ctx, opts)
		if err == nil {
			w.t.Cleanup(c.Close)
			return c
		}
		select {
		case <-ctx.Done():
			w.t.Fatal("no host: ", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// gone waits until no host has the home.
func (w *world) gone() {
	w.t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		if _, ok := host.FindRunning(w.home); !ok {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal("the host still runs")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func within[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came within thirty seconds")
		panic("unreachable")
	}
}

// cards follows the open approvals.
func cards(t *testing.T, c *api.Client) <-chan model.ApprovalCard {
	t.Helper()
	ch := make(chan model.ApprovalCard, 64)
	put := func(raw json.RawMessage) {
		var card model.ApprovalCard
		if json.Unmarshal(raw, &card) == nil {
			ch <- card
		}
	}
	_, err := c.Subscribe(t.Context(), api.TopicApprovals, api.Subscriber{
		Snapshot: func(raw json.RawMessage) {
			var list []json.RawMessage
			_ = json.Unmarshal(raw, &list)
			for _, x := range list {
				put(x)
			}
		},
		Event: func(e api.Event) {
			if e.Type == api.EventUpsert {
				put(e.Data)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func (w *world) chats() []model.ChatSummary {
	w.t.Helper()
	r := w.cli("chats", "--json")
	var got api.Chats
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
		w.t.Fatalf("%v %+v", err, r)
	}
	return got.Chats
}

func jsonLines(t *testing.T, out string) []map[string]any {
	t.Helper()
	var list []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, m)
	}
	return list
}
