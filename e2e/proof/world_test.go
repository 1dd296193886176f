//go:build agents && linux

package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/host"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/e2e/agents"
	"github.com/whippletree-app/whippletree/e2e/display"
	"github.com/whippletree-app/whippletree/e2e/modelserver"
)

// patience bounds what has no deadline of its own on a loaded machine.
const patience = 40 * time.Second

// world is one person's home with a host, an agent and a scripted model.
type world struct {
	t      *testing.T
	home   string
	cwd    string
	claude string // the real program
	model  *modelserver.Server
	screen *display.Session // nil: no display
	data   string           // of the host, below home
	env    []string
	host   *exec.Cmd
	ended  chan struct{}
	client *api.Client
}

type setting struct {
	claude, display bool
	settings        string
}

// key is what the agent is given as its key; the scripted model asks for none.
const key = "sk-test-dummy-key-0000"

func newWorld(t *testing.T, s setting) *world {
	t.Helper()
	w := &world{t: t, data: "w"}
	set := map[string]string{"WHIPPLETREE_SKIP_SHELL": "1"}
	if s.claude {
		w.claude = agents.Binary(t, "claude-code", "claude")
		var err error
		if w.model, err = modelserver.New(scenes...); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.model.Close() })
		set["PATH"] = filepath.Dir(w.claude) + string(os.PathListSeparator) + os.Getenv("PATH")
		for k, v := range map[string]string{
			"ANTHROPIC_BASE_URL": w.model.URL(), "ANTHROPIC_API_KEY": key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			"DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_RETRIES": "2",
		} {
			set[k] = v
		}
	}
	w.home = agents.Home(t)
	w.cwd = filepath.Join(w.home, "proj")
	set["WHIPPLETREE_HOME"] = filepath.Join(w.home, w.data)
	set["TMPDIR"] = filepath.Join(w.home, "tmp")
	for _, d := range []string{w.cwd, set["WHIPPLETREE_HOME"], set["TMPDIR"]} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if s.settings == "" {
		s.settings = `{}`
	}
	w.write(filepath.Join(set["WHIPPLETREE_HOME"], "settings.json"), s.settings)
	w.acceptFolder()
	w.env = agents.Environ(w.home, set)
	if s.display {
		w.screen = desktop.get(t)
		w.env = w.screen.Env(w.env)
	}
	t.Cleanup(w.end)
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// acceptFolder answers the first-run questions of Claude Code's own interface.
func (w *world) acceptFolder() {
	w.t.Helper()
	state, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark",
		"customApiKeyResponses": map[string]any{"approved": []string{key[2:]}, "rejected": []string{}},
		"projects":              map[string]any{w.cwd: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(filepath.Join(w.home, ".claude.json"), string(state))
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// serve starts the host and connects to it.
func (w *world) serve() {
	w.t.Helper()
	log, err := os.OpenFile(filepath.Join(w.home, w.data+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	w.host = exec.Command(binary, "serve", "--keep")
	w.host.Env, w.host.Dir, w.host.Stdout, w.host.Stderr = w.env, w.home, log, log
	bound(w.host)
	if err := w.host.Start(); err != nil {
		w.t.Fatal(err)
	}
	cmd, ended := w.host, make(chan struct{})
	w.ended = ended
	go func() { _ = cmd.Wait(); close(ended) }()
	w.connect()
}

func (w *world) connect() {
	w.t.Helper()
	ctx := w.ctx()
	opts := api.ClientOptions{Hello: api.Hello{Client: "test"}, Dial: api.DialSocket(host.SocketPath(filepath.Join(w.home, w.data)))}
	for {
		c, err := api.NewClient(ctx, opts)
		if err == nil {
			w.client = c
			w.t.Cleanup(c.Close)
			return
		}
		select {
		case <-w.ended:
			w.t.Fatalf("the host ended: %v\n%s", err, w.log())
		case <-ctx.Done():
			w.t.Fatalf("no host: %v\n%s", err, w.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// free waits until no host has this home.
func (w *world) free() {
	w.t.Helper()
	w.eventually("the host of one command to end", func() bool {
		_, ok := host.FindRunning(filepath.Join(w.home, w.data))
		return !ok
	})
}

// eventually waits for what tells nobody: files and processes.
func (w *world) eventually(what string, cond func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// second is another host for the same person, with data of its own.
func (w *world) second() *world {
	w.t.Helper()
	o := *w
	o.data, o.host, o.client = "w2", nil, nil
	o.env = slices.Clone(w.env)
	for i, kv := range o.env {
		if strings.HasPrefix(kv, "WHIPPLETREE_HOME=") {
			o.env[i] = "WHIPPLETREE_HOME=" + filepath.Join(w.home, o.data)
		}
	}
	o.serve()
	w.t.Cleanup(o.stop)
	return &o
}

// adopt opens a stored conversation and reads it to its end.
func (w *world) adopt(harness string, h *agent.Handle) *view {
	w.t.Helper()
	got := call[api.ChatResult](w, "chats.create", api.CreateChat{ClientID: "adopted", Harness: harness, Kind: agent.KindWorkspace, Cwd: w.cwd, Adopt: h})
	v := w.view(got.Chat.ID)
	v.hand(model.HandApp)
	return v
}

// kill ends the host as a crash would.
func (w *world) kill() {
	w.t.Helper()
	if err := w.host.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	<-w.ended
	w.client.Close()
}

func (w *world) log() string {
	b, _ := os.ReadFile(filepath.Join(w.home, w.data+".log"))
	return string(b)
}

// stop ends the host as a logout does.
func (w *world) stop() {
	if w.host == nil {
		return
	}
	_ = w.host.Process.Signal(syscall.SIGTERM)
	select {
	case <-w.ended:
	case <-time.After(patience):
		w.t.Error("the host did not end after TERM")
		_ = w.host.Process.Kill()
		<-w.ended
	}
}

// end stops the host and looks that nothing of this home is left running.
func (w *world) end() {
	w.stop()
	var left []int
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = w.processes(); len(left) == 0 {
			break
		}
	}
	for _, pid := range left {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		w.t.Errorf("left running: %d %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		_ = syscall.Kill(pid, syscall.SIGKILL) // it has this test's home in its environment
	}
	if w.t.Failed() {
		w.t.Logf("the host's log:\n%s", w.log())
	}
}

// processes lists what runs with this home in its environment.
func (w *world) processes() (list []int) {
	mark := []byte("HOME=" + w.home + "\x00")
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil || !bytes.Contains(env, mark) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(d)); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// cli runs a command of the program as this person would.
func (w *world) cli(args ...string) (string, error) {
	cmd := exec.CommandContext(w.ctx(), binary, args...)
	cmd.Env, cmd.Dir = w.env, w.cwd
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

func call[R any](w *world, method string, params any) R {
	w.t.Helper()
	r, err := api.Call[R](w.ctx(), w.client, method, params)
	if err != nil {
		w.t.Fatalf("%s: %v", method, err)
	}
	return r
}
