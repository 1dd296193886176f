package sessions

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// maxEnded bounds the rows that are kept after their process.
const maxEnded = 200

// tie binds a row to a process and watches for its end. Called with mu held.
func (r *Registry) tie(x *row, id processes.Identity) {
	r.unwatch(x)
	x.proc = id
	x.own, x.inside = id.Start != 0 && r.isOurs(id), false
	if x.bound != id { // the place is that of another process
		x.place, x.program, x.bound = model.Place{}, nil, processes.Identity{}
	}
	if id.IsZero() {
		return
	}
	r.bind(x)
	if id.Start == 0 { // another user's: its end cannot be watched, its source tells
		return
	}
	stop, err := r.o.Exits.Watch(id, func() { r.exited(id) })
	switch {
	case err == nil:
		x.stopExit = stop
	case errors.Is(err, processes.ErrGone):
		// Not from here: the caller is in the middle of a change.
		r.wg.Go(func() { r.exited(id) })
	default:
		r.o.Log.Warn("sessions: the end of a process cannot be watched", "pid", id.Pid, "err", err)
	}
}

func (r *Registry) unwatch(x *row) {
	if x.stopExit != nil {
		x.stopExit()
		x.stopExit = nil
	}
}

// exited is told once for a process that ended.
func (r *Registry) exited(id processes.Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	for _, x := range r.rows {
		if x.proc == id {
			r.ended(x)
		}
	}
}

// ended makes out of a live row what stays of it. Called with mu held.
func (r *Registry) ended(x *row) {
	r.unwatch(x)
	state, drove := x.state, x.chatDrives()
	x.gone, x.proc, x.place, x.bound, x.program = x.proc, processes.Identity{}, model.Place{}, processes.Identity{}, nil
	x.process, x.leaveBy = false, time.Time{}
	last := x.shown
	how, endedAt, fault := x.lastTurn()
	by := ""
	if p := x.best(); p != nil {
		by = p.snap.EndedBy
	}
	clear(x.reports)
	if drove || last == nil || x.ours() {
		// Our chat knows by itself what became of its agent.
		x.own, x.inside = false, false
		r.settle(x)
		return
	}
	now := r.o.Now().UnixMilli()
	s := *last
	s.Pid, s.Link, s.Candidates, s.Place, s.Stale = 0, "", nil, model.Place{Kind: "none"}, false
	s.WaitingKind, s.WaitingFor, s.Tool, s.Error = "", "", "", ""
	s.EndedAt, s.StateSince = now, now
	s.Evidence = model.Evidence{Source: rankNames[rankProcess], Text: "the process ended", At: now}
	open := state == model.SessionRunning || state == model.SessionWaiting || state == model.SessionBlocked
	switch {
	case open && by != "":
		s.State = model.SessionCanceled
		s.Evidence.Text = "the process ended while a turn was open: " + clean(by)
	case open:
		s.State, s.Error = model.SessionFailed, "the process ended while it was working"
	case !r.unseen(x, endedAt):
		r.settle(x) // nothing of it that a person has not seen
		return
	case how == "failed":
		s.State, s.Error = model.SessionFailed, clean(fault)
	case how == "interrupted":
		s.State = model.SessionCanceled
	default:
		s.State = model.SessionDone
	}
	s.Unread, s.NeedsYou = true, s.State.NeedsPerson()
	s.Subagents = slices.Clone(s.Subagents)
	for i := range s.Subagents {
		if s.Subagents[i].Status == "running" {
			s.Subagents[i].Status, s.Subagents[i].EndedAt = "cancelled", now
		}
	}
	r.keepEnded(x, s)
}

// keepEnded makes the row final. Called with mu held.
func (r *Registry) keepEnded(x *row, s model.Session) {
	x.final, x.kept, x.state = &s, true, s.State
	r.later(func() { r.note(r.o.Memory.PutEnded(context.Background(), s)) })
	r.refresh(x)
	var ended []*row
	for _, y := range r.rows {
		if y.final != nil {
			ended = append(ended, y)
		}
	}
	if len(ended) > maxEnded {
		oldest := slices.MinFunc(ended, func(a, b *row) int { return int(a.final.EndedAt - b.final.EndedAt) })
		oldest.final = nil
		r.settle(oldest)
	}
}

// recall reads what the last host kept.
func (r *Registry) recall() error {
	if r.o.Memory == nil {
		return nil
	}
	var err error
	since := r.o.Now().AddDate(0, -3, 0).UnixMilli()
	if r.acks, err = r.o.Memory.Acknowledged(r.ctx, since); err != nil {
		return err
	}
	list, err := r.o.Memory.Ended(r.ctx)
	if err != nil {
		return err
	}
	for _, s := range list[:min(len(list), maxEnded)] {
		x := r.add(s.Key)
		x.final, x.kept, x.state, x.since, x.cwd = &s, true, s.State, s.StateSince, s.Cwd
		x.firstAt = s.StartedAt
	}
	return nil
}

// Acknowledge says that a person saw the row: an unread end is read, a row
// without a process goes. It returns when that is durable.
func (r *Registry) Acknowledge(ctx context.Context, key model.SessionKey) error {
	r.mu.Lock()
	x := r.find(key)
	if x == nil || r.closed {
		r.mu.Unlock()
		return nil
	}
	key = x.key
	now := max(r.o.Now().UnixMilli(), 1)
	if _, at, _ := x.lastTurn(); at > now { // an agent's clock that runs ahead
		now = at
	}
	r.acks[key] = now
	if x.final != nil {
		x.final = nil
		r.settle(x)
	} else {
		r.refresh(x)
	}
	r.mu.Unlock()
	if r.o.Memory == nil {
		return nil
	}
	return r.o.Memory.Acknowledge(ctx, key, now)
}

// schedule sets the one deadline for whatever is due first. Called with mu held.
func (r *Registry) schedule() {
	if r.closed {
		return
	}
	var next time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, x := range r.rows {
		at(x.leaveBy)
		if x.process && x.shown == nil && !x.ours() {
			at(x.showAt)
		}
		at(x.flapTill)
		if x.shown != nil && x.shown.State == model.SessionRunning && !x.shown.Stale && x.shown.Evidence.Source != rankNames[rankChat] {
			if x.probe == nil && !x.proc.IsZero() {
				at(x.heard.Add(r.o.StaleAfter / 2))
			} else {
				at(x.heard.Add(r.o.StaleAfter))
			}
		}
	}
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if !next.IsZero() {
		r.timer = time.AfterFunc(max(0, next.Sub(r.o.Now())), r.due)
	}
}

func (r *Registry) due() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	now := r.o.Now()
	for _, x := range r.rows {
		if !x.leaveBy.IsZero() && !now.Before(x.leaveBy) {
			x.leaveBy = time.Time{}
			clear(x.reports)
			r.settle(x)
			continue
		}
		if x.process && x.shown == nil { // perhaps the ledger knows it by now
			x.own = r.isOurs(x.proc)
		}
		if r.silent(x, now) {
			continue
		}
		r.refresh(x)
	}
	r.schedule()
}
