//go:build agents && linux

package proof

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/e2e/modelserver"
)

// soon is the deadline of what the panel shows after its cause. The product is
// asked for 200 ms; the rest is for a loaded machine.
const soon = 3 * time.Second

// starts is how long an interface may take to open on a loaded machine.
const starts = 30 * time.Second

// scenes are the scenarios of these tests beside the built-in ones.
var scenes = []*modelserver.Scenario{
	{Name: "held-bash", About: "stands in its text, then runs a command that needs a permission", Steps: []modelserver.Step{
		{Blocks: []modelserver.Block{
			{Text: "I will <<hold:work>>run it."},
			{Tool: "Bash", Input: json.RawMessage(`{"command": "touch made-here.txt && echo hi", "description": "Make a file"}`)},
		}},
		{Blocks: []modelserver.Block{{Text: "It was run."}}},
	}},
}

// The interface of Claude Code is found wherever it runs, bound by proof, and
// its state follows; it is gone when its process is.
func TestFoundAndBound(t *testing.T) {
	for _, place := range []string{"tab", "tmux", "xterm"} {
		t.Run(place, func(t *testing.T) {
			w := newWorld(t, setting{claude: true, display: place == "xterm"})
			w.serve()
			b := w.board()
			f := w.open(place, w.claude, "--permission-mode", "default")
			idle := b.row("the interface", starts, func(s model.Session) bool {
				return s.Key.Harness == "claude-code" && s.State == model.SessionIdle && s.Cwd == w.cwd && s.Pid != 0
			})
			if idle.Link != agent.LinkProved || idle.Evidence.Source != "registry" || idle.Evidence.Text == "" {
				t.Errorf("row: %+v", idle)
			}
			if idle.Project.Name != "proj" {
				t.Errorf("project %+v", idle.Project)
			}
			f.proves(idle.Place)
			f.raised(call[api.FocusResult](w, "sessions.focus", api.SessionRef{Key: idle.Key}))
			mine := func(state model.SessionState) func(model.Session) bool {
				return func(s model.Session) bool { return s.Key == idle.Key && s.State == state }
			}

			w.sees(f, "❯")
			w.line(f, "scenario:held-bash", func(within time.Duration) bool {
				return len(w.model.Turns()) > 0 || b.has(within, mine(model.SessionRunning), nil)
			})
			if err := w.model.WaitHeld(w.ctx(), "work"); err != nil {
				t.Fatal(err)
			}
			b.row("running", soon, mine(model.SessionRunning))
			w.model.Release("work")
			w.sees(f, "Do you want to proceed?")
			waiting := b.row("waiting", soon, mine(model.SessionWaiting))
			if waiting.WaitingKind != agent.WaitApproval || waiting.WaitingFor == "" || !waiting.NeedsYou {
				t.Errorf("waiting row: %+v", waiting)
			}
			if _, err := os.Lstat(filepath.Join(w.cwd, "made-here.txt")); err == nil {
				t.Error("the command ran before the answer")
			}
			w.answer(f, "1", b, idle.Key)
			b.row("idle", patience, mine(model.SessionIdle))
			if _, err := os.Lstat(filepath.Join(w.cwd, "made-here.txt")); err != nil {
				t.Error("the allowed command did not run")
			}
			// What is between is not told apart on a slow machine, the order is.
			got := b.states(idle.Key)
			want := []model.SessionState{model.SessionIdle, model.SessionRunning, model.SessionWaiting, model.SessionIdle}
			if !inOrder(got, want) {
				t.Errorf("states %v, want %v in this order", got, want)
			}

			// It is listed by a command too, and leaves with its process.
			w.line(f, "/exit", func(within time.Duration) bool { return !alive(idle.Pid, within) })
			b.gone(soon, idle.Key)
		})
	}
}

func inOrder(got, want []model.SessionState) bool {
	for _, s := range want {
		i := slices.Index(got, s)
		if i < 0 {
			return false
		}
		got = got[i+1:]
	}
	return true
}

// alive reports whether a process still runs when the time is over.
func alive(pid int, within time.Duration) bool {
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		if _, err := processes.Identify(pid); err != nil { // one that nobody reaped has ended too
			return false
		}
		if !time.Now().Before(deadline) {
			return true
		}
	}
}

// The same with Rehearsal, which no agent has to be installed for.
func TestRehearsalIsFoundAndBound(t *testing.T) {
	for _, place := range []string{"tab", "tmux", "xterm"} {
		t.Run(place, func(t *testing.T) {
			w := newWorld(t, setting{display: place == "xterm"})
			w.serve()
			b := w.board()
			f := w.open(place, binary, "rehearsal", "--pace", "none")
			row := b.row("the interface", starts, func(s model.Session) bool {
				return s.Key.Harness == "rehearsal" && s.State == model.SessionIdle && s.Cwd == w.cwd && s.Place.Kind != "none"
			})
			if row.Link != agent.LinkProved {
				t.Errorf("row: %+v", row)
			}
			f.proves(row.Place)
			w.sees(f, "›")
			waits := func(s model.Session) bool { return s.Key == row.Key && s.State == model.SessionWaiting }
			w.line(f, "run date", func(within time.Duration) bool { return b.has(within, waits, nil) })
			if got := b.row("waiting", soon, waits); got.WaitingKind != agent.WaitApproval || !got.NeedsYou {
				t.Errorf("waiting row: %+v", got)
			}
			w.answer(f, "1", b, row.Key)
			b.row("idle", soon, func(s model.Session) bool { return s.Key == row.Key && s.State == model.SessionIdle })
			if got := b.states(row.Key); !inOrder(got, []model.SessionState{model.SessionIdle, model.SessionWaiting, model.SessionIdle}) {
				t.Errorf("states %v", got)
			}
			w.line(f, "/exit", func(within time.Duration) bool { return !alive(row.Pid, within) })
			b.gone(soon, row.Key)
		})
	}
}

// open runs an agent's own interface in a place.
func (w *world) open(place string, argv ...string) face {
	w.t.Helper()
	switch place {
	case "tab":
		return w.openTab(argv...)
	case "tmux":
		return w.openPane(argv...)
	}
	return w.openXterm(argv...)
}

// An agent that is killed leaves its entry behind and is gone all the same.
func TestKilledAgentIsGone(t *testing.T) {
	for _, place := range []string{"tab", "tmux", "xterm"} {
		t.Run(place, func(t *testing.T) {
			w := newWorld(t, setting{claude: true, display: place == "xterm"})
			w.serve()
			b := w.board()
			f := w.open(place, w.claude, "--permission-mode", "default")
			row := b.row("the interface", starts, func(s model.Session) bool {
				return s.Key.Harness == "claude-code" && s.State == model.SessionIdle && s.Cwd == w.cwd && s.Place.Kind != "none"
			})
			f.proves(row.Place)
			if err := syscall.Kill(row.Pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			b.gone(soon, row.Key)
		})
	}
}

// What ran before the host is shown by a command that starts one for its own
// time, and by the next host at once.
func TestFoundByAHostThatStartsLater(t *testing.T) {
	w := newWorld(t, setting{claude: true})
	f := w.open("tmux", w.claude, "--permission-mode", "default")
	w.sees(f, "❯")
	w.eventually("its entry", func() bool {
		list, _ := filepath.Glob(filepath.Join(w.home, ".claude", "sessions", "*.json"))
		return len(list) == 1
	})
	out, err := w.cli("ls", "--json")
	if err != nil {
		t.Fatal(err)
	}
	listed := decode[api.Sessions](json.RawMessage(out)).Sessions
	// Other agents of this machine are none of this test's.
	listed = slices.DeleteFunc(listed, func(s model.Session) bool { return s.Cwd != w.cwd })
	if len(listed) != 1 || listed[0].State != model.SessionIdle || listed[0].Link != agent.LinkProved {
		t.Fatalf("a host for one command lists %+v", listed)
	}
	f.proves(listed[0].Place)
	w.free()
	w.serve()
	row := w.board().row("the interface", soon, func(s model.Session) bool { return s.Key == listed[0].Key && s.State == model.SessionIdle })
	w.line(f, "/exit", func(within time.Duration) bool { return !alive(row.Pid, within) })
}
