//go:build agents && linux

package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// chat makes a chat in the world's folder and shows it.
func (w *world) chat(harness, id string) *view {
	w.t.Helper()
	got := call[api.ChatResult](w, "chats.create", api.CreateChat{ClientID: id, Harness: harness, Kind: agent.KindWorkspace, Cwd: w.cwd})
	return w.view(got.Chat.ID)
}

func (w *world) made(name string) bool {
	_, err := os.Lstat(filepath.Join(w.cwd, name))
	return err == nil
}

func TestChatStreamsAsksStopsAndSurvivesAKilledHost(t *testing.T) {
	w := newWorld(t, setting{claude: true})
	w.serve()
	v := w.chat("claude-code", "main")

	// The first half is shown while the model still holds the second.
	v.send("scenario:hold")
	if err := w.model.WaitHeld(w.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	half := v.text(agent.ItemText, "The first half of the answer, ")
	if !half.Provisional {
		t.Errorf("a row that streams says that it is settled: %+v", half)
	}
	w.model.Release("half")
	whole := v.text(agent.ItemText, "The first half of the answer, and the second half.")
	if whole.ID != half.ID {
		t.Errorf("the row changed its id: %s, then %s", half.ID, whole.ID)
	}
	if end := v.end(1); end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("end: %+v", end)
	}

	// Allowed: nothing happened before, the exact option goes back.
	v.send("scenario:bash-allow first")
	card := v.card()
	if card.Kind != agent.ApprovalTool || card.Preview == nil || card.Preview.Command != "touch made-by-bash.txt && echo hi" {
		t.Errorf("card: %+v", card)
	}
	if w.made("made-by-bash.txt") {
		t.Error("the command ran before the answer")
	}
	v.answer(card, agent.OptionAllowOnce)
	if end := v.end(2); end.Outcome != agent.OutcomeCompleted || !w.made("made-by-bash.txt") {
		t.Errorf("allowed: %+v, made %v", end, w.made("made-by-bash.txt"))
	}

	// Denied: it does not run, and the card is over.
	if err := os.Remove(filepath.Join(w.cwd, "made-by-bash.txt")); err != nil {
		t.Fatal(err)
	}
	v.send("scenario:bash-allow second")
	card = v.card()
	v.answer(card, agent.OptionRejectOnce)
	v.end(3)
	if w.made("made-by-bash.txt") {
		t.Error("the denied command ran")
	}

	// Stopped: the command that runs is ended, and the chat goes on.
	v.send("scenario:bash-long")
	card = v.card()
	v.answer(card, agent.OptionAllowOnce)
	w.eventually("the command to run", func() bool { return w.made("long-started.txt") })
	if got := call[api.StopResult](w, "chats.stop", api.ChatRef{ChatID: v.id}); got.Error != "" {
		t.Errorf("stop: %+v", got)
	}
	if end := v.end(4); end.Outcome != agent.OutcomeCanceled {
		t.Errorf("stopped: %+v", end)
	}
	for _, pid := range w.processes() {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasPrefix(string(line), "sleep\x00") {
			t.Error("the stopped command still runs")
		}
	}
	v.ask("hello after the stop")

	// kill -9 of the host while an answer stands half-way.
	w.model.Reset()
	v.send("scenario:hold again")
	if err := w.model.WaitHeld(w.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	v.wait("the half", func() bool { return v.rows[len(v.rows)-1].Text == "The first half of the answer, " })
	settled := v.settled()
	handle := v.now().Handle
	w.kill()
	w.serve()
	v = w.view(v.id)
	v.wait("the interrupted turn", func() bool { return v.sum.LastEnd != nil && v.sum.LastEnd.Outcome == agent.OutcomeInterrupted })
	if turn := v.now().Turn; turn != model.TurnIdle {
		t.Errorf("turn: %s", turn)
	}
	v.keeps(settled)
	v.ask("hello after the crash")
	if now := v.now().Handle; now == nil || handle == nil || now.NativeID != handle.NativeID {
		t.Errorf("another session: %+v, was %+v", now, handle)
	}
	if n := w.claudes(); n != 1 {
		t.Errorf("%d agents run, the killed host's must be gone", n)
	}
	asked := w.model.Turns()
	last := string(asked[len(asked)-1].Raw)
	for _, said := range []string{"scenario:bash-allow first", "hello after the stop", "hello after the crash"} {
		if !strings.Contains(last, said) {
			t.Errorf("the agent does not know %q any more", said)
		}
	}
	if n := strings.Count(last, "scenario:hold again"); n != 1 {
		t.Errorf("the prompt in flight was said %d times", n)
	}
	for _, r := range asked {
		if !r.Side && !strings.Contains(strings.Join(r.Tools, " "), "Bash") {
			t.Errorf("asked without its tools: %q", r.Tools)
		}
	}
}

// claudes counts the agents of this home.
func (w *world) claudes() (n int) {
	list, _ := filepath.Glob(filepath.Join(w.home, ".claude", "sessions", "*.json"))
	for _, f := range list {
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(f), ".json"))
		if err == nil && alive(pid, 0) {
			n++
		}
	}
	return n
}

// settled is every row that does not change any more, by its id.
func (v *view) settled() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	rows := map[string]string{}
	for _, r := range v.rows {
		if !r.Provisional {
			rows[r.ID] = string(agent.RowBytes(r.Item))
		}
	}
	return rows
}

// keeps looks that rows are all still there, byte by byte.
func (v *view) keeps(rows map[string]string) {
	v.w.t.Helper()
	now := map[string]string{}
	for _, r := range v.all() {
		now[r.ID] = string(agent.RowBytes(r.Item))
	}
	for id, was := range rows {
		if now[id] != was {
			v.w.t.Errorf("row %s\n was %s\n now %s", id, was, now[id])
		}
	}
}
