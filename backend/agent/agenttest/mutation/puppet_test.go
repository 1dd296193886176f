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
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// puppet is a harness whose agent is the program cat: what the agent would say
// is written to it and read back, so that there is a process that can die and a
// wire that can be disturbed. It keeps every rule but the one its fault names.
type puppet struct {
	fault string
	home  string // its session files
	host  *agentkit.Host
	bus   *bus
	hash  int
}

// bus wakes mirrors: the puppet's file watcher.
type bus struct {
	mu      sync.Mutex
	changed chan struct{}
}

func (b *bus) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *bus) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

func newPuppet(fault, home string) *puppet {
	return &puppet{fault: fault, home: home, host: &agentkit.Host{Home: home, Env: os.Environ}, bus: &bus{changed: make(chan struct{})}}
}

// is reports whether this puppet has the fault.
func (p *puppet) is(fault string) bool { return p.fault == fault }

func (p *puppet) Availability(context.Context) (agent.Availability, error) {
	a := agent.Availability{Available: true, Version: "1", Path: "/bin/cat"}
	if p.is("is available and not") {
		a.Reason = agent.ReasonTooOld
	}
	return a, nil
}

var offered = agent.Catalog{
	Models: []agent.Model{
		{ID: "big", Label: "Big", Default: true, Input: []string{"text", "image"}, Thinking: []agent.Thinking{{ID: "some", Label: "Some"}}},
		{ID: "small", Label: "Small"},
	},
	Modes: []agent.Mode{
		{ID: "ask", Label: "Ask", Tier: agent.TierSafe, Default: true}, {ID: "plan", Label: "Plan", Tier: agent.TierPlanning},
	},
	Features: []agent.Feature{}, Commands: []agent.CommandInfo{{Name: "sing", Kind: "command"}},
}

func (p *puppet) Catalog(context.Context, string) (agent.Catalog, error) {
	c := offered
	c.Hash, c.FetchedAt = "h", 1
	if p.is("has another hash each time") {
		p.hash++
		c.Hash = fmt.Sprint(p.hash)
	}
	if p.is("leaves a session of its probe") {
		(&file{p, uuid.NewString()}).add(record{Cwd: "/", Title: "probe"})
	}
	return c, nil
}

var wanted = []agent.Ability{
	agent.AbilityImages, agent.AbilityReasoning, agent.AbilityApprovals, agent.AbilitySubagents, agent.AbilityInterrupt,
	agent.AbilityInputDuringTurn, agent.AbilitySteer, agent.AbilityModels, agent.AbilityModes, agent.AbilityThinking,
	agent.AbilityUsage, agent.AbilityCommands, agent.AbilityTerminal,
}

var errNoProgram = errors.New("the program does not start")

func (p *puppet) Open(ctx context.Context, req agent.OpenRequest, ev agent.Events) (agent.ChatSession, error) {
	program := "/bin/cat"
	if req.Binary != "" {
		program = req.Binary
	}
	if p.is("is ready before it fails") && !runs(program) {
		ev.Ready(agent.Ready{})
	}
	if slices.Contains(req.Args, "refuse") && !p.is("opens anything") {
		return nil, errNoProgram
	}
	s := &session{p: p, req: req, ev: ev, gone: make(chan struct{}), asks: map[string]*standing{}, script: map[string]chan agent.ApprovalAnswer{}}
	s.id = uuid.NewString()
	if req.Resume != nil {
		s.id = req.Resume.NativeID
		lost := !(&file{p, s.id}).exists() && req.Resume.Meta == nil
		if lost && !p.is("begins a lost session anew") {
			return nil, errors.New("there is no such session")
		}
		if p.is("resumes under another id") {
			s.id = uuid.NewString()
		}
	}
	s.file = &file{p, s.id}
	env := slices.Clone(os.Environ())
	for k, v := range req.Env {
		env = append(env, k+"="+v)
	}
	proc, err := p.host.StartProcess(agentkit.Spec{Argv: []string{program}, Dir: req.WorkingDirectory, Env: env, Purpose: "agent"})
	if err != nil {
		return nil, err
	}
	s.proc = proc
	hello := make(chan struct{})
	s.hello = sync.OnceFunc(func() { close(hello) })
	go s.read()
	if err := proc.Send(ctx, message{Kind: "hello", Nested: map[string][]int{"a": {1}, "b": {}}}); err == nil {
		select {
		case <-hello:
		case <-s.gone:
			err = errNoProgram
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			s.ready()
			return s, nil
		}
	}
	return nil, errors.Join(errNoProgram, s.shut(context.WithoutCancel(ctx)))
}

func runs(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil && filepath.Base(program) != "true"
}

func (s *session) ready() {
	r := agent.Ready{
		Agent: agent.AgentInfo{Name: "puppet", Version: "1"}, Model: "big", Mode: s.req.Mode, Pid: s.proc.Identity().Pid, Abilities: wanted,
	}
	if r.Mode == "" {
		r.Mode = "ask"
	}
	if s.p.is("declares what it has not") {
		r.Abilities = append(slices.Clone(wanted), agent.AbilityFork)
	}
	if s.req.Kind == agent.KindWorkspace || s.p.is("keeps a confined chat") {
		h := s.handle()
		if !s.file.exists() {
			h.Meta = json.RawMessage(`{}`)
		}
		r.Handle = &h
	}
	s.opened.Store(true)
	s.ev.Ready(r)
	s.ev.Catalog(offered)
}

func (s *session) handle() agent.Handle {
	return agent.Handle{Harness: "puppet", NativeID: s.id, Cwd: s.req.WorkingDirectory}
}

// record is one line of a session file.
type record struct {
	Cwd   string       `json:"cwd,omitempty"`
	Title string       `json:"title,omitempty"`
	Item  *agent.Item  `json:"item,omitempty"`
	Usage *agent.Usage `json:"usage,omitempty"`
}

// file is where a session is kept.
type file struct {
	p  *puppet
	id string
}

func (f *file) path() string { return filepath.Join(f.p.home, f.id+".jsonl") }

func (f *file) exists() bool { _, err := os.Stat(f.path()); return err == nil }

func (f *file) add(r record) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	w, err := os.OpenFile(f.path(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer w.Close()
	if _, err := w.Write(append(line, '\n')); err != nil {
		panic(err)
	}
	f.p.bus.wake()
}

func (f *file) read() (list []record) {
	data, err := os.ReadFile(f.path())
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		var r record
		if json.Unmarshal([]byte(line), &r) == nil {
			list = append(list, r)
		}
	}
	return list
}

// live are the sessions that a process has open.
var live sync.Map

// handover is the puppet's: the file is its transcript.
type handover struct{ *puppet }

func (h handover) TerminalCommand(_ context.Context, req agent.TerminalRequest) (agent.Command, []string, error) {
	return agent.Command{Argv: []string{"/bin/cat", req.Handle.NativeID}, Cwd: req.Handle.Cwd}, nil, nil
}

func (h handover) Owner(context.Context, agent.Handle, []int) (agent.Ownership, error) {
	return agent.Ownership{Owner: agent.OwnerNobody, Evidence: "nobody asks"}, nil
}

func (h handover) Tip(_ context.Context, hd agent.Handle) (agent.Handle, error) { return hd, nil }

func (h handover) ChangeDirs(agent.Handle) []string { return []string{h.home} }

func (h handover) Mirror(ctx context.Context, hd agent.Handle, from agent.Position, sink agent.Sink) error {
	f := &file{h.puppet, hd.NativeID}
	at := int(from.Offset)
	if h.is("mirrors from the beginning always") {
		at = 0
	}
	open := map[string]agent.Item{}
	for {
		woken := h.bus.wait()
		all := f.read()
		var st agent.MirrorState
		for i, r := range all {
			if r.Usage != nil {
				u := *r.Usage
				if h.is("counts twice in the file") {
					u.Input *= 2
				}
				st.Usage = &u
			}
			if i < at || r.Item == nil {
				continue
			}
			it := *r.Item
			if h.is("mirrors another text") && it.Type == agent.ItemText && it.Text != "" {
				it.Text += "!"
			}
			delete(open, it.ID)
			if it.Open() {
				open[it.ID] = it
			}
			sink.Item(it)
		}
		at = max(at, len(all))
		if _, held := live.Load(hd.NativeID); !held {
			for _, id := range slices.Sorted(maps.Keys(open)) {
				it := open[id]
				it.CloseAt(agent.StateFailed, time.UnixMilli(1))
				sink.Item(it)
			}
			open = map[string]agent.Item{}
		}
		sink.State(st)
		sink.CaughtUp(agent.Position{Offset: int64(at)})
		if h.is("does not follow") {
			<-ctx.Done()
			return nil
		}
		select {
		case <-woken:
		case <-ctx.Done():
			return nil
		}
	}
}

// Stored implements [agent.Importer].
func (h handover) Stored(context.Context, string, string, int) (list []agent.StoredSession, next string, err error) {
	paths, err := filepath.Glob(filepath.Join(h.home, "*.jsonl"))
	for _, path := range paths {
		id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		for _, r := range (&file{h.puppet, id}).read() {
			if r.Cwd == "" {
				continue
			}
			s := agent.StoredSession{Handle: agent.Handle{Harness: "puppet", NativeID: id, Cwd: r.Cwd}, Title: r.Title, UpdatedAt: 1}
			if h.is("lists without a title") {
				s.Title = ""
			}
			list = append(list, s)
		}
	}
	return list, "", err
}
