package claudecode

import (
	"os/exec"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// `claude -p` is a session while it runs: its row comes, follows what it does, and
// goes with it; then it is in the list of stored sessions.
func TestRealPrintModeIsASession(t *testing.T) {
	l := newLab(t)
	l.acceptFolder()
	o := observe(t, l.host)
	const id = "00000000-0000-4000-8000-0000000000cc"
	cmd := exec.CommandContext(o.ctx, l.bin, "-p", "--permission-mode", modeAsk, "--session-id", id, "scenario:hold")
	cmd.Dir, cmd.Env = l.cwd, l.host.Environ(nil)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	s := o.until("the printing one", func(s agent.Snapshot) bool {
		return s.ID == id && s.Status == agent.StatusRunning && s.Title == "scenario:hold"
	})
	if s.Pid != cmd.Process.Pid || s.Link != agent.LinkProved || s.Cwd != l.cwd {
		t.Errorf("%+v", s)
	}
	if err := cmd.Process.Kill(); err != nil { // kill -9: its entry stays
		t.Fatal(err)
	}
	_ = cmd.Wait()
	o.gone(id)
	list := pages(t, l.h.Handover.(agent.Importer), "", 10)
	if len(list) != 1 || list[0].Handle.NativeID != id || list[0].First != "scenario:hold" || list[0].Handle.Cwd != l.cwd || list[0].LastTurn != "" {
		t.Errorf("stored: %+v", list)
	}
	if rows, counts := rowsOf(t, file(l.host, l.cwd, id)); texts(rows) != "scenario:hold" || counts.Skipped != 0 || len(counts.Unknown) != 0 {
		t.Errorf("rows: %s %+v", texts(rows), counts)
	}
}
