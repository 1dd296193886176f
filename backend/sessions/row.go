package sessions

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Ranks of evidence, the higher wins.
const (
	rankNone = iota
	rankProcess
	rankTranscript
	rankRegistry
	rankTerminal
	rankServer
	rankChat
)

var rankNames = map[int]string{rankProcess: "process", rankTranscript: "transcript", rankRegistry: "registry", rankTerminal: "terminal", rankServer: "server", rankChat: "chat"}

// row is one session with everything that is known of it.
type row struct {
	key     model.SessionKey
	reports map[string]*report // by source
	// process: found by its process only, no source has named the session yet.
	process  bool
	chat     *chat
	aliases  []string
	firstAt  int64 // when the row was first seen
	cwd      string
	folder   *folder
	proc     processes.Identity
	stopExit func()
	// gone: the process ended; reports of it count no more.
	gone processes.Identity
	// own: the process is a helper of ours; inside: it descends from one. The
	// row is then shown by its chat only.
	own, inside bool

	place   model.Place
	bound   processes.Identity // the process the place was found for
	program *model.ProgramStatus

	// state as it is shown, and since when.
	state   model.SessionState
	since   int64
	changed time.Time // last change of the state, for flapping
	fresh   int64     // when a turn was seen to end whose source tells no time

	heard    time.Time // last new evidence, or last sign of work of the process
	probe    *probe    // looked at half-way to being stale
	showAt   time.Time // a process that just started is shown from then on
	leaveBy  time.Time // the source took the row back; dropped then
	flapTill time.Time

	final *model.Session // after the process
	kept  bool           // final is in the memory

	shown *model.Session
}

// report is what one source says.
type report struct {
	snap   agent.Snapshot
	status agent.Status // the last known one
	at     int64        // when the status came
	rank   int
}

func (x *row) ours() bool { return x.own || x.inside }

// chatDrives reports whether our chat is the evidence of the row: the app owns
// the session and no process of somebody else holds it.
func (x *row) chatDrives() bool {
	return x.chat != nil && x.chat.drives() && (x.proc.IsZero() || x.ours())
}

func rankOf(s agent.Snapshot) int {
	switch s.EvidenceKind {
	case "server":
		return rankServer
	case "registry":
		return rankRegistry
	case "transcript":
		return rankTranscript
	}
	if s.Link == agent.LinkProved {
		return rankRegistry
	}
	return rankTranscript
}

// best is the report that decides: the highest rank, then the newest.
func (x *row) best() *report {
	var best *report
	for _, p := range x.reports {
		if best == nil || p.rank > best.rank || p.rank == best.rank && (p.at > best.at || p.at == best.at && p.snap.Evidence > best.snap.Evidence) {
			best = p
		}
	}
	return best
}

// verdict is a state with its reasons.
type verdict struct {
	state    model.SessionState
	kind     agent.WaitingKind
	waiting  string
	tool     string
	rank     int
	evidence string
	at       int64
}

func (r *Registry) judge(x *row) verdict {
	if x.chatDrives() {
		c := x.chat.summary
		v := verdict{state: c.State, rank: rankChat, evidence: "our own chat", at: c.UpdatedAt}
		if c.Waiting > 0 {
			v.kind = agent.WaitApproval
		}
		if c.TurnSince > 0 {
			v.at = c.TurnSince
		}
		return v
	}
	p := x.best()
	if p == nil {
		return verdict{state: model.SessionStarting, rank: rankProcess, evidence: "the process runs and has written nothing yet", at: x.firstAt}
	}
	if x.program != nil && p.rank < rankTerminal {
		if v, ok := programVerdict(*x.program); ok {
			v.tool = p.snap.Tool
			if v.state == model.SessionWaiting && v.waiting == "" && v.kind == p.snap.WaitingKind {
				v.waiting = p.snap.WaitingFor // the terminal was not told for what
			}
			return v
		}
	}
	v := verdict{state: model.SessionState(p.status), kind: p.snap.WaitingKind, waiting: p.snap.WaitingFor, tool: p.snap.Tool,
		rank: p.rank, evidence: p.snap.Evidence, at: p.at}
	if p.status == "" {
		v.state = model.SessionIdle
	}
	if v.state != model.SessionWaiting && v.state != model.SessionBlocked {
		v.kind, v.waiting = "", ""
	} else if v.kind == "" {
		v.kind = agent.WaitUnknown
	}
	return v
}

// programVerdict reads what a program told its terminal (OSC 7501).
func programVerdict(p model.ProgramStatus) (verdict, bool) {
	v := verdict{rank: rankTerminal, evidence: "the program told its terminal: " + p.State, at: p.At}
	switch p.State {
	case "working":
		v.state = model.SessionRunning
	case "idle", "done":
		v.state = model.SessionIdle
	case "error":
		v.state = model.SessionFailed
	case "blocked":
		v.state, v.waiting = model.SessionWaiting, p.Text
		switch p.Kind {
		case "permission":
			v.kind = agent.WaitApproval
		case "question":
			v.kind = agent.WaitQuestion
		case "auth":
			v.state, v.kind = model.SessionBlocked, agent.WaitSignin
		default:
			v.kind = agent.WaitUnknown
		}
	default:
		return v, false
	}
	return v, true
}

// lastTurn is the newest end of a turn that any source knows.
func (x *row) lastTurn() (how string, at int64, text string) {
	for _, p := range x.reports {
		if p.snap.LastTurn != "" && (how == "" || p.snap.LastTurnEndedAt > at) {
			how, at, text = p.snap.LastTurn, p.snap.LastTurnEndedAt, p.snap.Error
		} else if p.snap.LastTurn == "" && how == "" && p.snap.LastTurnEndedAt > at {
			at = p.snap.LastTurnEndedAt
		}
	}
	if x.fresh > at {
		at = x.fresh
	}
	return how, at, text
}

// unseen reports whether the last turn ended after the row was first seen and
// after the last acknowledgement.
func (r *Registry) unseen(x *row, endedAt int64) bool {
	return endedAt > 0 && endedAt > x.firstAt && endedAt > r.acks[x.key]
}

// session makes the row as it is shown; nil when it is not. Called with mu held.
func (r *Registry) session(x *row) *model.Session {
	if !r.enabled[x.key.Harness] && x.chat == nil {
		return nil
	}
	if x.final != nil {
		s := *x.final
		s.Project = x.project(s.Project)
		if x.chat != nil {
			s.ChatID = x.chat.summary.ID
		}
		return &s
	}
	if x.ours() && x.chat == nil {
		return nil
	}
	if len(x.reports) == 0 && !x.process && (x.chat == nil || !x.chat.live()) {
		return nil
	}
	now := r.o.Now()
	if x.process && len(x.reports) == 0 && x.chat == nil && now.Before(x.showAt) {
		return nil
	}
	v := r.judge(x)
	how, endedAt, fault := x.lastTurn()
	unread := false
	if v.rank == rankChat {
		unread = x.chat.summary.Unread
	} else if v.state == model.SessionIdle && r.unseen(x, endedAt) {
		switch how {
		case "failed":
			v.state, unread = model.SessionFailed, true
		case "interrupted":
			v.state = model.SessionCanceled
		default:
			unread = true
		}
	} else if v.state == model.SessionFailed {
		if unread = v.at > r.acks[x.key]; !unread {
			v.state = model.SessionIdle
		}
	}
	r.move(x, &v, now)
	s := &model.Session{
		Key: x.key, State: v.state, StateSince: x.since, WaitingKind: v.kind, WaitingFor: clean(v.waiting), Tool: clean(v.tool), LastTurn: how,
		Evidence: model.Evidence{Source: rankNames[v.rank], Text: clean(v.evidence), At: min(v.at, now.UnixMilli())},
		Cwd:      x.cwd, Project: x.project(model.Project{}), Place: x.place, Unread: unread, Aliases: x.aliases, Pid: x.proc.Pid,
		NeedsYou: v.state.NeedsPerson(), StartedAt: x.firstAt,
	}
	if v.state == model.SessionFailed {
		s.Error = clean(fault)
	}
	if s.Place.Kind == "" || x.ours() {
		// A chat's own agent is in no terminal, wherever the host was started from.
		s.Place = model.Place{Kind: "none"}
	}
	if x.proc.IsZero() && x.chat == nil {
		// A container or another machine writes its records (case P04): its folder is
		// not one of ours, even where ours has the same name or is missing.
		s.Place = model.Place{Kind: "external", External: true, WhyNot: "no process of it is visible here"}
		s.Project.Gone = false
	}
	r.describe(x, s)
	s.Stale = v.state == model.SessionRunning && v.rank != rankChat && !now.Before(x.heard.Add(r.o.StaleAfter))
	if s.Cwd == "" {
		s.Cwd = "/"
	}
	return s
}

// describe takes over what the sources and the chat say beside the state.
func (r *Registry) describe(x *row, s *model.Session) {
	started := int64(0)
	list := make([]*report, 0, len(x.reports))
	for _, p := range x.reports {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *report) int {
		if a.rank != b.rank {
			return b.rank - a.rank
		}
		return strings.Compare(a.snap.Evidence, b.snap.Evidence)
	})
	for _, p := range list {
		n := p.snap
		s.Title = first(s.Title, clean(n.Title))
		s.Model, s.Mode = first(s.Model, clean(n.Model)), first(s.Mode, clean(n.Mode))
		if len(s.Env) == 0 {
			s.Env = n.Env
		}
		if s.Subagents == nil {
			s.Subagents = n.Subagents
		}
		if s.Context == nil {
			s.Context = n.Context
		}
		if s.Counts == nil {
			s.Counts = n.Counts
		}
		if s.Link == "" && n.Pid == x.proc.Pid && n.Pid != 0 {
			s.Link = n.Link
			if s.Link == "" {
				s.Link = agent.LinkInferred
			}
		}
		if s.Candidates == nil {
			s.Candidates = n.Candidates
		}
		if n.StartedAt > 0 && (started == 0 || n.StartedAt < started) {
			started = n.StartedAt
		}
	}
	if started > 0 {
		s.StartedAt = min(started, r.o.Now().UnixMilli())
	}
	if x.process && len(list) == 0 {
		s.Link = agent.LinkProved
	}
	if x.chat != nil {
		c := x.chat.summary
		s.ChatID = c.ID
		s.Title = first(clean(c.Title), s.Title)
		s.Model, s.Mode = first(c.Model, s.Model), first(c.Mode, s.Mode)
		if x.chatDrives() && x.chat.pid.Pid != 0 {
			s.Pid, s.Link = x.chat.pid.Pid, agent.LinkProved
		}
		if len(list) == 0 {
			s.StartedAt = c.CreatedAt
		}
	}
}

// move settles the state that is shown: since when, and that an inferred state
// does not flap. Called with mu held.
func (r *Registry) move(x *row, v *verdict, now time.Time) {
	x.flapTill = time.Time{}
	if v.state == x.state {
		return
	}
	if x.state != "" && v.rank <= rankTranscript && !v.state.NeedsPerson() && now.Before(x.changed.Add(r.o.FlapGap)) {
		x.flapTill = x.changed.Add(r.o.FlapGap)
		v.state = x.state
		return
	}
	x.state, x.changed = v.state, now
	x.since = now.UnixMilli()
	if v.at > 0 && v.at < x.since { // a time in the future is not believed
		x.since = v.at
	}
}

func (x *row) project(old model.Project) model.Project {
	if x.folder != nil {
		return x.folder.project
	}
	return old
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// short keeps a tab's title a label: it may be a whole first message.
func short(s string) string {
	const most = 32
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return strings.TrimSpace(string(r[:most-1])) + "…"
}

// clean takes control and direction characters out of what an agent wrote: a
// title must not be able to paint over the window or turn a line round.
func clean(s string) string {
	bad := func(c rune) bool {
		return unicode.IsControl(c) || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 || c == 0x200e || c == 0x200f || c == 0x61c
	}
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case bad(c):
			return -1
		}
		return c
	}, s))
}
