package sessions

import (
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// A running row that says nothing new is not called stale while its processes
// compute: a long build is silent too. So a silent row's processor time is
// looked at half-way and at the end of its patience, by two one-shot deadlines.

// probe is the processor time at a moment.
type probe struct {
	at      time.Time
	used    time.Duration
	pending bool // being measured
}

// busyShare is from which share of one processor on the processes count as
// working; an event loop that only ticks stays below.
const busyShare = 50 // one fiftieth

// silent handles a row whose patience is half or wholly over; it reports whether
// the row waits for a measurement. Called with mu held.
func (r *Registry) silent(x *row, now time.Time) bool {
	if x.shown == nil || x.shown.State != model.SessionRunning || x.shown.Stale || x.proc.IsZero() || x.chatDrives() {
		return false
	}
	half, whole := !now.Before(x.heard.Add(r.o.StaleAfter/2)), !now.Before(x.heard.Add(r.o.StaleAfter))
	if x.probe != nil && x.probe.pending {
		return true
	}
	if !half || x.probe != nil && !whole {
		return false
	}
	before := x.probe
	x.probe = &probe{pending: true}
	key, id, heard := x.key, x.proc, x.heard
	r.wg.Go(func() { r.measure(key, id, heard, before) })
	return true
}

func (r *Registry) measure(key model.SessionKey, id processes.Identity, heard time.Time, before *probe) {
	var used time.Duration
	if t, err := processes.Snapshot(); err == nil {
		used = r.o.Work(t, id.Pid)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.rows[key]
	if r.closed || x == nil || x.proc != id || x.heard != heard {
		return // heard of meanwhile
	}
	now := r.o.Now()
	x.probe = &probe{at: now, used: used}
	if before != nil && used-before.used > now.Sub(before.at)/busyShare {
		x.heard = now // it works; from here on it has to show it again
	}
	r.refresh(x)
}

// workOf adds up the processor time of a process and its descendants; what
// cannot be read counts nothing.
func workOf(t *processes.Table, pid int) time.Duration {
	total := 0.0
	for _, p := range append([]processes.Proc{{Identity: processes.Identity{Pid: pid}}}, t.Descendants(pid)...) {
		if times, err := (&process.Process{Pid: int32(p.Pid)}).Times(); err == nil {
			total += times.User + times.System
		}
	}
	return time.Duration(total * float64(time.Second))
}
