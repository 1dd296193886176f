//go:build agents && linux

package proof

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// part is what the tests must know of an agent: both play the same list.
type part struct {
	harness string
	world   setting
	// begin opens the agent's own interface on a new session, resume on one there is.
	begin  func(w *world) []string
	resume func(w *world, id string) []string
	// ready is on its screen once it can be typed into.
	ready string
	// run is a prompt whose command needs a permission, ran the text at its end.
	run, ran string
	// stands is a prompt whose turn ends when it is stopped; copies says that the
	// agent can copy a session.
	stands string
	copies bool
	// file is the transcript; link reads the tree from one of its records.
	file func(w *world, id string) string
	link func(line []byte) (id, parent string)
}

var parts = []part{
	{
		harness: "claude-code", world: setting{claude: true}, stands: "scenario:hold", copies: true,
		begin: func(w *world) []string { return []string{w.claude, "--permission-mode", "default"} },
		resume: func(w *world, id string) []string {
			return []string{w.claude, "--resume", id, "--permission-mode", "default"}
		},
		ready: "❯", run: "scenario:bash-allow", ran: "Done with bash.",
		file: func(w *world, id string) string {
			list, _ := filepath.Glob(filepath.Join(w.home, ".claude", "projects", "*", id+".jsonl"))
			if len(list) != 1 {
				w.t.Fatalf("transcripts of %s: %q", id, list)
			}
			return list[0]
		},
		link: func(line []byte) (string, string) {
			var r struct {
				UUID        string `json:"uuid"`
				ParentUUID  string `json:"parentUuid"`
				IsSidechain bool   `json:"isSidechain"`
			}
			if json.Unmarshal(line, &r) != nil || r.IsSidechain {
				return "", ""
			}
			return r.UUID, r.ParentUUID
		},
	},
	{
		harness: "rehearsal", world: setting{settings: `{"harnesses": {"rehearsal": {"args": ["--pace", "none"]}}}`}, stands: "wait",
		begin: func(*world) []string { return []string{binary, "rehearsal", "--pace", "none"} },
		resume: func(_ *world, id string) []string {
			return []string{binary, "rehearsal", "--pace", "none", "--resume", id}
		},
		ready: "›", run: "run date",
		file: func(w *world, id string) string {
			return filepath.Join(w.home, "w", "data", "rehearsal", "transcripts", id+".jsonl")
		},
		link: func(line []byte) (string, string) {
			var r struct{ ID, Parent string }
			if json.Unmarshal(line, &r) != nil {
				return "", ""
			}
			return r.ID, r.Parent
		},
	},
}

// tape watches the transcript of one session: lines are only added.
type tape struct {
	w    *world
	p    part
	path string
	seen []byte
}

func (w *world) tape(p part, id string) *tape {
	w.t.Helper()
	return &tape{w: w, p: p, path: p.file(w, id)}
}

// grew reads the file and looks that nothing of it was lost.
func (t *tape) grew() {
	t.w.t.Helper()
	now, err := os.ReadFile(t.path)
	if err != nil {
		t.w.t.Fatal(err)
	}
	if !bytes.HasPrefix(now, t.seen) {
		t.w.t.Errorf("lines of the transcript were lost:\n%s\nis now\n%s", t.seen, now)
	}
	if len(now) == len(t.seen) {
		t.w.t.Error("nothing was added to the transcript")
	}
	t.seen = now
}

// oneBranch walks from the record written last to the first one: every record
// is on the way, so no record has two children.
func (t *tape) oneBranch() {
	t.w.t.Helper()
	t.grew()
	parent := map[string]string{}
	last := ""
	for line := range bytes.Lines(t.seen) {
		id, up := t.p.link(line)
		if id == "" {
			continue
		}
		if was, twice := parent[id]; twice && was != up {
			t.w.t.Errorf("record %s hangs on %s and on %s", id, was, up)
		}
		if _, known := parent[up]; up != "" && !known {
			t.w.t.Errorf("record %s hangs on %s, which is not there", id, up)
		}
		parent[id], last = up, id
	}
	on := map[string]bool{}
	for at := last; at != "" && !on[at]; at = parent[at] {
		on[at] = true
	}
	for id := range parent {
		if !on[id] {
			t.w.t.Errorf("record %s is on another branch:\n%s", id, t.seen)
			return
		}
	}
	if len(on) < 4 {
		t.w.t.Errorf("only %d records", len(on))
	}
}

// prompts lists what was said in a chat, in order.
func prompts(rows []model.Row) (list []string) {
	for _, r := range rows {
		if r.Type == agent.ItemUser {
			list = append(list, r.Text)
		}
	}
	return list
}

// sameElsewhere reads the conversation with a second host, which knows nothing
// of the chat, and compares the rows byte by byte.
func (w *world) sameElsewhere(t *testing.T, p part, handle *agent.Handle, rows []model.Row) {
	t.Helper()
	other := w.second()
	v := other.adopt(p.harness, handle)
	got := v.all()
	lines := func(rows []model.Row) (list []string) {
		for _, r := range rows {
			if r.Type == agent.ItemNotice { // ours, not the agent's
				continue
			}
			if r.Type == agent.ItemUser { // shown before the agent has named it
				r.ID = r.NativeID
			}
			list = append(list, string(agent.RowBytes(r.Item)))
		}
		return list
	}
	a, b := lines(rows), lines(got)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("row %d differs\n shown: %s\n read:  %s", i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d rows were shown, %d are read from the transcript: %q, %q", len(a), len(b), prompts(rows), prompts(got))
	}
}
