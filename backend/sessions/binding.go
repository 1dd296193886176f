package sessions

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// folder is a working directory that rows share.
type folder struct {
	cwd     string
	project model.Project
	rows    int
	stop    func()
}

// enterFolder moves a row to a folder. Called with mu held; the look-up is a few
// stat calls.
func (r *Registry) enterFolder(x *row, cwd string) {
	r.leaveFolder(x)
	x.cwd = cwd
	f := r.folders[cwd]
	if f == nil {
		f = &folder{cwd: cwd, project: r.o.Project(cwd), stop: func() {}}
		r.folders[cwd] = f
		if r.o.Follow != nil {
			f.stop = r.o.Follow(cwd, func(p model.Project) { r.projectChanged(f, p) })
		}
	}
	f.rows++
	x.folder = f
}

func (r *Registry) leaveFolder(x *row) {
	f := x.folder
	if f == nil {
		return
	}
	x.folder = nil
	if f.rows--; f.rows == 0 {
		delete(r.folders, f.cwd)
		f.stop()
	}
}

func (r *Registry) projectChanged(f *folder, p model.Project) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.project = p
	for _, x := range r.rows {
		if x.folder == f {
			r.refresh(x)
		}
	}
}

// bind asks for a row's place. Called with mu held.
func (r *Registry) bind(x *row) {
	r.toBind[x.key] = true
	wake(r.bindWake)
}

// Rebind looks for every place anew: a terminal was opened or closed, a
// multiplexer was attached or detached, or a program reported its status.
func (r *Registry) Rebind() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bindAll = true
	wake(r.bindWake)
}

// job is one row to be bound.
type job struct {
	key   model.SessionKey
	proc  processes.Identity
	faces []int
}

func (r *Registry) runBinding() {
	for {
		select {
		case <-r.bindWake:
		case <-r.ctx.Done():
			return
		}
		if jobs := r.jobs(); len(jobs) > 0 {
			r.place(jobs)
		}
		r.mu.Lock()
		close(r.bound)
		r.bound = make(chan struct{})
		r.mu.Unlock()
	}
}

// Bound waits until the place of every process that is shown is known, or ctx
// ends.
func (r *Registry) Bound(ctx context.Context) {
	for {
		r.mu.Lock()
		open, bound := r.bindAll, r.bound
		for _, x := range r.rows {
			open = open || !x.proc.IsZero() && x.bound != x.proc
		}
		r.mu.Unlock()
		if !open {
			return
		}
		select {
		case <-bound:
		case <-ctx.Done():
			return
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *Registry) jobs() []job {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []job
	for key, x := range r.rows {
		if x.proc.IsZero() || !r.bindAll && !r.toBind[key] {
			continue
		}
		j := job{key: key, proc: x.proc}
		if p := x.best(); p != nil {
			j.faces = p.snap.FacePids
		}
		list = append(list, j)
	}
	r.bindAll = false
	clear(r.toBind)
	return list
}

// place finds where processes run, by one process table for all of them.
func (r *Registry) place(jobs []job) {
	t, err := processes.Snapshot()
	if err != nil {
		r.o.Log.Warn("sessions: the process table cannot be read", "err", err)
		return
	}
	for _, j := range jobs {
		place, program := r.locate(t, j)
		inside := r.insideOurs(t, j.proc)
		r.mu.Lock()
		if x := r.rows[j.key]; x != nil && x.proc == j.proc && !r.closed {
			x.place, x.program, x.bound = place, program, j.proc
			x.inside = inside
			r.adoptRelated(x, t)
			r.refresh(x)
		}
		r.mu.Unlock()
	}
}

// insideOurs reports whether a process descends from a chat's agent of ours: a
// wrapper started it, or the agent did.
func (r *Registry) insideOurs(t *processes.Table, id processes.Identity) bool {
	up := t.Ancestors(id.Pid)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range up {
		if r.isOurs(p.Identity) {
			return true
		}
	}
	return false
}

func (r *Registry) locate(t *processes.Table, j job) (model.Place, *model.ProgramStatus) {
	// A terminal that is attached to a server says more than the server's own.
	for _, pid := range append(append([]int{}, j.faces...), j.proc.Pid) {
		if r.o.Terminals == nil {
			break
		}
		id, ok := r.o.Terminals.Of(t, pid)
		if !ok {
			continue
		}
		place := model.Place{Kind: "tab", TerminalID: id, CanFocus: true}
		term, ok := r.o.Terminals.Get(id)
		if ok {
			place.Label = short(clean(term.Title))
		}
		if term.Program == nil {
			return place, nil
		}
		// What the terminal was told counts for this agent only while it is the
		// one in the foreground.
		group, ok := r.o.Terminals.Foreground(id)
		if p, found := t.Get(pid); !ok || !found || p.Pgrp != group {
			return place, nil
		}
		return place, term.Program
	}
	outside := model.Place{Kind: "external", External: true, WhyNot: "it descends from no terminal that is known here"}
	if r.o.Native == nil {
		return outside, nil
	}
	for _, pid := range append(append([]int{}, j.faces...), j.proc.Pid) {
		place := r.o.Native.Locate(r.ctx, t, pid)
		if place.Kind == "" || place.Kind == "none" {
			continue
		}
		place.External, place.Label = true, clean(place.Label)
		outside = place
		if place.Kind != "external" {
			break
		}
	}
	return outside, nil
}
