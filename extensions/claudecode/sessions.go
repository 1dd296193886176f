package claudecode

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// source reports the sessions of the agent's live registry. It waits for
// changes of that folder and for the ends of its processes; nothing else
// wakes it.
type source struct{ host *agentkit.Host }

// Start publishes until ctx ends.
func (s *source) Start(ctx context.Context, start agent.SourceStart) error {
	if !slices.Contains(start.Harnesses, harnessID) {
		<-ctx.Done()
		return nil
	}
	roots := start.Roots
	if len(roots) == 0 {
		roots = []string{configDir(s.host, nil)}
	}
	o := &observer{
		host: s.host, publish: start.Publisher, roots: roots, wake: make(chan struct{}, 1),
		shown: map[string]agent.Snapshot{}, dirs: map[string]func(){}, held: map[int]string{}, last: map[int]entry{}, exits: map[agentkit.Identity]func(){},
	}
	return o.run(ctx)
}

// observer is one run of the source; one goroutine owns it.
type observer struct {
	host    *agentkit.Host
	publish agent.Publisher
	roots   []string
	wake    chan struct{}

	shown     map[string]agent.Snapshot // by session id
	held      map[int]string            // which session a process held before
	last      map[int]entry             // the entry that was read last, by pid
	exits     map[agentkit.Identity]func()
	dirs      map[string]func() // watched folders: how to end
	forward   sync.WaitGroup
	summaries summaries
	subagents subagents
	begun     bool
}

func (o *observer) run(ctx context.Context) error {
	defer o.forward.Wait()
	defer func() {
		for _, stop := range o.exits {
			stop()
		}
		for _, stop := range o.dirs {
			stop()
		}
	}()
	for {
		wanted := map[string]bool{}
		for _, root := range o.roots {
			wanted[sessionsDir(root)] = true
		}
		for _, e := range o.last { // a transcript is written a little after the registry
			wanted[filepath.Join(projectsDir(e.root()), slug(e.Cwd))] = true
			if path, ok := transcriptPath(e.root(), e.SessionID, e.Cwd); ok && isDir(strings.TrimSuffix(path, ".jsonl")) {
				wanted[subagentsDir(path)] = true
			}
		}
		o.watch(wanted)
		select {
		case <-o.wake:
			o.look()
		case <-ctx.Done():
			return nil
		}
	}
}

// watch follows exactly the wanted folders: the registries, and the folders
// where live sessions write.
func (o *observer) watch(wanted map[string]bool) {
	for dir, stop := range o.dirs {
		if !wanted[dir] {
			stop()
			delete(o.dirs, dir)
		}
	}
	for dir := range wanted {
		if o.dirs[dir] != nil {
			continue
		}
		w := o.host.Watcher.Watch(dir)
		end := make(chan struct{})
		o.dirs[dir] = func() { close(end); w.Close() }
		o.forward.Go(func() {
			for {
				select {
				case <-w.Wake():
					w.Take() // what is needed is read whole
					o.nudge()
				case <-end:
					return
				}
			}
		})
	}
}

func (o *observer) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// look reads the registries and publishes what is different.
func (o *observer) look() {
	var live []entry
	for _, root := range o.roots {
		r, err := readRegistry(root)
		if err != nil {
			o.publish.Diagnostic("registry-unreadable", "the list of live Claude Code sessions cannot be read")
			continue
		}
		for _, pid := range r.torn { // half written: what was known stays
			if e, ok := o.last[pid]; ok && e.identity.Alive() {
				r.live = append(r.live, e)
			}
		}
		for _, e := range r.live {
			o.last[e.Pid] = e
			live = append(live, e)
		}
	}
	o.followExits(live)
	o.show(live)
}

// followExits watches exactly the live processes.
func (o *observer) followExits(live []entry) {
	wanted := map[agentkit.Identity]bool{}
	for _, e := range live {
		wanted[e.identity] = true
		if o.exits[e.identity] != nil || o.host.Exits == nil {
			continue
		}
		stop, err := o.host.Exits.Watch(e.identity, o.nudge)
		if err != nil {
			o.nudge() // it ended just now
			continue
		}
		o.exits[e.identity] = stop
	}
	for id, stop := range o.exits {
		if !wanted[id] {
			stop()
			delete(o.exits, id)
			delete(o.last, id.Pid)
		}
	}
}

func (o *observer) show(live []entry) {
	now := map[string]agent.Snapshot{}
	held := map[int]string{}
	var order []string
	for _, e := range live {
		snap := o.snapshot(&e)
		held[e.Pid] = e.SessionID
		if before := o.held[e.Pid]; before != "" && before != e.SessionID {
			snap.Supersedes = before
		} else if old, ok := o.shown[e.SessionID]; ok && old.Pid == e.Pid {
			snap.Supersedes = old.Supersedes
		}
		if other, twice := now[e.SessionID]; twice { // two processes write to one session
			snap = both(other, snap)
		} else {
			order = append(order, e.SessionID)
		}
		now[e.SessionID] = snap
	}
	o.held = held
	var changed []agent.Snapshot
	for _, id := range order {
		if old, ok := o.shown[id]; !ok || !reflect.DeepEqual(old, now[id]) {
			changed = append(changed, now[id])
		}
	}
	if !o.begun {
		o.begun = true
		o.publish.Reset(changed)
	} else if len(changed) > 0 {
		o.publish.Upsert(changed...)
	}
	var gone []string
	for id := range o.shown {
		if _, ok := now[id]; !ok {
			gone = append(gone, id)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		o.publish.Remove(harnessID, gone...)
	}
	o.shown = now
}

// both is the row of a session that two processes hold: nobody may write.
func both(a, b agent.Snapshot) agent.Snapshot {
	if b.StatusAt >= a.StatusAt {
		a, b = b, a
	}
	a.Link = agent.LinkAmbiguous
	a.Candidates = append(append([]int{}, b.Candidates...), b.Pid, a.Pid)
	slices.Sort(a.Candidates)
	a.Candidates = slices.Compact(a.Candidates)
	a.Evidence = cutTo(strconv.Itoa(len(a.Candidates))+" processes name this session; "+a.Evidence, agent.LimitEvidence)
	return a
}

func (o *observer) snapshot(e *entry) agent.Snapshot {
	status, kind := e.status()
	snap := agent.Snapshot{
		ID: e.SessionID, Harness: harnessID, Pid: e.Pid, PidStartedAt: e.procStart(), Cwd: e.Cwd,
		Status: status, StatusAt: max(e.StatusSince, 0), WaitingKind: kind, Link: e.link,
		Evidence: e.evidence(), StartedAt: e.StartedAt,
	}
	if status == agent.StatusWaiting {
		snap.WaitingFor = cutTo(e.WaitingFor, agent.LimitWaitingFor)
	}
	var sum summary
	if path, ok := transcriptPath(e.root(), e.SessionID, e.Cwd); ok {
		// While it runs the file grows all the time; what is known will do.
		sum = o.summaries.get(path, o.host.Time(), status == agent.StatusRunning)
		snap.Subagents = o.subagents.list(path)
	}
	snap.Title = sum.name(e.Name, e.NameSource == "user")
	snap.Model, snap.Mode = sum.model, sum.mode
	switch status {
	case agent.StatusIdle:
		snap.LastTurn, snap.LastTurnEndedAt = sum.lastTurn, sum.turnEnd
	case agent.StatusRunning, agent.StatusWaiting:
		snap.Tool = cutTo(sum.tool, agent.LimitTool)
		if kind == agent.WaitApproval && sum.tool != "" {
			snap.WaitingFor = cutTo(sum.tool+": "+sum.toolText, agent.LimitWaitingFor)
		}
	}
	return snap
}
