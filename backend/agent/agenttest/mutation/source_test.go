package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// registry is the puppet's source: one file per process in a folder.
type registry struct {
	fault string
	bus   *bus
	exits *processes.ExitWatcher

	mu     sync.Mutex
	starts map[string]int // of a root
}

func (r *registry) is(fault string) bool { return r.fault == fault }

// claim is one file.
type claim struct {
	Pid    int    `json:"pid"`
	Start  uint64 `json:"start"`
	ID     string `json:"id"`
	Cwd    string `json:"cwd"`
	Status string `json:"status"`
	At     int64  `json:"at"` // orders the claims of one session
}

func (r *registry) load(root string) (found []claim) {
	paths, err := filepath.Glob(filepath.Join(root, "*.json"))
	if err != nil {
		return nil
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		var c claim
		if err != nil || json.Unmarshal(data, &c) != nil {
			continue
		}
		id, err := processes.Identify(c.Pid)
		switch {
		case err != nil && !r.is("believes the dead"):
			continue
		case id.Start != c.Start && !r.is("believes any process") && !r.is("believes the dead"):
			continue
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b claim) int { return int(a.At - b.At) })
	return found
}

func (r *registry) snapshot(c claim) agent.Snapshot {
	s := agent.Snapshot{
		ID: c.ID, Harness: "puppet", Pid: c.Pid, Cwd: c.Cwd, Status: agent.Status(c.Status), Link: agent.LinkProved, Evidence: "its file",
	}
	if r.is("says nothing of its evidence") {
		s.Evidence = ""
	}
	return s
}

func (r *registry) Start(ctx context.Context, start agent.SourceStart) error {
	if len(start.Harnesses) == 0 {
		if r.is("looks though it is off") {
			go func() {
				for ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
			}()
		}
		<-ctx.Done()
		return nil
	}
	root := start.Roots[0]
	r.mu.Lock()
	r.starts[root]++
	again := r.starts[root] > 1
	r.mu.Unlock()
	if r.is("leaves a goroutine") {
		go func() { <-leaving }()
	}
	if r.is("leaves a descriptor") {
		if f, err := os.Open(os.DevNull); err == nil {
			left = append(left, f)
		}
	}
	nudge := make(chan struct{}, 1)
	watched := map[processes.Identity]func(){}
	defer func() {
		for _, stop := range watched {
			stop()
		}
	}()
	shown := map[string]agent.Snapshot{}
	ghost := false
	for first := true; ; first = false {
		woken := r.bus.wait()
		claims := r.load(root)
		if first && again && r.is("finds what runs once only") {
			claims = nil
		}
		for _, c := range claims {
			id, err := processes.Identify(c.Pid)
			if err != nil || watched[id] != nil || r.is("watches no process") {
				continue
			}
			stop, err := r.exits.Watch(id, func() {
				select {
				case nudge <- struct{}{}:
				default:
				}
			})
			if err == nil {
				watched[id] = stop
			}
		}
		now := map[string]agent.Snapshot{}
		for _, c := range claims {
			now[c.ID] = r.snapshot(c)
		}
		if r.is("ends a session with its first process") {
			for id, was := range shown {
				if s, ok := now[id]; ok && s.Pid != was.Pid && !slices.ContainsFunc(claims, func(c claim) bool { return c.Pid == was.Pid }) {
					delete(now, id)
				}
			}
		}
		var rejected []agent.Rejected
		if first {
			list := slices.Collect(maps.Values(now))
			if ghost = len(list) == 0 && r.is("sees what is not there"); ghost {
				list = append(list, r.snapshot(claim{ID: "ghost", Pid: os.Getpid(), Cwd: "/"}))
			}
			rejected = start.Publisher.Reset(list)
		} else {
			if ghost {
				start.Publisher.Remove("puppet", "ghost")
				ghost = false
			}
			for _, id := range slices.Sorted(maps.Keys(shown)) {
				if _, still := now[id]; still {
					continue
				}
				if r.is("ends all with one") {
					start.Publisher.Reset(nil)
					now = map[string]agent.Snapshot{}
					break
				}
				start.Publisher.Remove("puppet", id)
				if r.is("ends a session twice") {
					start.Publisher.Remove("puppet", id)
				}
			}
			for _, id := range slices.Sorted(maps.Keys(now)) {
				if now[id].Pid != shown[id].Pid || now[id].Status != shown[id].Status {
					rejected = append(rejected, start.Publisher.Upsert(now[id])...)
				}
			}
		}
		if len(rejected) > 0 && r.is("gives up when it is rejected") {
			return errors.New("the host rejects a session")
		}
		shown = now
		select {
		case <-woken:
		case <-nudge:
		case <-ctx.Done():
			return nil
		}
	}
}

func sourceMutants() []mutant {
	return []mutant{
		{"sees what is not there", []string{"EmptyRoot"}, nil, nil},
		{"looks though it is off", []string{"SwitchedOff"}, nil, nil},
		{"says nothing of its evidence", []string{"States"}, nil, nil},
		{"finds what runs once only", []string{"FoundAtStart"}, nil, nil},
		{"watches no process", []string{"KilledWithoutAFileEvent", "TwoProcessesOnOneSession"}, nil, nil},
		{"believes the dead", []string{"StaleEntries", "KilledWithoutAFileEvent", "TwoProcessesOnOneSession"}, nil, nil},
		{"believes any process", []string{"StaleEntries"}, nil, nil},
		{"ends all with one", []string{"TwoSessions"}, nil, nil},
		{"ends a session with its first process", []string{"TwoProcessesOnOneSession"}, nil, nil},
		{"gives up when it is rejected", []string{"RejectionIsPerItem"}, nil, nil},
		{"ends a session twice", []string{"CallsAreInOrder"}, nil, nil},
		{"leaves a goroutine", []string{"NoGoroutineIsLeft"}, nil, nil},
		{"leaves a descriptor", []string{"NoDescriptorIsLeft"}, nil, nil},
	}
}

func sourceConfig(t *testing.T, fault string) agenttest.SourceConfig {
	exits := processes.NewExitWatcher()
	t.Cleanup(exits.Close)
	r := &registry{fault: fault, bus: &bus{changed: make(chan struct{})}, exits: exits, starts: map[string]int{}}
	at := int64(0)
	put := func(t *testing.T, root string, c claim) {
		data, err := json.Marshal(c)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, fmt.Sprintf("%d.json", c.Pid)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.bus.wake()
	}
	live := func(t *testing.T, root, id string) agenttest.LiveSession {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		buried := make(chan struct{})
		go func() { _ = cmd.Wait(); close(buried) }()
		t.Cleanup(func() { _ = cmd.Process.Kill(); <-buried })
		who, err := processes.Identify(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		at++
		c := claim{who.Pid, who.Start, id, "/w", "idle", at}
		put(t, root, c)
		status := func(s agent.Status) agenttest.Step {
			return agenttest.Step{
				Name: string(s), Do: func() { c.Status = string(s); put(t, root, c) },
				Want: func(x agent.Snapshot) bool { return x.Status == s },
			}
		}
		return agenttest.LiveSession{
			ID: id, Pid: who.Pid, Cwd: "/w", Steps: []agenttest.Step{status(agent.StatusRunning), status(agent.StatusWaiting)},
			Exit: func() {
				_ = os.Remove(filepath.Join(root, fmt.Sprintf("%d.json", who.Pid)))
				_ = syscall.Kill(who.Pid, syscall.SIGKILL)
				<-buried
				r.bus.wake()
			},
		}
	}
	return agenttest.SourceConfig{
		Harness: "puppet",
		New:     func(*testing.T) agent.SessionSource { return r },
		Roots:   func(t *testing.T) []string { return []string{t.TempDir()} },
		Live: func(t *testing.T, roots []string) agenttest.LiveSession {
			return live(t, roots[0], uuid.NewString())
		},
		Twin: func(t *testing.T, roots []string, first agenttest.LiveSession) agenttest.LiveSession {
			return live(t, roots[0], first.ID)
		},
		Stale: func(t *testing.T, roots []string) {
			put(t, roots[0], claim{Pid: os.Getpid(), Start: 1, ID: "ours", Cwd: "/w"})
			put(t, roots[0], claim{Pid: 1<<22 + 7, Start: 1, ID: "gone", Cwd: "/w"})
		},
		Deadline: 2 * time.Second,
	}
}

// door is the puppet's handover with a terminal: whoever has the id in its argv
// writes, and what is typed becomes rows.
type door struct {
	handover
	watch *agentkit.Watcher
}

var plainID = func(id string) bool { _, err := uuid.Parse(id); return err == nil }

var errForeign = errors.New("this is no id of a session")

// shell keeps what is typed as a text row of its own.
const shell = `while read -r l; do printf '{"item":{"id":"typed-%s","type":"text","text":"said %s","endedAt":1}}\n' "$l" "$l" >> "$0"; done`

func (d door) TerminalCommand(_ context.Context, req agent.TerminalRequest) (agent.Command, []string, error) {
	if !plainID(req.Handle.NativeID) && !d.is("takes any id") {
		return agent.Command{}, nil, errForeign
	}
	program := "/bin/sh"
	if d.is("names no path") {
		program = "sh"
	}
	f := &file{d.puppet, req.Handle.NativeID}
	return agent.Command{Argv: []string{program, "-c", shell, f.path()}, Cwd: req.Handle.Cwd}, nil, nil
}

func (d door) Owner(_ context.Context, hd agent.Handle, ignore []int) (agent.Ownership, error) {
	table, err := processes.Snapshot()
	if err != nil {
		return agent.Ownership{}, err
	}
	var pids []int
	for _, p := range table.Descendants(os.Getpid()) {
		argv, err := processes.Argv(p.Pid)
		if err == nil && slices.Contains(argv, (&file{d.puppet, hd.NativeID}).path()) && !slices.Contains(ignore, p.Pid) {
			pids = append(pids, p.Pid)
		}
	}
	o := agent.Ownership{Owner: agent.OwnerNobody, Evidence: "no process has it in its command line"}
	switch {
	case len(pids) == 1:
		o = agent.Ownership{Owner: agent.OwnerTerminal, Pid: pids[0], Link: agent.LinkProved, Evidence: "its command line"}
		if d.is("only infers its owner") {
			o.Link = agent.LinkInferred
		}
	case len(pids) > 1 && !d.is("thinks two are nobody"):
		o = agent.Ownership{Owner: agent.OwnerUnclear, Pid: pids[0], Link: agent.LinkAmbiguous, Faces: pids, Evidence: "two command lines"}
	}
	return o, nil
}

func (d door) Mirror(ctx context.Context, hd agent.Handle, from agent.Position, sink agent.Sink) error {
	if !plainID(hd.NativeID) && !d.is("takes any id") {
		return errForeign
	}
	if !(&file{d.puppet, hd.NativeID}).exists() && len(hd.NativeID) < 200 {
		return errForeign
	}
	w := d.watch.Watch(d.home)
	defer w.Close()
	relayed := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); <-relayed }()
	go func() { // what another process writes wakes the bus
		defer close(relayed)
		for {
			select {
			case <-w.Wake():
				w.Take()
				d.bus.wake()
			case <-ctx.Done():
				return
			}
		}
	}()
	return d.handover.Mirror(ctx, hd, from, stated{sink})
}

// stated tells that nobody acts: nothing of what is typed takes time.
type stated struct{ agent.Sink }

func (s stated) State(st agent.MirrorState) {
	st.Status = agent.StatusIdle
	s.Sink.State(st)
}

func handoverMutants() []mutant {
	return []mutant{
		{"names no path", []string{"Command"}, nil, nil},
		{"only infers its owner", []string{"Owner"}, nil, nil},
		{"mirrors from the beginning always", []string{"Mirror"}, nil, nil},
		{"does not follow", []string{"MirrorOfALiveTerminal"}, nil, nil},
		{"thinks two are nobody", []string{"SecondWriter"}, nil, nil},
		{"takes any id", []string{"ForeignIDs"}, nil, nil},
	}
}

func handoverConfig(t *testing.T, fault string) agenttest.HandoverConfig {
	p := newPuppet(fault, t.TempDir())
	w := agentkit.NewWatcher(agentkit.WatcherOptions{})
	t.Cleanup(func() { _ = w.Close() })
	return agenttest.HandoverConfig{
		New: func(*testing.T) agent.Handover { return door{handover{p}, w} },
		Session: func(t *testing.T) (agent.Handle, []agent.Item) {
			f := &file{p, uuid.NewString()}
			f.add(record{Cwd: "/tmp", Title: "t"})
			it := text(newID(), "Hello", 1)
			f.add(record{Item: &it})
			return agent.Handle{Harness: "puppet", NativeID: f.id, Cwd: os.TempDir()}, []agent.Item{it}
		},
		Prompt: "hello", Deadline: 3 * time.Second,
	}
}
