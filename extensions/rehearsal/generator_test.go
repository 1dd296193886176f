package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
)

func openChat(t *testing.T, flags ...string) (*agenttest.Recorder, agent.ChatSession) {
	t.Helper()
	rec := agenttest.NewRecorder()
	s, err := New(newHost(t)).Provider.Open(t.Context(), request(t, flags...), rec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for _, v := range rec.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
	return rec, s
}

// TestS05EveryDelta: a flood arrives complete and in order.
func TestCaseS05_EveryDelta(t *testing.T) {
	const n = 30_000
	rec, s := openChat(t, "--deltas", fmt.Sprint(n))
	rec.BeginPrompt()
	end, err := s.Prompt(t.Context(), agent.Prompt{Text: "go", ClientID: "c"})
	rec.EndPrompt(end, err)
	if err != nil || end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("%+v %v", end, err)
	}
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "%07d ", i+1)
	}
	if rec.Text() != want.String() {
		t.Error("deltas were lost, doubled or swapped")
	}
}

// TestHold: half of an answer is there while the rest is held, and the rest
// comes when the file does.
func TestHold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go")
	rec, s := openChat(t, "--deltas", "100", "--hold", file)
	rec.BeginPrompt()
	done := make(chan agent.TurnEnd, 1)
	go func() {
		end, err := s.Prompt(context.Background(), agent.Prompt{Text: "go", ClientID: "c"})
		rec.EndPrompt(end, err)
		done <- end
	}()
	rec.MustWait(t, deadline, "half of the answer", func() bool { return rec.Chunks() == 50 })
	select {
	case end := <-done:
		t.Fatalf("the turn was not held: %+v", end)
	default:
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeCompleted || rec.Chunks() != 100 {
		t.Errorf("%+v after %d deltas", end, rec.Chunks())
	}
}

// TestSilentAgentIsStopped: silence is no end; a stop is (case S04).
func TestSilentAgentIsStopped(t *testing.T) {
	rec, s := openChat(t, "--silent")
	rec.BeginPrompt()
	done := make(chan agent.TurnEnd, 1)
	go func() {
		end, err := s.Prompt(context.Background(), agent.Prompt{Text: "hello", ClientID: "c"})
		rec.EndPrompt(end, err)
		done <- end
	}()
	rec.MustWait(t, deadline, "our own row", func() bool { return len(rec.Items()) == 1 })
	if err := s.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeCanceled {
		t.Errorf("%+v", end)
	}
}

// TestStopIsRefused: an agent that ignores its interrupt keeps Cancel until
// the caller's patience ends; Close ends it and its turn.
func TestStopIsRefused(t *testing.T) {
	rec, s := openChat(t, "--ignore-interrupt")
	rec.BeginPrompt()
	done := make(chan agent.TurnEnd, 1)
	go func() {
		end, err := s.Prompt(context.Background(), agent.Prompt{Text: "wait", ClientID: "c"})
		rec.EndPrompt(end, err)
		done <- end
	}()
	rec.MustWait(t, deadline, "a text", func() bool { return rec.Chunks() > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s.Cancel(ctx) == nil {
		t.Error("Cancel says that nothing runs any more")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.Outcome != agent.OutcomeCanceled {
		t.Errorf("%+v", end)
	}
}

// TestOptionsAreStrict: an unknown key or a foreign id opens nothing.
func TestOptionsAreStrict(t *testing.T) {
	p := New(newHost(t)).Provider
	for name, change := range map[string]func(*agent.OpenRequest){
		"unknown option": func(r *agent.OpenRequest) { r.Options = []byte(`{"pcae":"none"}`) },
		"not an object":  func(r *agent.OpenRequest) { r.Options = []byte(`[1]`) },
		"two objects":    func(r *agent.OpenRequest) { r.Options = []byte(`{} {}`) },
		"unknown model":  func(r *agent.OpenRequest) { r.Model = "gala" },
		"unknown mode":   func(r *agent.OpenRequest) { r.Mode = "yolo" },
		"no such session": func(r *agent.OpenRequest) {
			r.Resume = &agent.Handle{Harness: ID, NativeID: "nobody", Cwd: "/"}
		},
		"a path as session": func(r *agent.OpenRequest) {
			r.Resume = &agent.Handle{Harness: ID, NativeID: "../x", Cwd: "/"}
		},
	} {
		r := request(t)
		change(&r)
		if s, err := p.Open(t.Context(), r, agenttest.NewRecorder()); err == nil {
			t.Errorf("%s: opened", name)
			_ = s.Close(t.Context())
		}
	}
	r := request(t)
	r.Options = []byte(`{"pace":"none","deltas":3}`)
	s, err := p.Open(t.Context(), r, agenttest.NewRecorder())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
