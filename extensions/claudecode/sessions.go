package claudecode

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

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
	o := &observer{
		host: s.host, publish: start.Publisher, roots: func() []string { return start.Roots }, wake: make(chan struct{}, 1),
		live: map[int]*liveSession{}, shown: map[string]agent.Snapshot{}, dirs: map[string]func(){}, held: map[int]string{},
		exits: map[agentkit.Identity]func(){}, reader: newFactsReader(),
	}
	if len(start.Roots) == 0 {
		o.roots = func() []string { return homes(s.host) }
		if s.host.OnLaunches != nil {
			defer s.host.OnLaunches(func() { o.note("", nil, true) })()
		}
	}
	return o.run(ctx)
}

// observer is one run of the source; one goroutine owns it.
type observer struct {
	host    *agentkit.Host
	publish agent.Publisher
	roots   func() []string
	wake    chan struct{}

	live    map[int]*liveSession      // by pid
	shown   map[string]agent.Snapshot // by session id
	held    map[int]string            // which session a process held before
	exits   map[agentkit.Identity]func()
	dirs    map[string]func() // watched folders: how to end
	forward sync.WaitGroup
	reader  *factsReader
	begun   bool

	mu      sync.Mutex
	again   bool            // the registries are to be read
	changed map[string]bool // files and folders that changed beside them
}

// liveSession is a process with the session that it is in.
type liveSession struct {
	entry
	path   string // its transcript, "" before there is one
	folder string // what belongs to it beside the transcript, and
	subdir string // there the transcripts of its sub-agents
	follow *follower
	snap   agent.Snapshot
	fresh  bool // snap is what is known
	subs   subagents
	agents []agent.SubagentInfo
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
		for _, l := range o.live {
			o.leave(l)
		}
	}()
	o.watch()
	for {
		select {
		case <-o.wake:
		case <-ctx.Done():
			return nil
		}
		o.mu.Lock()
		again, changed := o.again, o.changed
		o.again, o.changed = false, nil
		o.mu.Unlock()
		if again {
			o.look()
		}
		if again || o.refresh(changed) {
			o.watch()
		}
		o.show()
	}
}

// watch follows exactly the folders that matter: the registries, where live
// sessions write (a transcript is written a little after the registry), and the
// folders of their sub-agents.
func (o *observer) watch() {
	wanted := map[string]bool{}
	registries := map[string]bool{}
	for _, root := range o.roots() {
		wanted[sessionsDir(root)], registries[sessionsDir(root)] = true, true
	}
	for _, l := range o.live {
		if l.path == "" {
			wanted[filepath.Join(projectsDir(l.root()), slug(l.Cwd))] = true
			continue
		}
		wanted[filepath.Dir(l.path)] = true
		if isDir(l.folder) {
			wanted[l.subdir] = true
		}
	}
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
					paths, rescan := w.Take()
					if rescan {
						paths = append(paths, dir+anything)
					}
					o.note(dir, paths, registries[dir])
				case <-end:
					return
				}
			}
		})
	}
}

// anything stands for the files of a folder in which anything may have changed.
const anything = "/*"

// note remembers what changed until the observer takes it.
func (o *observer) note(dir string, paths []string, again bool) {
	o.mu.Lock()
	o.again = o.again || again
	if o.changed == nil {
		o.changed = map[string]bool{}
	}
	if len(paths) > 0 && len(o.changed) < 4096 {
		for _, p := range paths {
			o.changed[p] = true
		}
	}
	if dir != "" {
		o.changed[dir] = true
	}
	o.mu.Unlock()
	o.nudge()
}

func (o *observer) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// look reads the registries.
func (o *observer) look() {
	var found []entry
	for _, root := range o.roots() {
		r, err := readRegistry(root)
		if err != nil {
			o.publish.Diagnostic("registry-unreadable", "the list of live Claude Code sessions cannot be read")
			continue
		}
		for _, pid := range r.torn { // half written: what was known stays
			if l, ok := o.live[pid]; ok && l.identity.Alive() {
				r.live = append(r.live, l.entry)
			}
		}
		found = append(found, sessionEntries(r.live)...)
	}
	o.followExits(found)
	now := map[int]*liveSession{}
	for _, e := range found {
		l := o.live[e.Pid]
		if l == nil || l.SessionID != e.SessionID || l.identity != e.identity {
			l = &liveSession{}
		}
		l.entry, l.fresh = e, false
		now[e.Pid] = l
		o.read(l)
		o.list(l)
	}
	for pid, l := range o.live {
		if now[pid] != l {
			o.leave(l)
		}
	}
	o.live = now
}

// refresh takes what changed beside the registries. It reports whether other
// folders are to be watched.
func (o *observer) refresh(changed map[string]bool) (rewatch bool) {
	for _, l := range o.live {
		if l.path == "" {
			if changed[filepath.Join(projectsDir(l.root()), slug(l.Cwd))] {
				o.read(l)
				rewatch = rewatch || l.path != ""
			}
			continue
		}
		if changed[l.path] || changed[filepath.Dir(l.path)+anything] {
			o.read(l)
		}
		if changed[l.folder] || changed[l.subdir] {
			o.list(l)
			rewatch = rewatch || o.dirs[l.subdir] == nil
		}
	}
	return rewatch
}

// read takes what was appended to a session's transcript.
func (o *observer) read(l *liveSession) {
	if l.path == "" {
		path, ok := transcriptPath(l.root(), l.SessionID, l.Cwd)
		if !ok {
			return
		}
		l.path, l.folder, l.subdir = path, sessionFolder(path), subagentsDir(path)
	}
	l.fresh = false
	now := o.host.Time()
	if l.follow == nil {
		var known agentkit.Indexed
		if o.host.Index != nil {
			known, _, _ = o.host.Index.Known(context.Background(), harnessID, l.path) // without it the ends are read
		}
		fol, err := o.reader.follow(l.path, known, now)
		if err != nil {
			return // gone again: the next change tells
		}
		l.follow = fol
	}
	if err := l.follow.read(now); err != nil {
		o.publish.Diagnostic("transcript-unreadable", "the transcript of a live Claude Code session cannot be read")
	}
}

func (o *observer) list(l *liveSession) {
	if l.path != "" {
		l.agents, l.fresh = l.subs.list(l.path), false
	}
}

// leave lets go of a session. What is known of its transcript is kept, so that
// reading goes on from there.
func (o *observer) leave(l *liveSession) {
	if l.follow == nil {
		return
	}
	state := l.follow.tail.State()
	info, err := os.Lstat(l.path)
	l.follow.close()
	if o.host.Index == nil || err != nil || !info.Mode().IsRegular() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	x := entryOf(o.host, l.SessionID, l.root(), agentkit.Indexed{Harness: harnessID, Path: l.path, Stamp: agentkit.StampOf(info), Tail: state}, &l.follow.facts)
	if state.Inode != x.Stamp.Inode || state.Offset != x.Stamp.Size {
		x.Stamp.Mtime = 0 // not read to its end: the next comparison reads on
	}
	if err := o.host.Index.Put(ctx, x); err != nil {
		o.host.Logger().Debug("the index of stored sessions was not told of an end", "err", err)
	}
}

// followExits watches exactly the live processes.
func (o *observer) followExits(live []entry) {
	wanted := map[agentkit.Identity]bool{}
	for _, e := range live {
		wanted[e.identity] = true
		if o.exits[e.identity] != nil || o.host.Exits == nil {
			continue
		}
		stop, err := o.host.Exits.Watch(e.identity, func() { o.note("", nil, true) })
		if err != nil {
			o.note("", nil, true) // it ended just now
			continue
		}
		o.exits[e.identity] = stop
	}
	for id, stop := range o.exits {
		if !wanted[id] {
			stop()
			delete(o.exits, id)
		}
	}
}

// show publishes what is different.
func (o *observer) show() {
	now := make(map[string]agent.Snapshot, len(o.live))
	held := make(map[int]string, len(o.live))
	var order []string // of the rows that may be different
	for _, pid := range slices.Sorted(maps.Keys(o.live)) {
		l := o.live[pid]
		held[pid] = l.SessionID
		looked := !l.fresh
		if looked {
			l.fresh = true
			l.snap = o.snapshot(l)
			if before := o.held[pid]; before != "" && before != l.SessionID {
				l.snap.Supersedes = before
			} else if old, ok := o.shown[l.SessionID]; ok && old.Pid == pid {
				l.snap.Supersedes = old.Supersedes
			}
		}
		other, twice := now[l.SessionID]
		if twice { // two processes write to one session
			now[l.SessionID] = both(other, l.snap)
		} else {
			now[l.SessionID] = l.snap
		}
		if looked || twice {
			order = append(order, l.SessionID)
		}
	}
	o.held = held
	var changed []agent.Snapshot
	for i, id := range order {
		if old, ok := o.shown[id]; (!ok || !reflect.DeepEqual(old, now[id])) && !slices.Contains(order[:i], id) {
			changed = append(changed, now[id])
		}
	}
	var gone []string
	for id, old := range o.shown {
		if s, ok := now[id]; !ok {
			gone = append(gone, id)
		} else if len(old.Candidates) > len(s.Candidates) && !slices.Contains(order, id) { // one of two is gone
			changed = append(changed, s)
		}
	}
	if !o.begun {
		o.begun = true
		o.publish.Reset(changed)
	} else if len(changed) > 0 {
		o.publish.Upsert(changed...)
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

func (o *observer) snapshot(l *liveSession) agent.Snapshot {
	status, kind := l.status()
	snap := agent.Snapshot{
		ID: l.SessionID, Harness: harnessID, Pid: l.Pid, PidStartedAt: l.procStart(), Cwd: l.Cwd,
		Status: status, StatusAt: max(l.StatusSince, 0), WaitingKind: kind, Link: l.link,
		Evidence: l.evidence(), StartedAt: l.StartedAt, Subagents: l.agents, Env: homeEnv(o.host, l.root()),
	}
	if status == agent.StatusWaiting {
		snap.WaitingFor = cutTo(l.WaitingFor, agent.LimitWaitingFor)
	}
	var f facts
	if l.follow != nil {
		f = l.follow.facts
	}
	snap.Title = f.name(l.Name, l.NameSource == "user")
	snap.Model, snap.Mode = f.Model, f.Mode
	switch status {
	case agent.StatusIdle:
		snap.LastTurn, snap.LastTurnEndedAt = f.Turn, f.TurnEnd
		if f.Turn == "failed" {
			snap.Error = f.Fault
		}
	case agent.StatusRunning, agent.StatusWaiting:
		snap.Tool, _ = f.running()
		if asks := f.asking(); kind == agent.WaitApproval && asks != "" {
			snap.WaitingFor = cutTo(asks, agent.LimitWaitingFor)
		}
	}
	return snap
}
