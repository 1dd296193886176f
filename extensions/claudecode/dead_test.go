package claudecode

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// A call that nothing will answer any more is shown as ended: in the mirror, in
// an import, and where the reading begins behind it.
func TestOpenCallOfADeadSessionIsEnded(t *testing.T) {
	h := quietHost(t)
	hd := transcript(t, h, "/w/app", "S1", said{"user", "u1", "", "go"}, said{"call", "a1", "u1", "m1 t1"})
	for name, from := range map[string]agent.Position{"the beginning": {}, "behind the call": {RecordID: "a1"}} {
		s := mirrored(t, h, hd, from)
		it := s.items["t1"]
		if it.Open() || it.State != agent.StateCanceled || it.EndedAt == 0 {
			t.Errorf("from %s: %+v", name, it)
		}
		if from.RecordID != "" && len(s.order) != 1 {
			t.Errorf("from %s came %v", name, s.order)
		}
	}
	// The dead process' entry may still lie there.
	registryFile(t, h, os.Getpid(), func(m map[string]any) { m["procStart"] = "1" })
	if it := mirrored(t, h, hd, agent.Position{}).items["t1"]; it.Open() {
		t.Errorf("with a stale entry: %+v", it)
	}
}

// While a process has the session its open call may be running; what was open
// before a later prompt is not.
func TestOpenCallOfALivingSession(t *testing.T) {
	h := quietHost(t)
	registryFile(t, h, os.Getpid(), nil)
	hd := transcript(t, h, "/w/app", "S1", said{"user", "u1", "", "go"}, said{"call", "a1", "u1", "m1 t1"})
	if it := mirrored(t, h, hd, agent.Position{}).items["t1"]; !it.Open() || it.State != agent.StateRunning {
		t.Errorf("it runs: %+v", it)
	}
	hd = transcript(t, h, "/w/app", "S1", said{"user", "u1", "", "go"}, said{"call", "a1", "u1", "m1 t1"},
		said{"user", "u2", "a1", "after the crash"}, said{"call", "a2", "u2", "m2 t2"})
	s := mirrored(t, h, hd, agent.Position{})
	if first, second := s.items["t1"], s.items["t2"]; first.Open() || first.State != agent.StateCanceled || !second.Open() {
		t.Errorf("resumed: %+v, then %+v", first, second)
	}
	// A command typed while the call runs is no end of it: its answer still counts.
	hd = transcript(t, h, "/w/app", "S1", said{"user", "u1", "", "go"}, said{"call", "a1", "u1", "m1 t1"},
		said{"user", "u2", "a1", "<command-name>/model</command-name>"}, said{"result", "r1", "u2", "t1"})
	if it := mirrored(t, h, hd, agent.Position{}).items["t1"]; it.State != agent.StateCompleted || it.Output != "ok" {
		t.Errorf("answered later: %+v", it)
	}
}

// The end of the process comes while the mirror runs; what it wrote last counts.
func TestOpenCallWhoseAnswerComesWithTheEnd(t *testing.T) {
	h := quietHost(t)
	registryFile(t, h, os.Getpid(), nil)
	list := []said{{"user", "u1", "", "go"}, {"call", "a1", "u1", "m1 t1"}, {"call", "a2", "a1", "m2 t2"}}
	hd := transcript(t, h, "/w/app", "S1", list...)
	s := newSheet()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- New(h).Handover.Mirror(ctx, hd, agent.Position{}, s) }()
	wait, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	s.wait(wait, t, "the open calls", func() bool { return s.caught > 0 })
	transcript(t, h, "/w/app", "S1", append(list, said{"result", "r1", "a2", "t1"})...)
	if err := os.Remove(filepath.Join(sessionsDir(configDir(h, nil)), pidFile())); err != nil {
		t.Fatal(err)
	}
	s.wait(wait, t, "both ends", func() bool { a, b := s.items["t1"], s.items["t2"]; return !a.Open() && !b.Open() })
	if a, b := s.items["t1"].State, s.items["t2"].State; a != agent.StateCompleted || b != agent.StateCanceled {
		t.Errorf("ended %s and %s", a, b)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func pidFile() string { return strconv.Itoa(os.Getpid()) + ".json" }
