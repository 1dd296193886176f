package claudecode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/e2e/agents"
)

// The program may die at any moment. Whatever the moment: the turn has exactly
// one end, nothing of it stays open, no card is left, the host hears of one
// exit, and the next prompt goes on in a new process.

const (
	dieEnv  = "CLAUDECODE_TEST_DIE"  // how many frames the player lives
	argvEnv = "CLAUDECODE_TEST_ARGV" // the file that gets its argv
)

func lifeOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func tellArgv() error {
	file := os.Getenv(argvEnv)
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(strings.Join(os.Args, "\n")), 0o600)
}

// peer is a scripted program: it plays frames and dies after some.
type peer struct {
	t       *testing.T
	home    string
	capture string
	frames  []frame
	life    int
	host    *agentkit.Host
}

func newPeer(t *testing.T, frames []frame) *peer {
	t.Helper()
	p := &peer{t: t, home: t.TempDir(), frames: frames, life: -1}
	p.capture = filepath.Join(p.home, "capture.jsonl")
	var file bytes.Buffer
	for _, f := range frames {
		line, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		file.Write(append(line, '\n'))
	}
	if err := os.WriteFile(p.capture, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p.host = &agentkit.Host{
		Home: p.home, RunDir: p.home, CacheDir: p.home, DataDir: p.home,
		Env: func() []string {
			return []string{
				"PATH=" + os.Getenv("PATH"), captureEnv + "=" + p.capture,
				dieEnv + "=" + strconv.Itoa(p.life), argvEnv + "=" + filepath.Join(p.home, "argv"),
			}
		},
	}
	return p
}

// captured reads the frames of a recording, without those of its start and end.
func captured(t *testing.T, name string) []frame {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "captures", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var list []frame
	for line := range bytes.Lines(data) {
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			break // a line that the recorder cut
		}
		if f.Dir == "in" || f.Dir == "out" {
			list = append(list, f)
		}
	}
	return list
}

// upTo counts the frames up to and with the nth one (1 is the first) of this
// direction that has all the words.
func upTo(t *testing.T, frames []frame, nth int, dir string, words ...string) int {
	t.Helper()
	for i, f := range frames {
		has := f.Dir == dir
		for _, w := range words {
			has = has && bytes.Contains(f.M, []byte(w))
		}
		if has {
			if nth--; nth == 0 {
				return i + 1
			}
		}
	}
	t.Fatalf("no such frame: %s %v", dir, words)
	return 0
}

func (p *peer) open(rec *recorder, resume *agent.Handle) (agent.ChatSession, error) {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	return New(p.host).Provider.Open(ctx, agent.OpenRequest{
		ChatID: "chat", Kind: agent.KindWorkspace, WorkingDirectory: p.home, Binary: self, Resume: resume,
	}, rec)
}

func (p *peer) mustOpen(rec *recorder, resume *agent.Handle) agent.ChatSession {
	p.t.Helper()
	chat, err := p.open(rec, resume)
	if err != nil {
		p.t.Fatal(err)
	}
	return chat
}

// over checks that nothing of a dead process is left.
func (p *peer) over(rec *recorder, chat agent.ChatSession) {
	t := p.t
	t.Helper()
	rec.wait(t, "the exit", func() bool { return rec.exit != nil })
	if _, err := chat.Prompt(t.Context(), agent.Prompt{Text: "more", ClientID: "more"}); !errors.Is(err, agentkit.ErrEnded) {
		t.Errorf("a dead process took a prompt: %v", err)
	}
	if err := chat.Cancel(t.Context()); err != nil {
		t.Errorf("there is nothing to stop: %v", err)
	}
	if err := chat.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, it := range rec.rows() {
		if it.Open() {
			t.Errorf("a row stayed open: %+v", it)
		}
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.decide == nil && len(rec.withdrawn) != len(rec.approvals) {
		t.Errorf("%d of %d cards were withdrawn", len(rec.withdrawn), len(rec.approvals))
	}
	exits, after := 0, []string{}
	for _, l := range rec.log {
		switch {
		case l == "exit":
			exits++
		case exits > 0 && l != "withdrawn" && !strings.HasPrefix(l, "approval "): // these are not in the reader's order
			after = append(after, l)
		}
	}
	if exits != 1 || len(after) > 0 {
		t.Errorf("%d exits, after which came %v", exits, after)
	}
	if len(rec.failures) > 0 {
		t.Errorf("faults beside the end: %v", rec.failures)
	}
}

// goesOn opens the session again and lets it finish a turn.
func (p *peer) goesOn(h agent.Handle) {
	t := p.t
	t.Helper()
	p.life = -1
	dir := filepath.Join(projectsDir(configDir(p.host, nil)), slug(p.home))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	line := `{"type":"user","uuid":"u1","message":{"role":"user","content":"one"}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, h.NativeID+".jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat := p.mustOpen(rec, &h)
	defer func() {
		if err := chat.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	argv, err := os.ReadFile(filepath.Join(p.home, "argv"))
	if err != nil || !strings.Contains(string(argv), "--resume\n"+h.NativeID) {
		t.Errorf("the next process was not started on the session: %s %v", argv, err)
	}
	if slices.ContainsFunc(p.frames, func(f frame) bool { return f.Dir == "in" && bytes.Contains(f.M, []byte(`"interrupt"`)) }) {
		return // this recording ends with a stop
	}
	if end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "again", ClientID: "again"}); err != nil || end.Outcome != agent.OutcomeCompleted {
		t.Errorf("the next turn: %+v %v", end, err)
	}
}

func TestDeathBeforeItIsReady(t *testing.T) {
	frames := captured(t, "02-bash-allow")
	for name, life := range map[string]int{"before a word": 0, "asked, not answered": 1} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, frames)
			p.life = life
			rec := newRecorder()
			_, err := p.open(rec, nil)
			if err == nil || !strings.Contains(err.Error(), "ended before it was ready") {
				t.Errorf("got %v", err)
			}
			if len(rec.log) > 0 {
				t.Errorf("a chat that never was reported %v", rec.log)
			}
			p.goesOn(handleFor(p.host, "1b4e28ba-2fa1-11d2-883f-0016d3cca427", p.home, nil))
		})
	}
}

func TestDeathAtEveryPoint(t *testing.T) {
	bash, task, stop, two := captured(t, "02-bash-allow"), captured(t, "08-task"), captured(t, "12-interrupt-bash"), captured(t, "01-init-two-turns")
	firstTurn := upTo(t, two, 1, "out", `"result"`)
	woke := append(slices.Clone(two[:firstTurn]), two[upTo(t, two, 2, "out", `"requesting"`):]...)
	for _, c := range []struct {
		name   string
		frames []frame
		life   int
		allow  bool
		state  agent.ItemState // of the row that was open
		row    func(agent.Item) bool
	}{
		{name: "prompt sent", frames: bash, life: upTo(t, bash, 1, "in", `"type":"user"`)},
		{name: "turn begun", frames: bash, life: upTo(t, bash, 1, "out", `"message_start"`)},
		{name: "in a thought", frames: bash, life: upTo(t, bash, 1, "out", "thinking_delta"), row: ofType(agent.ItemReasoning)},
		{name: "in a text", frames: bash, life: upTo(t, bash, 1, "out", "text_delta"), row: ofType(agent.ItemText)},
		{name: "tool is being written", frames: task, life: upTo(t, task, 1, "out", "input_json_delta"), row: ofType(agent.ItemSubagent), state: agent.StateFailed},
		{name: "permission open", frames: bash, life: upTo(t, bash, 1, "out", "can_use_tool"), row: named("Bash"), state: agent.StateFailed},
		{name: "permission given", frames: bash, life: upTo(t, bash, 1, "in", "control_response"), allow: true, row: named("Bash"), state: agent.StateFailed},
		{name: "tool open", frames: stop, life: upTo(t, stop, 1, "out", `"message_stop"`), row: named("Bash"), state: agent.StateFailed},
		{name: "sub-agent open", frames: task, life: upTo(t, task, 1, "out", "List files please"), row: ofType(agent.ItemSubagent), state: agent.StateFailed},
		{name: "last words said", frames: bash, life: upTo(t, bash, 3, "out", `"type":"assistant"`), allow: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer(t, c.frames)
			p.life = c.life
			rec := newRecorder()
			if c.allow {
				rec.decide = choose(optionAllow)
			}
			chat := p.mustOpen(rec, nil)
			end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "one", ClientID: "c1"})
			if err != nil || end.Outcome != agent.OutcomeFailed || end.Reason != "crashed" || end.Text == "" {
				t.Errorf("end: %+v %v", end, err)
			}
			p.over(rec, chat)
			if c.row != nil {
				if it := rec.row(t, c.row); it.State != c.state || it.EndedAt == 0 {
					t.Errorf("row: %+v", it)
				}
			}
			p.goesOn(*rec.ready.Handle)
		})
	}
	t.Run("during a stop", func(t *testing.T) {
		p := newPeer(t, stop)
		p.life = upTo(t, stop, 1, "in", `"interrupt"`)
		rec := newRecorder()
		chat := p.mustOpen(rec, nil)
		stopped := make(chan error, 1)
		go func() {
			rec.wait(t, "the command", func() bool {
				for _, it := range rec.items {
					if it.Name == "Bash" && it.Detail.Execute.Command != "" {
						return true
					}
				}
				return false
			})
			stopped <- chat.Cancel(t.Context())
		}()
		end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "one", ClientID: "c1"})
		if err != nil || end.Outcome != agent.OutcomeCanceled {
			t.Errorf("end: %+v %v", end, err)
		}
		if err := <-stopped; err != nil {
			t.Errorf("what ran cannot run any more: %v", err)
		}
		p.over(rec, chat)
		p.goesOn(*rec.ready.Handle)
	})
	t.Run("between two turns", func(t *testing.T) {
		p := newPeer(t, bash)
		p.life = upTo(t, bash, 1, "out", `"result"`)
		rec := newRecorder()
		rec.decide = choose(optionAllow)
		chat := p.mustOpen(rec, nil)
		if end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "one", ClientID: "c1"}); err != nil || end.Outcome != agent.OutcomeCompleted {
			t.Errorf("end: %+v %v", end, err)
		}
		p.over(rec, chat)
		p.goesOn(*rec.ready.Handle)
	})
	t.Run("in a turn of its own", func(t *testing.T) {
		p := newPeer(t, woke)
		p.life = upTo(t, woke, 4, "out", "text_delta")
		rec := newRecorder()
		chat := p.mustOpen(rec, nil)
		if end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "one", ClientID: "c1"}); err != nil || end.Outcome != agent.OutcomeCompleted {
			t.Errorf("end: %+v %v", end, err)
		}
		p.over(rec, chat)
		if len(rec.turns) != 2 || rec.turns[0].End != nil || rec.turns[1].End == nil || rec.turns[1].End.Reason != "crashed" {
			t.Errorf("turns: %+v", rec.turns)
		}
	})
}

// TestDeathAfterEveryFrame is the same after each frame that the real program
// was seen to print; some of them where time is short.
func TestDeathAfterEveryFrame(t *testing.T) {
	step := 5
	if os.Getenv(agents.FullEnv) == "full" {
		step = 1
	}
	for _, name := range []string{"02-bash-allow", "08-task", "09-ask", "20-err-drop"} {
		frames := captured(t, name)
		finished := upTo(t, frames, 1, "out", `"type":"result"`)
		for life := upTo(t, frames, 1, "in", `"type":"user"`); life <= finished; life += step {
			t.Run(name+"/"+strconv.Itoa(life), func(t *testing.T) {
				t.Parallel()
				p := newPeer(t, frames)
				p.life = life
				rec := newRecorder()
				rec.decide = func(a agent.Approval) agent.ApprovalAnswer {
					return agent.ApprovalAnswer{OptionID: a.Options[0].ID}
				}
				chat := p.mustOpen(rec, nil)
				end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "one", ClientID: "c1"})
				if err != nil || (life < finished) != (end.Reason == "crashed") {
					t.Errorf("end: %+v %v", end, err)
				}
				p.over(rec, chat)
			})
		}
	}
}
