package terminals

import "github.com/whippletree-app/whippletree/backend/processes"

// Of tells which terminal a process runs in, proved by the process table: it
// is in the terminal's kernel session, has it as its controlling terminal, or
// descends from its leader. A process under a tmux server descends from no
// terminal of ours even when the tmux client runs in one.
func (m *Manager) Of(t *processes.Table, pid int) (id string, ok bool) {
	p, found := t.Get(pid)
	if !found {
		return "", false
	}
	return m.of(p, t.Ancestors(pid))
}

// ByPid is Of without a table at hand: it reads the process and its
// ancestors, not the whole table.
func (m *Manager) ByPid(pid int) (id string, ok bool) {
	p, err := processes.Read(pid)
	if err != nil {
		return "", false
	}
	return m.of(p, processes.Ancestors(pid))
}

func (m *Manager) of(p processes.Proc, up []processes.Proc) (string, bool) {
	all := m.all()
	for _, t := range all {
		if t.owns(p.Sid, p.TTY) && p.Start >= t.leader.Start && p.Boot == t.leader.Boot {
			return t.id, true
		}
	}
	for _, a := range append([]processes.Proc{p}, up...) {
		for _, t := range all {
			if a.Identity == t.leader {
				return t.id, true
			}
		}
	}
	return "", false
}

func (t *terminal) owns(sid int, tty uint64) bool {
	return sid != 0 && sid == t.leader.Pid || tty != 0 && tty == t.tty && t.running()
}

// Owns tells which terminal has this kernel session or this controlling
// terminal; 0 for what is not known.
func (m *Manager) Owns(sid int, tty uint64) (id string, ok bool) {
	for _, t := range m.all() {
		if t.owns(sid, tty) {
			return t.id, true
		}
	}
	return "", false
}

// Foreground is the process group that reads the keyboard of a terminal.
func (m *Manager) Foreground(id string) (group int, ok bool) {
	t, err := m.get(id)
	if err != nil || !t.running() {
		return 0, false
	}
	g := foreground(t.f)
	return g, g > 0
}

// Leaders are the processes that were started in the terminals and still run.
func (m *Manager) Leaders() []processes.Identity {
	var out []processes.Identity
	for _, t := range m.all() {
		if t.running() {
			out = append(out, t.leader)
		}
	}
	return out
}

// BusyCount is how many terminals run something beside their shell.
func (m *Manager) BusyCount() int {
	n := 0
	for _, t := range m.all() {
		if t.running() && t.busyNow() {
			n++
		}
	}
	return n
}
