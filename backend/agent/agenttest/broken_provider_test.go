package agenttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// puppet is a provider without a process that keeps every rule, except the one
// that its fault names.
type puppet struct{ fault string }

var rowNumber atomic.Int64

func rowID() string { return fmt.Sprint("row-", rowNumber.Add(1)) }

func (p puppet) Availability(context.Context) (agent.Availability, error) {
	return agent.Availability{Available: true}, nil
}

type puppetSession struct {
	*fakeSession
	puppet puppet
	left   *exec.Cmd
	exit   sync.Once
}

func (p puppet) Open(_ context.Context, req agent.OpenRequest, ev agent.Events) (agent.ChatSession, error) {
	if req.Binary != "" && p.fault != "opens anything" {
		return nil, errors.New("no such binary")
	}
	s := &puppetSession{puppet: p}
	ready := agent.Ready{Handle: &agent.Handle{Harness: "puppet", NativeID: "s", Cwd: req.WorkingDirectory}}
	switch p.fault {
	case "leaves a process":
		s.left = exec.Command("sleep", "30")
		s.left.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := s.left.Start(); err != nil {
			return nil, err
		}
		ready.Pid = s.left.Process.Pid
	case "steers in name only":
		ready.Abilities = []agent.Ability{agent.AbilitySteer}
	case "leaves a goroutine":
		go func() { time.Sleep(time.Minute) }()
	}
	ev.Ready(ready)
	s.fakeSession = &fakeSession{f: &fake{}, ev: ev}
	if p.fault == "cancels in name only" {
		s.f.cancel = func(context.CancelFunc) {}
	}
	return s, nil
}

func (s *puppetSession) Prompt(ctx context.Context, p agent.Prompt) (agent.TurnEnd, error) {
	s.f.script = func(ctx context.Context, ev agent.Events) (agent.TurnEnd, error) {
		id := rowID()
		ev.Item(text(id, "", 0))
		ev.Append(id, "Hello")
		if p.Text == "run on" {
			wait := time.After(time.Minute)
			if s.puppet.fault == "cancels in name only" {
				wait = time.After(200 * time.Millisecond)
			}
			select {
			case <-ctx.Done():
			case <-wait:
			}
		}
		ev.Item(text(id, "Hello", 1))
		if p.Text == "ask" {
			return s.ask(ctx, ev), nil
		}
		if ctx.Err() != nil && s.puppet.fault != "calls a stopped turn completed" {
			return agent.TurnEnd{Outcome: agent.OutcomeCanceled}, nil
		}
		return completed, nil
	}
	return s.fakeSession.Prompt(ctx, p)
}

func (s *puppetSession) ask(ctx context.Context, ev agent.Events) agent.TurnEnd {
	id := rowID()
	ev.Item(tool(id, agent.StateRunning))
	a := agent.Approval{ID: rowID(), ItemID: id, Kind: agent.ApprovalTool, Title: "Run?", Options: []agent.Option{
		{ID: "y", Label: "Yes", Kind: agent.OptionAllowOnce, Reach: "once"},
		{ID: "n", Label: "No", Kind: agent.OptionRejectOnce, Reach: "once"},
	}}
	wait := ctx
	if s.puppet.fault == "never withdraws" {
		wait = context.Background()
	}
	switch ans := ev.Approval(wait, a); {
	case s.puppet.fault == "acts on a no", ans.OptionID == "y":
		ev.Item(tool(id, agent.StateCompleted))
	case ans.OptionID == "n":
		ev.Item(tool(id, agent.StateDeclined))
	default:
		ev.Item(tool(id, agent.StateCanceled))
		return agent.TurnEnd{Outcome: agent.OutcomeCanceled}
	}
	return completed
}

func (s *puppetSession) Close(ctx context.Context) error {
	if s.puppet.fault == "takes prompts after Close" {
		s.exit.Do(func() { s.ev.Exit(agent.Exit{}) })
		return nil
	}
	err := s.fakeSession.Close(ctx)
	if s.left != nil && s.closedTwice() {
		_ = s.left.Process.Kill()
		_ = s.left.Wait()
		s.left = nil
	}
	return err
}

var closes atomic.Int64

// closedTwice lets the left-over process go after the suite has looked.
func (s *puppetSession) closedTwice() bool { return closes.Add(1)%2 == 0 }

// brokenEnv makes TestBrokenProviders run; it fails on purpose, in a process
// of its own.
const brokenEnv = "AGENTTEST_BROKEN_PROVIDERS"

// faults name the part of the suite that must notice.
var faults = []struct{ fault, part string }{
	{"none", ""},
	{"opens anything", "OpenFailure"},
	{"cancels in name only", "Cancel"},
	{"calls a stopped turn completed", "Cancel"},
	{"leaves a process", "Close"},
	{"takes prompts after Close", "Close"},
	{"acts on a no", "ApprovalOptions"},
	{"never withdraws", "ApprovalCanceled"},
	{"steers in name only", "Steer"},
	{"leaves a goroutine", "NoGoroutineLeft"},
}

func TestBrokenProviders(t *testing.T) {
	if os.Getenv(brokenEnv) == "" {
		return
	}
	for _, f := range faults {
		t.Run(f.fault, func(t *testing.T) {
			Provider(t, ProviderConfig{
				New: func(*testing.T) agent.ChatProvider { return puppet{f.fault} },
				Open: func(t *testing.T) agent.OpenRequest {
					return agent.OpenRequest{Kind: agent.KindWorkspace, WorkingDirectory: t.TempDir()}
				},
				Prompts: Prompts{Text: "hello", Running: "run on", Approval: "ask"},
				// Without a process nothing can be killed or resumed.
				Deadline: 2 * time.Second, Races: 1, without: []string{"Killed", "ApprovalAtDeath", "Resume"},
			})
		})
	}
}

// TestTheSuiteCanFail: each fault is found by the part that is there for it,
// and a provider without fault passes.
func TestTheSuiteCanFail(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestBrokenProviders$", "-test.v", "-test.timeout", "2m")
	cmd.Env = append(os.Environ(), brokenEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the suite passed the broken providers\n%s", out)
	}
	for _, f := range faults {
		name := "TestBrokenProviders/" + strings.ReplaceAll(f.fault, " ", "_")
		if f.part == "" {
			if !strings.Contains(string(out), "--- PASS: "+name+" ") {
				t.Errorf("a provider without fault failed\n%s", out)
			}
			continue
		}
		if !strings.Contains(string(out), "--- FAIL: "+name+"/"+f.part+" ") {
			t.Errorf("%q was not found by %s\n%s", f.fault, f.part, out)
		}
	}
}
