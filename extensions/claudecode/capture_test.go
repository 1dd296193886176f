package claudecode

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

var rewrite = flag.Bool("update", false, "write the golden files anew")

// captureEnv makes the test binary play a capture instead of running tests.
const captureEnv = "CLAUDECODE_TEST_CAPTURE"

func TestMain(m *testing.M) {
	if log := os.Getenv(mcpEnv); log != "" {
		if err := serveMCP(log, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if file := os.Getenv(captureEnv); file != "" {
		if told := os.Getenv(versionEnv); told != "" && slices.Contains(os.Args, "--version") {
			fmt.Println(told + " (Claude Code)")
			os.Exit(0)
		}
		if lacks := os.Getenv(oldEnv); lacks != "" && slices.Contains(os.Args, lacks) {
			fmt.Fprintln(os.Stderr, "error: unknown option '"+lacks+"'")
			os.Exit(1)
		}
		if err := tellArgv(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := playCapture(file, lifeOf(os.Getenv(dieEnv)), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	oldEnv     = "CLAUDECODE_TEST_OLD"     // an option that it does not know
	versionEnv = "CLAUDECODE_TEST_VERSION" // what it says of its version
)

// frame is one line of a capture: what the real program printed (out) and was
// told (in).
type frame struct {
	Dir string          `json:"dir"`
	M   json.RawMessage `json:"m"`
}

// playCapture prints what the program printed and reads one line wherever it
// was told something; what it says of requests and messages has the ids of those
// that were really sent. After life frames the process is killed; a negative life has no end.
func playCapture(file string, life int, in io.Reader, out io.Writer) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	told := bufio.NewReader(in)
	ids := map[string]string{}
	for line := range bytes.Lines(data) {
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		if f.Dir == "in" || f.Dir == "out" {
			if life == 0 {
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			life--
		}
		switch f.Dir {
		case "in":
			var was, is struct {
				RequestID string `json:"request_id"`
				UUID      string `json:"uuid"`
			}
			got, err := told.ReadBytes('\n')
			if err != nil {
				return err
			}
			if json.Unmarshal(f.M, &was) != nil || json.Unmarshal(got, &is) != nil {
				continue
			}
			if was.RequestID != "" {
				ids[was.RequestID] = is.RequestID
			}
			if was.UUID != "" && is.UUID != "" {
				ids[was.UUID] = is.UUID
			}
		case "out":
			m := []byte(f.M)
			for was, is := range ids {
				m = bytes.ReplaceAll(m, []byte(was), []byte(is))
			}
			if _, err := out.Write(append(m, '\n')); err != nil {
				return err
			}
		}
	}
	if life == 0 {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	_, err = io.Copy(io.Discard, told)
	return err
}

// TestCaptures plays recordings of the real program through the provider and
// compares rows, cards and ends with the golden files.
func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		file    string
		mode    string
		prompts int
		decide  func(agent.Approval) agent.ApprovalAnswer
		stop    func(*recorder) bool // when to press stop
	}{
		{file: "01-init-two-turns", prompts: 2},
		{file: "02-bash-allow", prompts: 1, decide: choose(optionAllow)},
		{file: "03-bash-deny", prompts: 1, decide: choose(optionDeny)},
		{file: "05-edit", prompts: 1, decide: choose(optionAllow)},
		{file: "06-write", prompts: 1, decide: choose(optionAllow)},
		{file: "08-task", prompts: 1, decide: choose(optionAllow)},
		{file: "09-ask", prompts: 1, decide: func(agent.Approval) agent.ApprovalAnswer {
			return agent.ApprovalAnswer{OptionID: optionAnswer, Answers: map[string]agent.QuestionAnswer{"q0": {OptionIDs: []string{"o0"}}}}
		}},
		{file: "10-exitplan", mode: "plan", prompts: 1, decide: choose(optionAllow)},
		{file: "12-interrupt-bash", prompts: 1, stop: func(r *recorder) bool {
			for _, it := range r.items {
				if it.Name == "Bash" && it.Detail.Execute != nil && it.Detail.Execute.Command != "" {
					return true
				}
			}
			return false
		}},
		{file: "20-err-drop", prompts: 1},
		{file: "21-todo-tools", prompts: 1},
		{file: "20-err-e401", prompts: 1},
		{file: "20-err-e529once", prompts: 1},
		{file: "90-interrupt-while-permission", prompts: 1, stop: func(r *recorder) bool { return len(r.approvals) == 1 }},
	} {
		t.Run(c.file, func(t *testing.T) {
			capture, err := filepath.Abs(filepath.Join("testdata", "captures", c.file+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			home := t.TempDir()
			host := &agentkit.Host{
				Home: home, RunDir: home, CacheDir: home, DataDir: home,
				Env: func() []string { return []string{"PATH=" + os.Getenv("PATH"), captureEnv + "=" + capture} },
				Now: func() time.Time { return time.UnixMilli(1_000) },
			}
			rec := newRecorder()
			rec.decide = c.decide
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			chat, err := New(host).Provider.Open(t.Context(), agent.OpenRequest{
				ChatID: "chat", Kind: agent.KindWorkspace, WorkingDirectory: home, Binary: self, Mode: c.mode,
			}, rec)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for i := range c.prompts {
				if c.stop != nil {
					go func() {
						rec.wait(t, "the moment to stop", func() bool { return c.stop(rec) })
						if err := chat.Cancel(t.Context()); err != nil {
							t.Error(err)
						}
					}()
				}
				end, err := chat.Prompt(t.Context(), agent.Prompt{Text: fmt.Sprintf("prompt %d", i+1), ClientID: fmt.Sprintf("client-%d", i+1)})
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "end %s\n", asJSON(t, end))
			}
			if err := chat.Close(context.Background()); err != nil {
				t.Error(err)
			}
			for _, a := range rec.approvals {
				a.ID = "request"
				fmt.Fprintf(&got, "approval %s\n", asJSON(t, a))
			}
			for _, it := range rec.rows() {
				if it.Type == agent.ItemUser && it.ClientID != "" {
					it.ID = it.ClientID // made from the session's random id
				}
				fmt.Fprintf(&got, "row %s\n", agent.RowBytes(it))
			}
			golden(t, filepath.Join("testdata", "captures", c.file+".golden"), strings.ReplaceAll(got.String(), home, "$HOME"))
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("not as in %s (-want +got):\n%s", file, diff)
	}
}

func TestOlderVersionIsStartedWithoutTheNewestOptions(t *testing.T) {
	capture, err := filepath.Abs(filepath.Join("testdata", "captures", "02-bash-allow.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	host := &agentkit.Host{
		Home: home, RunDir: home, CacheDir: home, DataDir: home,
		Env: func() []string { return []string{captureEnv + "=" + capture, oldEnv + "=--thinking-display"} },
	}
	rec := newRecorder()
	rec.decide = choose(optionAllow)
	chat, err := New(host).Provider.Open(t.Context(), agent.OpenRequest{
		ChatID: "chat", Kind: agent.KindWorkspace, WorkingDirectory: home, Binary: self,
	}, rec)
	if err != nil {
		t.Fatal(err)
	}
	if end, err := chat.Prompt(t.Context(), agent.Prompt{Text: "x", ClientID: "c"}); err != nil || end.Outcome != agent.OutcomeCompleted {
		t.Errorf("%+v %v", end, err)
	}
	if err := chat.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(strings.Join(rec.log, " "), "exit"); n != 1 {
		t.Errorf("the host heard of %d ends", n)
	}
}
