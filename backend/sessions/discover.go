package sessions

import (
	"slices"
	"strconv"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Recognizers tell by harness which processes are agents.
type Recognizers map[string]agent.Recognizer

// startGrace is how long a process must live to be shown: a version query or a
// probe of ours is over by then.
const startGrace = 300 * time.Millisecond

// found is an agent process without a session that a source named.
type found struct {
	harness string
	session string // proved by argv, else ""
	proc    processes.Identity
	argv    []string
	cwd     string
	parents []processes.Identity
}

// Started looks at processes that just started and adds a row with the state
// starting for each agent among them that has written nothing yet. It is what a
// processes.StartWatcher calls.
func (r *Registry) Started(known Recognizers, ids []processes.Identity) {
	r.discover(known, ids, true)
}

func (r *Registry) discover(known Recognizers, ids []processes.Identity, young bool) {
	var list []found
	for _, id := range ids {
		if f, ok := r.recognize(known, id); ok {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return
	}
	t, err := processes.Snapshot()
	if err != nil {
		return
	}
	list = slices.DeleteFunc(list, func(f found) bool { return copied(t, f) })
	for i := range list {
		for _, p := range t.Ancestors(list[i].proc.Pid) {
			list[i].parents = append(list[i].parents, p.Identity)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range list {
		r.addProcess(f, t, young)
	}
}

// copied reports whether a process is a fork of the agent itself: between its
// fork and its exec a child bears the command line of its parent.
func copied(t *processes.Table, f found) bool {
	p, ok := t.Get(f.proc.Pid)
	if !ok {
		return false
	}
	argv, err := processes.Argv(p.Ppid)
	return err == nil && slices.Equal(argv, f.argv)
}

// Scan is Started for everything that runs now; once at the start and when a
// harness is switched on.
func (r *Registry) Scan(known Recognizers) {
	t, err := processes.Snapshot()
	if err != nil {
		return
	}
	var ids []processes.Identity
	for _, p := range t.All() {
		if !p.Zombie {
			ids = append(ids, p.Identity)
		}
	}
	r.discover(known, ids, false)
}

func (r *Registry) recognize(known Recognizers, id processes.Identity) (found, bool) {
	argv, err := processes.Argv(id.Pid)
	if err != nil || len(argv) == 0 {
		return found{}, false
	}
	exe, _ := processes.Exe(id.Pid) // unknown is allowed
	for harness, rec := range known {
		if rec == nil || !r.isEnabled(harness) {
			continue
		}
		got := rec.Recognize(exe, argv)
		if !got.Agent || got.Helper {
			continue
		}
		f := found{harness: harness, session: got.SessionID, proc: id, argv: argv}
		f.cwd, _ = processes.Cwd(id.Pid)
		return f, id.Alive()
	}
	return found{}, false
}

// addProcess adds a row for an agent process that no source tells of. Called
// with mu held.
func (r *Registry) addProcess(f found, t *processes.Table, young bool) {
	if r.closed || !r.enabled[f.harness] || r.isOurs(f.proc) {
		return
	}
	for _, p := range f.parents {
		if r.isOurs(p) {
			return
		}
	}
	for key, x := range r.rows {
		if key.Harness != f.harness || x.proc.IsZero() {
			continue
		}
		if x.proc == f.proc {
			return // a source names it
		}
		if above(t, f.proc, x.proc) {
			return // a wrapper of an agent that is known
		}
		for _, p := range f.parents {
			if x.proc != p {
				continue
			}
			if !x.process || len(x.reports) > 0 {
				return // started by an agent that has a session: part of it
			}
			x.process = false // a wrapper: the innermost process is the agent
			r.settle(x)
		}
	}
	key := model.SessionKey{Harness: f.harness, ID: f.session}
	if key.ID == "" {
		key.ID = "pid:" + strconv.Itoa(f.proc.Pid) + "." + strconv.FormatUint(f.proc.Start, 36)
	}
	x := r.rows[key]
	if x != nil && (len(x.reports) > 0 || x.process) {
		return
	}
	if x == nil {
		x = r.add(key)
	}
	r.revive(x)
	x.process, x.gone, x.state = true, processes.Identity{}, ""
	if young {
		x.showAt = r.o.Now().Add(startGrace)
	}
	if f.cwd != "" {
		r.enterFolder(x, f.cwd)
	}
	r.tie(x, f.proc)
	r.refresh(x)
}

// adoptProcessRows drops the rows that were found by their process only and are
// the session x. Called with mu held.
func (r *Registry) adoptProcessRows(x *row) {
	if x.proc.IsZero() {
		return
	}
	for key, y := range r.rows {
		if y != x && key.Harness == x.key.Harness && y.process && len(y.reports) == 0 && y.proc == x.proc {
			y.process = false
			r.settle(y)
		}
	}
	x.process = false
}

// above reports whether a process is an ancestor of another.
func above(t *processes.Table, id, of processes.Identity) bool {
	return slices.ContainsFunc(t.Ancestors(of.Pid), func(p processes.Proc) bool { return p.Identity == id })
}

// adoptRelated does the same for a wrapper above the session's process and for
// what the session's process started. Called with mu held.
func (r *Registry) adoptRelated(x *row, t *processes.Table) {
	if len(x.reports) == 0 {
		return
	}
	for key, y := range r.rows {
		if y != x && key.Harness == x.key.Harness && y.process && len(y.reports) == 0 && (above(t, y.proc, x.proc) || above(t, x.proc, y.proc)) {
			y.process = false
			r.settle(y)
		}
	}
}
