package agenttest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// fake is a provider without a process whose one turn is a script. It shows
// that the suite's rules can fail.
type fake struct {
	open   func(ev agent.Events)
	script func(ctx context.Context, ev agent.Events) (agent.TurnEnd, error)
	cancel func(stop context.CancelFunc)
}

type fakeSession struct {
	f  *fake
	ev agent.Events

	mu     sync.Mutex
	stop   context.CancelFunc
	done   chan struct{}
	closed bool
}

func (f *fake) Availability(context.Context) (agent.Availability, error) {
	return agent.Availability{Available: true}, nil
}

func (f *fake) Open(_ context.Context, req agent.OpenRequest, ev agent.Events) (agent.ChatSession, error) {
	if req.Binary != "" {
		return nil, errors.New("no such binary")
	}
	if f.open != nil {
		f.open(ev)
	} else {
		ev.Ready(agent.Ready{Agent: agent.AgentInfo{Name: "fake"}, Handle: &agent.Handle{Harness: "fake", NativeID: "s", Cwd: "/"}})
	}
	return &fakeSession{f: f, ev: ev}, nil
}

func (s *fakeSession) Prompt(ctx context.Context, p agent.Prompt) (agent.TurnEnd, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return agent.TurnEnd{}, errors.New("closed")
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.done = make(chan struct{})
	done := s.done
	s.mu.Unlock()
	defer close(done)
	return s.f.script(ctx, s.ev)
}

func (s *fakeSession) Cancel(ctx context.Context) error {
	s.mu.Lock()
	stop, done := s.stop, s.done
	s.mu.Unlock()
	if stop == nil {
		return nil
	}
	if s.f.cancel != nil {
		s.f.cancel(stop)
		return nil
	}
	stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *fakeSession) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	err := s.Cancel(ctx)
	if first {
		s.ev.Exit(agent.Exit{})
	}
	return err
}

func text(id, s string, ended int64) agent.Item {
	return agent.Item{ID: id, Type: agent.ItemText, Text: s, EndedAt: ended}
}

func tool(id string, state agent.ItemState) agent.Item {
	return agent.Item{ID: id, Type: agent.ItemTool, CallID: id, Name: "run", Tool: agent.ToolExecute, State: state}
}

var completed = agent.TurnEnd{Outcome: agent.OutcomeCompleted}

// TestRules breaks one rule at a time and expects the recorder to say which.
func TestRules(t *testing.T) {
	ask := agent.Approval{ID: "a", Kind: agent.ApprovalTool, Title: "Run?", Options: []agent.Option{
		{ID: "y", Label: "Yes", Kind: agent.OptionAllowOnce, Reach: "once"},
	}}
	for _, c := range []struct {
		name, want string
		open       func(agent.Events)
		script     func(agent.Events) agent.TurnEnd
	}{
		{name: "nothing broken", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(text("1", "", 0))
			ev.Append("1", "Hello")
			ev.Item(text("1", "Hello.", 1))
			ev.Item(tool("2", agent.StateRunning))
			if a := ev.Approval(context.Background(), ask); a.OptionID == "y" {
				ev.Item(tool("2", agent.StateCompleted))
			}
			return completed
		}},
		{name: "two Ready", want: "Ready came twice", open: func(ev agent.Events) {
			ev.Ready(agent.Ready{})
			ev.Ready(agent.Ready{})
		}},
		{name: "unknown ability", want: "ability", open: func(ev agent.Events) {
			ev.Ready(agent.Ready{Abilities: []agent.Ability{"teleport"}})
		}},
		{name: "item before Ready", want: "before Ready", open: func(ev agent.Events) { ev.Item(text("1", "x", 1)) }},
		{name: "item outside a turn", want: "outside a turn", open: func(ev agent.Events) {
			ev.Ready(agent.Ready{})
			ev.Item(text("1", "x", 1))
		}},
		{name: "invalid item", want: "invalid_enum", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(tool("1", "sleeping"))
			return completed
		}},
		{name: "item left open", want: "still open", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(tool("1", agent.StateRunning))
			return completed
		}},
		{name: "text left open", want: "still open", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(text("1", "", 0))
			return completed
		}},
		{name: "whole text differs from appends", want: "does not begin", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(text("1", "", 0))
			ev.Append("1", "Hello")
			ev.Item(text("1", "Goodbye", 1))
			return completed
		}},
		{name: "append to nothing", want: "never published", script: func(ev agent.Events) agent.TurnEnd {
			ev.Append("9", "x")
			return completed
		}},
		{name: "append to a closed row", want: "which is closed", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(text("1", "x", 1))
			ev.Append("1", "y")
			return completed
		}},
		{name: "too long an append", want: "text_too_long", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(text("1", "", 0))
			s := strings.Repeat("x", agent.LimitTextBytes+1)
			ev.Append("1", s)
			ev.Item(text("1", s, 1))
			return completed
		}},
		{name: "tool goes back", want: "invalid_transition", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(tool("1", agent.StateCompleted))
			ev.Item(tool("1", agent.StateFailed))
			return completed
		}},
		{name: "type changes", want: "changed its type", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(text("1", "x", 1))
			ev.Item(tool("1", agent.StateCompleted))
			return completed
		}},
		{name: "user text changes", want: "user row", script: func(ev agent.Events) agent.TurnEnd {
			ev.Item(agent.Item{ID: "1", Type: agent.ItemUser, Text: "a"})
			ev.Item(agent.Item{ID: "1", Type: agent.ItemUser, Text: "b"})
			return completed
		}},
		{name: "unknown parent", want: "no sub-agent", script: func(ev agent.Events) agent.TurnEnd {
			it := text("1", "x", 1)
			it.ParentID = "nobody"
			ev.Item(it)
			return completed
		}},
		{name: "failed without a reason", want: "no reason", script: func(agent.Events) agent.TurnEnd {
			return agent.TurnEnd{Outcome: agent.OutcomeFailed}
		}},
		{name: "interrupted by a provider", want: "cannot end a turn", script: func(agent.Events) agent.TurnEnd {
			return agent.TurnEnd{Outcome: agent.OutcomeInterrupted}
		}},
		{name: "own turn inside a prompt", want: "while one of origin", script: func(ev agent.Events) agent.TurnEnd {
			ev.Turn(agent.TurnEvent{Origin: agent.OriginAgent})
			return completed
		}},
		{name: "prompted turn by the provider", want: "origin agent only", script: func(ev agent.Events) agent.TurnEnd {
			ev.Turn(agent.TurnEvent{Origin: agent.OriginPrompt})
			return completed
		}},
		{name: "approval without options", want: "no option", script: func(ev agent.Events) agent.TurnEnd {
			bad := ask
			bad.Options = nil
			ev.Approval(context.Background(), bad)
			return completed
		}},
		{name: "acknowledged and never asked", want: "never asked", script: func(ev agent.Events) agent.TurnEnd {
			ev.ApprovalAcked("zz")
			return completed
		}},
		{name: "acknowledged though it never does", want: "acknowledged without", script: func(ev agent.Events) agent.TurnEnd {
			ev.Approval(context.Background(), ask)
			ev.ApprovalAcked("a")
			return completed
		}},
		{name: "anything after Exit", want: "after_exit", script: func(ev agent.Events) agent.TurnEnd {
			ev.Exit(agent.Exit{})
			ev.Title("still here")
			return completed
		}},
		{name: "unknown delivery", want: "delivery", script: func(ev agent.Events) agent.TurnEnd {
			ev.Delivery("c", "lost")
			return completed
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := NewRecorder()
			rec.Decide = firstOption
			f := &fake{open: c.open, script: func(_ context.Context, ev agent.Events) (agent.TurnEnd, error) {
				if c.script == nil {
					return completed, nil
				}
				return c.script(ev), nil
			}}
			s, err := f.Open(t.Context(), agent.OpenRequest{}, rec)
			if err != nil {
				t.Fatal(err)
			}
			rec.BeginPrompt()
			end, err := s.Prompt(t.Context(), agent.Prompt{Text: "x", ClientID: "c"})
			rec.EndPrompt(end, err)
			got := strings.Join(rec.Violations(), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("violations %q, want %q", got, c.want)
			}
		})
	}
}

// TestAfterTheEnd: rows of an ended turn are not to be touched.
func TestAfterTheEnd(t *testing.T) {
	rec := NewRecorder()
	rec.Ready(agent.Ready{})
	rec.BeginPrompt()
	rec.Item(text("1", "x", 1))
	rec.EndPrompt(completed, nil)
	rec.BeginPrompt()
	rec.Item(text("1", "xy", 1))
	rec.Append("1", "z")
	rec.EndPrompt(completed, nil)
	got := strings.Join(rec.Violations(), "\n")
	for _, want := range []string{"item 1 of an ended turn was touched", "appended to item 1 of an ended turn"} {
		if !strings.Contains(got, want) {
			t.Errorf("violations %q lack %q", got, want)
		}
	}
}

// TestOverlap: calls that are not serialised are noticed.
func TestOverlap(t *testing.T) {
	rec := NewRecorder()
	rec.inside.Store(true) // as if another call had not returned
	rec.Ready(agent.Ready{})
	if got := strings.Join(rec.Violations(), "\n"); !strings.Contains(got, "serialises") {
		t.Errorf("violations %q", got)
	}
}

// TestApprovalEndsWithItsTurn: nobody answers, the turn ends, Canceled comes
// back.
func TestApprovalEndsWithItsTurn(t *testing.T) {
	rec := NewRecorder()
	rec.Ready(agent.Ready{})
	rec.BeginPrompt()
	got := make(chan agent.ApprovalAnswer)
	go func() {
		got <- rec.Approval(context.Background(), agent.Approval{ID: "a", Kind: agent.ApprovalPlan, Title: "Go?",
			Options: []agent.Option{{ID: "y", Label: "Yes", Reach: "once"}}})
	}()
	if err := rec.Wait(t.Context(), "the approval", func() bool { return len(rec.Approvals()) == 1 }); err != nil {
		t.Fatal(err)
	}
	rec.EndPrompt(agent.TurnEnd{Outcome: agent.OutcomeCanceled}, nil)
	if a := <-got; !a.Canceled {
		t.Errorf("the answer is %+v", a)
	}
	if v := rec.Violations(); len(v) > 0 {
		t.Error(v)
	}
}
