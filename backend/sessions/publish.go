package sessions

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Publisher returns the way in for one source. declared are the harnesses it may
// report. Calls after ctx ended are ignored; what it published stays until
// Retire.
func (r *Registry) Publisher(ctx context.Context, source string, declared []string) agent.Publisher {
	may := map[string]bool{}
	for _, h := range declared {
		may[h] = true
	}
	return &publisher{r: r, ctx: ctx, source: source, may: may}
}

// Retire takes back everything a source published.
func (r *Registry) Retire(source string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.rows {
		r.withdraw(x, source)
	}
}

type publisher struct {
	r      *Registry
	ctx    context.Context
	source string
	may    map[string]bool
}

// ready is a valid snapshot with what was looked up outside the lock.
type ready struct {
	snap    agent.Snapshot
	proc    processes.Identity
	dead    bool
	aliases []string
}

func (p *publisher) Reset(list []agent.Snapshot) []agent.Rejected {
	if p.ctx.Err() != nil {
		return nil
	}
	var rejected []agent.Rejected
	if len(list) > agent.LimitResetSessions {
		for _, s := range list[agent.LimitResetSessions:] {
			rejected = append(rejected, agent.Rejected{ID: s.ID, Issues: []agent.Issue{{Path: "$", Code: "invalid_array",
				Message: "a reset holds at most " + strconv.Itoa(agent.LimitResetSessions) + " sessions; publish the others with upsert"}}})
		}
		list = list[:agent.LimitResetSessions]
	}
	seen := map[model.SessionKey]bool{}
	single := list[:0:0]
	for _, s := range list {
		key := model.SessionKey{Harness: s.Harness, ID: s.ID}
		if seen[key] {
			rejected = append(rejected, agent.Rejected{ID: s.ID, Issues: []agent.Issue{{Path: "$.id", Code: "duplicate", Message: "appears twice in one reset"}}})
			continue
		}
		seen[key] = true
		single = append(single, s)
	}
	valid, bad := p.check(single)
	p.apply(func() {
		now := map[model.SessionKey]bool{}
		for _, v := range valid {
			now[model.SessionKey{Harness: v.snap.Harness, ID: v.snap.ID}] = true
		}
		for key, x := range p.r.rows {
			if !now[key] {
				p.r.withdraw(x, p.source)
			}
		}
		for _, v := range valid {
			p.r.take(p.source, v)
		}
	})
	return p.told(append(rejected, bad...))
}

func (p *publisher) Upsert(list ...agent.Snapshot) []agent.Rejected {
	if p.ctx.Err() != nil {
		return nil
	}
	valid, bad := p.check(list)
	p.apply(func() {
		for _, v := range valid {
			p.r.take(p.source, v)
		}
	})
	return p.told(bad)
}

func (p *publisher) Remove(harness string, ids ...string) {
	p.apply(func() {
		for _, id := range ids {
			if x := p.r.rows[model.SessionKey{Harness: harness, ID: id}]; x != nil {
				p.r.withdraw(x, p.source)
			}
		}
	})
}

func (p *publisher) Diagnostic(code, message string) {
	if p.ctx.Err() == nil {
		p.r.o.OnDiagnostic(p.source, cut(code, agent.LimitDiagnosticCode), cut(clean(message), agent.LimitDiagnosticText))
	}
}

func (p *publisher) apply(do func()) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.ctx.Err() == nil && !p.r.closed {
		do()
	}
}

func (p *publisher) told(rejected []agent.Rejected) []agent.Rejected {
	for _, x := range rejected {
		p.r.o.OnDiagnostic(p.source, "rejected", "a session was rejected: "+x.Issues[0].Path+" "+x.Issues[0].Message)
	}
	return rejected
}

// check validates each snapshot by itself and looks at its process.
func (p *publisher) check(list []agent.Snapshot) (valid []ready, bad []agent.Rejected) {
	on := func(harness string) bool { return p.may[harness] && p.r.isEnabled(harness) }
	for _, s := range list {
		if issues := agent.ValidateSnapshot(s, on); len(issues) > 0 {
			bad = append(bad, agent.Rejected{ID: s.ID, Issues: issues})
			continue
		}
		v := ready{snap: s}
		if s.Pid > 0 {
			id, err := processes.Identify(s.Pid)
			v.proc, v.dead = id, errors.Is(err, processes.ErrGone)
			if err != nil && !v.dead { // another user's process: it is there
				v.proc = processes.Identity{Pid: s.Pid}
			}
		}
		if p.r.o.Memory != nil && p.r.isNew(s) {
			v.aliases, _ = p.r.o.Memory.Aliases(p.r.ctx, s.Harness, s.ID) // without them the row is still right
		}
		valid = append(valid, v)
	}
	return valid, bad
}

func (r *Registry) isNew(s agent.Snapshot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows[model.SessionKey{Harness: s.Harness, ID: s.ID}] == nil
}

// take applies one snapshot. Called with mu held.
func (r *Registry) take(source string, v ready) {
	s := v.snap
	if !r.enabled[s.Harness] {
		return // switched off since it was checked
	}
	key := model.SessionKey{Harness: s.Harness, ID: s.ID}
	x := r.rows[key]
	if v.dead || x != nil && !x.gone.IsZero() && x.gone == v.proc {
		// Death beats all: a source that has not noticed yet changes nothing.
		if x != nil && x.proc.Pid == s.Pid {
			r.ended(x)
		}
		return
	}
	if x != nil && x.final != nil && s.Pid == 0 && s.StatusAt <= x.final.EndedAt {
		return // a transcript of what has ended
	}
	if x != nil && s.Pid > 0 && x.proc.Pid == s.Pid && x.proc != v.proc && x.proc.Start != 0 {
		r.ended(x) // the pid belongs to another process now (case P03)
	}
	if x == nil {
		x = r.add(key)
		x.aliases = v.aliases
	}
	r.revive(x)
	x.leaveBy = time.Time{}
	old := x.reports[source]
	now := r.o.Now()
	rep := &report{snap: s, status: s.Status, at: s.StatusAt, rank: rankOf(s)}
	if old != nil && s.Status == "" {
		rep.status, rep.at = old.status, old.at
	} else if rep.at == 0 {
		if rep.at = now.UnixMilli(); old != nil && old.status == s.Status && old.snap.StatusAt == 0 {
			rep.at = old.at
		}
	}
	if old == nil || !reflect.DeepEqual(old.snap, s) {
		x.heard, x.probe = now, nil
	}
	if old != nil && (old.status == agent.StatusRunning || old.status == agent.StatusWaiting) && rep.status == agent.StatusIdle && s.LastTurnEndedAt <= old.at {
		x.fresh = now.UnixMilli() // a turn ended before our eyes, without a time
	}
	x.reports[source] = rep
	if s.Cwd != x.cwd && (x.best() == rep || x.cwd == "") {
		r.enterFolder(x, s.Cwd)
	}
	if s.Pid > 0 && x.proc != v.proc && (x.proc.IsZero() || x.best() == rep) {
		r.tie(x, v.proc)
	}
	if s.Supersedes != "" && s.Supersedes != s.ID {
		r.supersede(x, s.Supersedes)
	}
	r.adoptProcessRows(x)
	r.refresh(x)
}

// add makes an empty row. Called with mu held.
func (r *Registry) add(key model.SessionKey) *row {
	x := &row{key: key, reports: map[string]*report{}, firstAt: r.o.Now().UnixMilli(), heard: r.o.Now()}
	for _, c := range r.chats {
		if c.key == key {
			x.chat = c
		}
	}
	r.rows[key] = x
	return x
}

// withdraw takes back what a source said of a row. When its process may be
// about to end the row stays for a moment, so that its end is seen as one.
// Called with mu held.
func (r *Registry) withdraw(x *row, source string) {
	if _, ok := x.reports[source]; !ok {
		return
	}
	if len(x.reports) == 1 && !x.proc.IsZero() && x.final == nil && x.gone.IsZero() && r.enabled[x.key.Harness] {
		if x.leaveBy.IsZero() {
			x.leaveBy = r.o.Now().Add(r.o.LeaveGrace)
		}
		r.schedule()
		return
	}
	delete(x.reports, source)
	r.settle(x)
}

// supersede ends the row of a session that the same process held before.
// Called with mu held.
func (r *Registry) supersede(x *row, before string) {
	if !slices.Contains(x.aliases, before) {
		x.aliases = append([]string{before}, x.aliases...)
		harness, id := x.key.Harness, x.key.ID
		r.later(func() { r.note(r.o.Memory.Alias(context.Background(), harness, before, id)) })
	}
	old := r.rows[model.SessionKey{Harness: x.key.Harness, ID: before}]
	if old == nil || old == x || !old.proc.IsZero() && old.proc != x.proc {
		return // it lives on in another process
	}
	for _, a := range old.aliases {
		if a != x.key.ID && !slices.Contains(x.aliases, a) {
			x.aliases = append(x.aliases, a)
		}
	}
	r.drop(old)
}

func cut(s string, units int) string {
	if agent.UTF16Len(s) <= units {
		return s
	}
	n := 0
	for i, c := range s {
		if n += agent.UTF16Len(string(c)); n > units {
			return s[:i]
		}
	}
	return s
}
