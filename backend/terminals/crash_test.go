package terminals

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

type ledger struct {
	mu      sync.Mutex
	started []processes.Helper
	ended   []processes.Identity
}

func (l *ledger) Started(h processes.Helper) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = append(l.started, h)
	return nil
}

func (l *ledger) Ended(id processes.Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = append(l.ended, id)
}

// Case R03, the terminals' part: from what the ledger holds, a later host ends
// a session whose programs ignore HUP, and leaves alone who left it.
func TestCaseR03_ALaterHostEndsTheSession(t *testing.T) {
	l := &ledger{}
	f := newFixture(t, func(o *Options) { o.Ledger = l })
	dir := t.TempDir()
	info := f.create("sh", "-c", fmt.Sprintf(
		`cd %s; trap '' HUP TERM; sh -c 'sleep 600; true' & setsid sh -c 'echo $$ > left.new; mv left.new left; exec sleep 600' & wait`, dir))
	var left int
	waitFor(t, func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "left"))
		if err == nil {
			_, err = fmt.Fscan(bytes.NewReader(b), &left)
		}
		return err == nil && len(sessionMembers(f.Leaders()[0])) >= 3
	})
	escaped := mustIdentify(t, left)
	defer func() { _ = escaped.Signal(syscall.SIGKILL) }()

	got := processes.Reap(t.Context(), l.started)
	if len(got) != 1 || len(got[0].Ended) < 3 || len(got[0].Left) > 0 {
		t.Errorf("%+v", got)
	}
	if !escaped.Alive() {
		t.Error("who left the session was ended")
	}
	f.await(info.ID, func(m model.Terminal) bool { return !m.Running })
	if err := f.Close(t.Context(), info.ID); err != nil {
		t.Fatal(err)
	}
	if len(l.ended) != 1 || l.ended[0] != l.started[0].Identity {
		t.Errorf("%+v", l.ended)
	}
}

func TestFolderFollowsTheShell(t *testing.T) {
	f := newFixture(t)
	info := f.create()
	f.type_(info.ID, "cd /usr\r")
	f.await(info.ID, func(m model.Terminal) bool { return m.Cwd == "/usr" })
}
