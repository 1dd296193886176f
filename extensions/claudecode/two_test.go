package claudecode

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Two processes on one session: nobody may write, and the row says so until one
// of them is gone.
func TestTwoProcessesOnOneSessionAreAmbiguous(t *testing.T) {
	h := quietHost(t)
	h.Exits = processes.NewExitWatcher()
	defer h.Exits.Close()
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan struct{})
	go func() { _ = other.Wait(); close(reaped) }()
	defer func() { _ = other.Process.Kill(); <-reaped }()
	registryFile(t, h, os.Getpid(), nil)
	registryFile(t, h, other.Process.Pid, func(m map[string]any) { m["status"] = "busy"; m["statusUpdatedAt"] = 9 })

	o, err := New(h).Handover.Owner(t.Context(), agent.Handle{NativeID: "S1", Cwd: "/w/app"}, nil)
	if err != nil || o.Owner != agent.OwnerTerminal || o.Link != agent.LinkAmbiguous || len(o.Faces) != 2 {
		t.Errorf("owner: %+v %v", o, err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := newBoard()
	done := make(chan error, 1)
	go func() {
		done <- New(h).Source.Start(ctx, agent.SourceStart{Harnesses: []string{harnessID}, Publisher: b})
	}()
	s := b.wait(ctx, t, "both", true, func(s agent.Snapshot) bool { return s.Link == agent.LinkAmbiguous })
	want := []int{os.Getpid(), other.Process.Pid}
	slices.Sort(want)
	if !slices.Equal(s.Candidates, want) || s.Pid != other.Process.Pid || s.Status != agent.StatusRunning {
		t.Errorf("row: %+v", s)
	}
	// Its end comes without a change of any file.
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s = b.wait(ctx, t, "one", true, func(s agent.Snapshot) bool { return s.Link == agent.LinkProved })
	if s.Pid != os.Getpid() || s.Status != agent.StatusIdle {
		t.Errorf("row: %+v", s)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
