package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/host"
	"github.com/whippletree-app/whippletree/backend/model"
)

func TestRunStartsAHostForItsOwnTime(t *testing.T) {
	w := newWorld(t, "")
	r := w.cli("run", "--provider", "rehearsal", "hello")
	if r.code != 0 || !strings.Contains(r.out, "I am **Rehearsal**") {
		t.Fatalf("%+v", r)
	}
	w.gone()
	r = w.cli("run", "--provider", "rehearsal", "--json", "hello")
	lines := jsonLines(t, r.out)
	if first, last := lines[0], lines[len(lines)-1]; r.code != 0 || first["type"] != "chat" || last["type"] != "end" || last["outcome"] != "completed" {
		t.Fatalf("%+v", r)
	}
	w.gone()
	if r := w.cli("run", "--provider", "rehearsal", "fail"); r.code != exitFailed || !strings.Contains(r.err, "the turn failed") {
		t.Errorf("a failed turn: %+v", r)
	}
	if r := w.cli("run", "--provider", "nobody", "x"); r.code != exitNotFound || !strings.Contains(r.err, "try: whippletree providers") {
		t.Errorf("an unknown agent: %+v", r)
	}
	if r := w.cli("run"); r.code != exitUsage {
		t.Errorf("no text: %+v", r)
	}
}

// Case of DECISIONS 13: an approval is a person's to answer.
func TestOnlyAPersonAnswers(t *testing.T) {
	w := newWorld(t, "")
	w.serve("--keep")
	run := w.start(binary, "run", "--provider", "rehearsal", "edit")
	open := cards(t, w.client(api.ClientOptions{}))
	card := within(t, open)

	if r := w.cli("approve", card.ID, "yes"); r.code != exitNotAllowed {
		t.Errorf("a command below no terminal: %+v", r)
	}
	// Double-forked: its parent is the first process, as an agent's child could be.
	r := w.finish(w.command("/bin/sh", "-c", `( (setsid "$0" approve "$1" yes; echo $? > "$2") & ); while [ ! -s "$2" ]; do sleep 0.05; done; cat "$2"`,
		binary, card.ID, filepath.Join(w.work, "rc")))
	if strings.TrimSpace(r.out) != "6" {
		t.Errorf("double-forked: %+v", r)
	}
	// What would make an answer needless is a person's as well.
	if r := w.cli("run", "--provider", "rehearsal", "--mode", "free", "edit"); r.code != exitNotAllowed {
		t.Errorf("a mode below no terminal: %+v", r)
	}
	if _, err := api.Call[api.TerminalResult](t.Context(), w.client(api.ClientOptions{}), "terminals.create", api.CreateTerminal{Argv: []string{binary, "approve", card.ID, "yes"}}); codeText(err) != api.CodeNotAllowed {
		t.Errorf("a terminal below no terminal: %v", err)
	}
	if r := w.person("approve", card.ID, "no-such-option"); r.code != exitUsage {
		t.Errorf("an option that was not offered: %+v", r)
	}
	if r := w.person("approve", card.ID, "yes"); r.code != 0 {
		t.Fatalf("a person: %+v", r)
	}
	if code := run.exit(t); code != 0 {
		t.Fatalf("run: %d\n%s\n%s", code, run.out.String(), run.err.String())
	}
	c := w.client(api.ClientOptions{})
	audit, err := api.Call[api.Audit](t.Context(), c, "approvals.audit", api.AuditRequest{})
	if err != nil || len(audit.Entries) == 0 {
		t.Fatal(audit, err)
	}
	if got := audit.Entries[0]; len(got.Refused) != 2 || got.Answer == nil || got.Answer.OptionID != "yes" {
		t.Errorf("refused %+v, answer %+v", got.Refused, got.Answer)
	}
	if r := w.person("approve", card.ID, "yes"); r.code == 0 {
		t.Errorf("answered twice: %+v", r)
	}
}

func TestKilledHostLeavesAnInterruptedTurnThatGoesOn(t *testing.T) {
	w := newWorld(t, "")
	h := w.serve("--keep")
	run := w.start(binary, "run", "--provider", "rehearsal", "edit")
	card := within(t, cards(t, w.client(api.ClientOptions{})))
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := run.exit(t); code != exitInterrupted {
		t.Errorf("run ended with %d: %s", code, run.err.String())
	}
	<-h.done
	w.serve("--keep")
	list := w.chats()
	if len(list) != 1 || list[0].LastEnd == nil || list[0].LastEnd.Outcome != agent.OutcomeInterrupted || list[0].Turn != model.TurnIdle {
		t.Fatalf("%+v", list)
	}
	if r := w.cli("approvals", "--json"); strings.Contains(r.out, card.ID) {
		t.Errorf("the approval of a dead turn is open: %s", r.out)
	}
	r := w.cli("send", list[0].ID[:8], "hello")
	if r.code != 0 || !strings.Contains(r.out, "Rehearsal") {
		t.Errorf("resumed: %+v", r)
	}
}

func TestOneHostForAHome(t *testing.T) {
	w := newWorld(t, "")
	h := w.serve("--keep")
	r := w.cli("serve")
	if r.code != 0 || !strings.Contains(r.err, "runs already") {
		t.Errorf("a second host: %+v", r)
	}
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-h.done
	// A stale socket and lock file are there; a command starts all the same.
	if _, err := os.Lstat(host.SocketPath(w.home)); err != nil {
		t.Fatal("the killed host left no socket: the test proves nothing")
	}
	if r := w.cli("chats"); r.code != 0 {
		t.Errorf("after a kill: %+v", r)
	}
	w.gone()
	if r := w.cli("host", "status"); r.code != exitNoHost {
		t.Errorf("status without a host: %+v", r)
	}
}

func TestLeases(t *testing.T) {
	w := newWorld(t, "")
	w.extra = []string{"WHIPPLETREE_GRACE=1s"}
	lease := api.ClientOptions{Hello: api.Hello{Lease: true}}

	t.Run("goodbye ends it at once", func(t *testing.T) {
		w.t = t
		h := w.start(binary, "serve")
		c := w.client(lease)
		if r, err := api.Call[api.GoodbyeResult](t.Context(), c, "host.goodbye", api.Goodbye{}); err != nil || !r.Ending {
			t.Errorf("%+v %v", r, err)
		}
		if code := h.exit(t); code != 0 {
			t.Error(code, h.err.String())
		}
	})
	t.Run("a lost connection may come back", func(t *testing.T) {
		w.t = t
		h := w.start(binary, "serve")
		w.client(lease).Close()
		c := w.client(lease)
		select {
		case <-h.done:
			t.Fatal("the host ended while somebody had a lease")
		case <-time.After(1500 * time.Millisecond):
		}
		c.Close()
		if code := h.exit(t); code != 0 {
			t.Error(code, h.err.String())
		}
	})
	t.Run("nobody came", func(t *testing.T) {
		w.t = t
		if code := w.start(binary, "serve").exit(t); code != 0 {
			t.Error(code)
		}
	})
	t.Run("keep running", func(t *testing.T) {
		w.t = t
		h := w.start(binary, "serve")
		c := w.client(lease)
		if r := w.cli("settings", "set", "general.keepRunning", "true"); r.code != exitNotAllowed {
			t.Errorf("settings of a command below no terminal: %+v", r)
		}
		if r := w.person("settings", "set", "general.keepRunning", "true"); r.code != 0 {
			t.Errorf("%+v", r)
		}
		if r, err := api.Call[api.GoodbyeResult](t.Context(), c, "host.goodbye", api.Goodbye{}); err != nil || r.Ending {
			t.Errorf("%+v %v", r, err)
		}
		if r := w.cli("host", "status", "--json"); r.code != 0 || !strings.Contains(r.out, `"keepRunning": true`) {
			t.Errorf("%+v", r)
		}
		if r := w.cli("host", "stop"); r.code != 0 {
			t.Errorf("%+v", r)
		}
		h.exit(t)
	})
}

func TestQuitTellsWhatRuns(t *testing.T) {
	w := newWorld(t, "")
	h := w.start(binary, "serve")
	c := w.client(api.ClientOptions{Hello: api.Hello{Lease: true}})
	w.start(binary, "run", "--provider", "rehearsal", "edit")
	within(t, cards(t, c))
	r, err := api.Call[api.GoodbyeResult](t.Context(), c, "host.goodbye", api.Goodbye{QuitHost: true})
	if err != nil || r.Ending || r.RunningTurns != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	r, err = api.Call[api.GoodbyeResult](t.Context(), c, "host.goodbye", api.Goodbye{QuitHost: true, Force: true})
	if err != nil || !r.Ending {
		t.Fatalf("%+v %v", r, err)
	}
	h.exit(t)
}

// A call that is open while the host dies returns, the subscription goes on
// with the next host.
func TestOpenCallWhileTheHostRestarts(t *testing.T) {
	w := newWorld(t, "")
	h := w.serve("--keep")
	infos := make(chan model.HostInfo, 8)
	c := w.client(api.ClientOptions{Reconnect: true})
	_, err := c.Subscribe(t.Context(), api.TopicHost, api.Subscriber{Snapshot: func(raw json.RawMessage) {
		var i model.HostInfo
		if json.Unmarshal(raw, &i) == nil {
			infos <- i
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	first := within(t, infos)
	if err := h.Process.Signal(syscall.SIGSTOP); err != nil { // the answer cannot come
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := api.Call[api.DoctorResult](t.Context(), c, "host.doctor", api.None{})
		answered <- err
	}()
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := within(t, answered); err != nil && !errors.Is(err, api.ErrLost) {
		t.Errorf("the open call: %v", err)
	}
	<-h.done
	w.serve("--keep")
	if second := within(t, infos); second.Epoch == first.Epoch {
		t.Error("the same host answered")
	}
}

func TestLongHome(t *testing.T) {
	w := newWorld(t, "")
	long := filepath.Join(w.home, strings.Repeat("long-", 20))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	w.home = long
	if got := host.SocketPath(long); len(got) > 100 {
		t.Fatal(got)
	}
	if r := w.cli("chats", "--json"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	w.gone()
	_ = os.Remove(filepath.Dir(host.SocketPath(long)))
}

func TestListFollowsSessions(t *testing.T) {
	w := newWorld(t, "")
	w.serve("--keep")
	ls := w.command(binary, "ls", "--watch", "--json")
	out, err := ls.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ls.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ls.Process.Kill(); _ = ls.Wait() }()
	lines := make(chan changeLine, 1024)
	go func() {
		defer close(lines)
		for d := json.NewDecoder(out); ; {
			var c changeLine
			if d.Decode(&c) != nil {
				return
			}
			lines <- c
		}
	}()
	if c := within(t, lines); c.Type != "reset" {
		t.Fatalf("%+v", c)
	}
	run := w.start(binary, "run", "--provider", "rehearsal", "edit")
	waiting := func(c changeLine) bool {
		return c.Session != nil && c.Session.Cwd == w.work && c.Session.State == model.SessionWaiting && c.Session.NeedsYou
	}
	for c := within(t, lines); !waiting(c); c = within(t, lines) {
	}
	if err := run.Process.Signal(syscall.SIGINT); err != nil { // Ctrl-C stops the turn
		t.Fatal(err)
	}
	if code := run.exit(t); code != exitCanceled {
		t.Errorf("Ctrl-C: %d %s", code, run.err.String())
	}
	done := func(c changeLine) bool {
		return c.Session != nil && c.Session.Cwd == w.work && c.Session.State != model.SessionWaiting && c.Session.State != model.SessionRunning
	}
	for c := within(t, lines); !done(c); c = within(t, lines) {
	}
}

func TestAHostThatCannotStartSaysWhy(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Mkdir(filepath.Join(w.home, "whippletree.db"), 0o700); err != nil { // no database can be opened here
		t.Fatal(err)
	}
	r := w.cli("chats")
	if r.code != exitNoHost || !strings.Contains(r.err, "the host ended at once: ") || !strings.Contains(r.err, "whippletree.db") || !strings.Contains(r.err, "try: whippletree doctor") {
		t.Errorf("%+v", r)
	}
	r = w.cli("doctor", "--json")
	if r.code != exitFailed || !strings.Contains(r.out, `"state": "error"`) || !strings.Contains(r.out, "host.log") {
		t.Errorf("%+v", r)
	}
}

// DECISIONS 2: the host of an agent's command would end with it and answer to it.
func TestACommandBelowAnAgentStartsNoHost(t *testing.T) {
	w := newWorld(t, "")
	agentProgram := filepath.Join(w.work, "claude")
	sh, err := os.ReadFile("/bin/sh")
	if err == nil {
		err = os.WriteFile(agentProgram, sh, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	below := func() *exec.Cmd { return w.command(agentProgram, "-c", `"$@"; exit $?`, "sh", binary, "chats") }
	cmd := below()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "SHELL=/bin/sh", "HOME=" + w.user}
	if r := w.finish(cmd); r.code != exitNoHost || !strings.Contains(r.err, "Claude Code") {
		t.Errorf("below an agent: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(w.user, ".local")); err == nil {
		t.Error("it left something in the home")
	}
	if r := w.finish(below()); r.code != 0 { // with a home of its own
		t.Errorf("with %s: %+v", host.HomeVariable, r)
	}
}
