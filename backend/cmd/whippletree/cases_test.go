//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Cases of the chat engine with the real program: the host, its socket, and
// Rehearsal with its faults as the agent.

func faults(args ...string) string {
	b, _ := json.Marshal(map[string]any{"harnesses": map[string]any{"rehearsal": map[string]any{"args": append([]string{"--pace", "none"}, args...)}}})
	return string(b)
}

// ours lists the processes that have the world's home in their environment,
// except the hosts.
func (w *world) ours() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		if err != nil || !bytes.Contains(env, []byte("WHIPPLETREE_HOME="+w.home+"\x00")) {
			continue
		}
		argv, _ := os.ReadFile(d + "/cmdline")
		if f := strings.Split(string(argv), "\x00"); len(f) > 1 && f[0] == binary && f[1] == "serve" || len(argv) == 0 {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(d))
		pids = append(pids, pid)
	}
	return pids
}

// agentPid waits for the agent of the home's only chat.
func (w *world) agentPid(t *testing.T) int {
	t.Helper()
	for range 500 {
		for _, pid := range w.ours() {
			argv, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			if strings.Contains(string(argv), "\x00rehearsal\x00") {
				return pid
			}
		}
		time.Sleep(10 * time.Millisecond) // a process tells nobody that it is there
	}
	t.Fatal("no agent runs")
	return 0
}

// turns follows the ends of a chat's turns.
func turns(t *testing.T, c *api.Client, chatID string) <-chan api.TurnChanged {
	t.Helper()
	ch := make(chan api.TurnChanged, 64)
	_, err := c.Subscribe(t.Context(), api.TopicChat+chatID, api.Subscriber{Snapshot: func(json.RawMessage) {}, Event: func(e api.Event) {
		var x api.TurnChanged
		if e.Type == api.EventTurn && json.Unmarshal(e.Data, &x) == nil && x.End != nil {
			ch <- x
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func (w *world) chat(t *testing.T, c *api.Client, client string) model.ChatSummary {
	t.Helper()
	made, err := api.Call[api.ChatResult](t.Context(), c, "chats.create", api.CreateChat{ClientID: client, Harness: "rehearsal", Kind: agent.KindWorkspace, Cwd: w.work})
	if err != nil {
		t.Fatal(err)
	}
	return made.Chat
}

func say(t *testing.T, c *api.Client, chatID, client, text string) api.SendResult {
	t.Helper()
	sent, err := api.Call[api.SendResult](t.Context(), c, "chats.send", api.SendPrompt{ChatID: chatID, ClientID: client, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

func rss(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	kb, _ := strconv.Atoi(strings.Fields(rest)[0])
	return kb << 10
}

// 50 MB of stderr before the first reply and in each turn change nothing.
func TestCaseS03_StderrFlood(t *testing.T) {
	w := newWorld(t, faults("--stderr-flood", strconv.Itoa(50<<20)))
	h := w.serve("--keep")
	before := rss(t, h.Process.Pid)
	r := w.cli("run", "--provider", "rehearsal", "hello")
	if r.code != 0 || !strings.Contains(r.out, "I am **Rehearsal**") || strings.Contains(r.out+r.err, "flood") {
		t.Errorf("%+v", r)
	}
	if grew := rss(t, h.Process.Pid) - before; grew > 64<<20 {
		t.Errorf("the host grew by %d bytes", grew)
	}
}

// The agent is killed in the middle: the turn failed, its text is kept.
func TestCaseS04_KilledInTheMiddle(t *testing.T) {
	w := newWorld(t, faults("--die-mid-turn"))
	w.serve("--keep")
	c := w.client(api.ClientOptions{})
	chat := w.chat(t, c, "c")
	ends := turns(t, c, chat.ID)
	say(t, c, chat.ID, "p", "hello")
	if end := within(t, ends).End; end.Outcome != agent.OutcomeFailed || end.Reason != "crashed" {
		t.Errorf("end = %+v", end)
	}
	got, err := api.Call[api.RowsResult](t.Context(), c, "chats.rows", api.RowsRequest{ChatID: chat.ID})
	if err != nil || len(got.Rows) < 3 {
		t.Fatal(got, err)
	}
	if last := got.Rows[len(got.Rows)-1]; got.Rows[1].Text == "" || last.Type != agent.ItemError {
		t.Errorf("%+v", got.Rows)
	}
	for _, row := range got.Rows {
		if row.Open() || row.Provisional {
			t.Errorf("%s is open", row.ID)
		}
	}
}

// An agent that ignores everything, with a child that holds its stdout: Stop ends
// the turn and the processes.
func TestCaseS04_StopOfAnAgentThatIgnoresEverything(t *testing.T) {
	t.Parallel() // it waits most of its time
	w := newWorld(t, faults("--ignore-term", "--ignore-interrupt", "--linger", "--grandchild-holds-stdout"))
	w.serve("--keep")
	c := w.client(api.ClientOptions{})
	chat := w.chat(t, c, "c")
	ends := turns(t, c, chat.ID)
	say(t, c, chat.ID, "p", "silent")
	w.agentPid(t)
	began := time.Now()
	if _, err := api.Call[api.StopResult](t.Context(), c, "chats.stop", api.ChatRef{ChatID: chat.ID}); err != nil {
		t.Fatal(err)
	}
	if end := within(t, ends).End; end.Outcome != agent.OutcomeCanceled {
		t.Errorf("end = %+v", end)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the stop took %s", took)
	}
	w.left(t)
}

// left waits until no process of the home but hosts is there.
func (w *world) left(t *testing.T) {
	t.Helper()
	for range 1500 {
		if len(w.ours()) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // a process tells nobody that it is gone
	}
	for _, pid := range w.ours() {
		argv, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		t.Errorf("process %d is left behind: %q", pid, argv)
	}
}

// Two identical starts in the same moment: one chat, one process, one turn.
func TestCaseS08_TwoIdenticalStarts(t *testing.T) {
	w := newWorld(t, faults())
	w.serve("--keep")
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		c := w.client(api.ClientOptions{})
		wg.Go(func() {
			made, err := api.Call[api.ChatResult](t.Context(), c, "chats.create", api.CreateChat{ClientID: "same", Harness: "rehearsal", Cwd: w.work, Prompt: "silent"})
			if err != nil {
				t.Error(err)
			}
			ids[i] = made.Chat.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("chats %v", ids)
		}
	}
	w.agentPid(t)
	agents := 0
	for _, pid := range w.ours() {
		if argv, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); strings.Contains(string(argv), "\x00rehearsal\x00") {
			agents++
		}
	}
	if list := w.chats(); len(list) != 1 || agents != 1 {
		t.Errorf("%d chats, %d processes", len(list), agents)
	}
}

// A killed host leaves an agent that ignores the end of its input, TERM and
// interrupts, with a child of its own; the next host ends them, and nobody else.
func TestCaseR03_KilledHostLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults("--ignore-term", "--ignore-interrupt", "--linger", "--grandchild-holds-stdout"))
	h := w.serve("--keep")
	stranger := exec.Command(binary, "rehearsal", "--protocol", "json")
	stranger.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + w.user, "REHEARSAL_HOME=" + w.user}
	hold, err := stranger.StdinPipe()
	if err == nil {
		err = stranger.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Close(); _ = stranger.Wait() }()
	c := w.client(api.ClientOptions{})
	chat := w.chat(t, c, "c")
	say(t, c, chat.ID, "p", "silent")
	w.agentPid(t)
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-h.done
	w.serve("--keep")
	w.left(t)
	if id, err := processes.Identify(stranger.Process.Pid); err != nil || !id.Alive() {
		t.Error("an agent of the person's was ended too", err)
	}
}

// A message to a program that is stopped, as by a machine that sleeps: it fails
// visibly within ten seconds.
func TestAMessageToAFrozenAgentFailsVisibly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults())
	w.serve("--keep")
	c := w.client(api.ClientOptions{})
	chat := w.chat(t, c, "c")
	ends := turns(t, c, chat.ID)
	say(t, c, chat.ID, "p1", "hello")
	within(t, ends)
	if err := syscall.Kill(w.agentPid(t), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	say(t, c, chat.ID, "p2", "are you there?")
	select {
	case x := <-ends:
		if x.End.Outcome != agent.OutcomeFailed || x.End.Reason != "unresponsive" {
			t.Errorf("end = %+v", x.End)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was shown within ten seconds")
	}
}

// No secret of the environment, no prompt and no output is in an argument of our
// whole tree, in a log, in the settings or in what the host prints.
func TestCaseX04_CanaryStaysInside(t *testing.T) {
	const canary = "CANARY_7f3a"
	w := newWorld(t, faults())
	w.extra = append(w.extra, "SECRET_TOKEN="+canary)
	h := w.serve("--keep")
	c := w.client(api.ClientOptions{})
	chat := w.chat(t, c, "c")
	ends := turns(t, c, chat.ID)
	say(t, c, chat.ID, "p", "hello "+canary)
	within(t, ends)
	say(t, c, chat.ID, "p2", "silent "+canary)
	w.agentPid(t)
	for _, pid := range append(w.ours(), h.Process.Pid) {
		if argv, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); bytes.Contains(argv, []byte(canary)) {
			t.Errorf("process %d has it in its arguments: %q", pid, argv)
		}
	}
	if _, err := api.Call[api.StopResult](t.Context(), c, "chats.stop", api.ChatRef{ChatID: chat.ID}); err != nil {
		t.Fatal(err)
	}
	within(t, ends)
	err := filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return nil
		}
		log := strings.HasSuffix(path, ".log") || strings.Contains(path, string(filepath.Separator)+"logs"+string(filepath.Separator))
		if !log && filepath.Base(path) != "settings.json" {
			return nil // the conversation is where it belongs
		}
		if b, _ := os.ReadFile(path); bytes.Contains(b, []byte(canary)) {
			t.Errorf("%s has it", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	_ = h.Process.Signal(syscall.SIGTERM)
	<-h.done
	if strings.Contains(h.out.String()+h.err.String(), canary) {
		t.Errorf("the host printed it")
	}
}

// Ids that would be paths are refused at the border, and nothing is touched.
func TestCaseX06_IdsAreNoPaths(t *testing.T) {
	w := newWorld(t, faults())
	w.serve("--keep")
	c := w.client(api.ClientOptions{})
	secret := filepath.Join(w.user, "id_rsa")
	if err := os.WriteFile(secret, []byte("CANARY_7f3a"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../../user/id_rsa", "..", ".", "a/b", "%2e%2e", secret, "a\x00b", strings.Repeat("x", 4096)} {
		for method, params := range map[string]any{
			"chats.rows": api.RowsRequest{ChatID: id}, "chats.content": api.ContentRequest{ChatID: id, ItemID: id, Field: "text"},
			"chats.send": api.SendPrompt{ChatID: id, ClientID: "c", Text: "x"}, "chats.remove": api.ChatRef{ChatID: id},
			"chats.create":   api.CreateChat{ClientID: "x" + id, Harness: id, Cwd: w.work},
			"sessions.open":  api.SessionRef{Key: model.SessionKey{Harness: "rehearsal", ID: id}},
			"sessions.focus": api.SessionRef{Key: model.SessionKey{Harness: id, ID: id}},
			"terminals.read": api.ReadTerminal{ID: id}, "terminals.close": api.TerminalRef{ID: id},
			"approvals.answer": api.AnswerApproval{ApprovalID: id},
		} {
			got, err := api.Call[json.RawMessage](t.Context(), c, method, params)
			if err == nil && method != "sessions.focus" {
				t.Errorf("%s took the id %q: %s", method, id[:min(30, len(id))], got)
			}
			if bytes.Contains(got, []byte("CANARY")) {
				t.Errorf("%s read the file", method)
			}
		}
		// A session that is adopted by such an id is no file of the person's.
		made, err := api.Call[api.ChatResult](t.Context(), c, "chats.create", api.CreateChat{ClientID: "adopt" + strconv.Itoa(len(id)), Harness: "rehearsal", Cwd: w.work,
			Adopt: &agent.Handle{Harness: "rehearsal", NativeID: id, Cwd: w.work}})
		if err != nil {
			continue
		}
		rows, err := api.Call[api.RowsResult](t.Context(), c, "chats.rows", api.RowsRequest{ChatID: made.Chat.ID})
		if err == nil && len(rows.Rows) > 0 {
			t.Errorf("the id %q gave rows: %+v", id[:min(30, len(id))], rows.Rows)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "CANARY_7f3a" {
		t.Error("the file was touched", err)
	}
	if list, err := api.Call[api.Chats](t.Context(), c, "chats.list", api.Listing{}); err != nil {
		t.Error(list, err)
	}
}
