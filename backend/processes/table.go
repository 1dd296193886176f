package processes

import "sort"

// maxAncestors bounds a walk up the tree; a table read while processes come
// and go may hold a cycle.
const maxAncestors = 128

// Table is the process table at one moment. It is never changed and may be
// shared.
type Table struct {
	procs map[int]Proc
	kids  map[int][]int
}

// NewTable builds a table from rows, for tests and for decoders.
func NewTable(rows []Proc) *Table {
	t := &Table{procs: make(map[int]Proc, len(rows)), kids: make(map[int][]int, len(rows))}
	for _, p := range rows {
		t.procs[p.Pid] = p
		t.kids[p.Ppid] = append(t.kids[p.Ppid], p.Pid)
	}
	for _, k := range t.kids {
		sort.Ints(k)
	}
	return t
}

// Len is the number of processes.
func (t *Table) Len() int { return len(t.procs) }

// Get is the row of a pid; zombies are in the table.
func (t *Table) Get(pid int) (Proc, bool) {
	p, ok := t.procs[pid]
	return p, ok
}

// Has reports whether exactly this process was running.
func (t *Table) Has(id Identity) bool {
	p, ok := t.procs[id.Pid]
	return ok && p.Identity == id && !p.Zombie
}

// All are the rows in the order of their pids.
func (t *Table) All() []Proc {
	out := make([]Proc, 0, len(t.procs))
	for _, p := range t.procs {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Pid < out[j].Pid })
	return out
}

// Ancestors are the parent of pid, its parent and so on, nearest first, up to
// the first process. pid itself is not among them. A parent that started
// after its child is another process with a reused pid and ends the walk.
func (t *Table) Ancestors(pid int) []Proc {
	var out []Proc
	cur, ok := t.procs[pid]
	for range maxAncestors {
		if !ok || cur.Ppid <= 0 || cur.Ppid == cur.Pid {
			break
		}
		parent, found := t.procs[cur.Ppid]
		if !found || parent.Start > cur.Start {
			break
		}
		out = append(out, parent)
		cur = parent
	}
	return out
}

// Children are the direct children of pid in the order of their pids.
func (t *Table) Children(pid int) []Proc {
	out := make([]Proc, 0, len(t.kids[pid]))
	for _, k := range t.kids[pid] {
		out = append(out, t.procs[k])
	}
	return out
}

// Descendants are all processes below pid, parents before children.
func (t *Table) Descendants(pid int) []Proc {
	var out []Proc
	seen := map[int]bool{pid: true}
	for next := []int{pid}; len(next) > 0; {
		cur := next[0]
		next = next[1:]
		for _, k := range t.kids[cur] {
			if !seen[k] {
				seen[k] = true
				out = append(out, t.procs[k])
				next = append(next, k)
			}
		}
	}
	return out
}

// Session are the processes of a kernel session in the order of their pids,
// zombies left out.
func (t *Table) Session(sid int) []Proc {
	return t.where(func(p Proc) bool { return p.Sid == sid })
}

// Group are the processes of a process group, zombies left out.
func (t *Table) Group(pgrp int) []Proc {
	return t.where(func(p Proc) bool { return p.Pgrp == pgrp })
}

func (t *Table) where(keep func(Proc) bool) []Proc {
	var out []Proc
	for _, p := range t.procs {
		if !p.Zombie && keep(p) {
			out = append(out, p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Pid < out[j].Pid })
	return out
}

// Ancestors reads the ancestors of one process, nearest first, without
// reading the whole table.
func Ancestors(pid int) []Proc {
	cur, err := Read(pid)
	var out []Proc
	for range maxAncestors {
		if err != nil || cur.Ppid <= 0 {
			break
		}
		var parent Proc
		if parent, err = Read(cur.Ppid); err != nil || parent.Start > cur.Start {
			break
		}
		out = append(out, parent)
		cur = parent
	}
	return out
}
