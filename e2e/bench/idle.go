//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
)

const (
	liveSessions = 20
	idleFor      = 60 * time.Second
)

// measureIdle: context switches of all threads of the host while twenty sessions
// live and nothing happens, beside a bare program that waits; and the same of a
// host with a ticker in it, which must miss the target or the figure is blind.
func measureIdle(l *Lab) []Figure {
	f := Figure{What: fmt.Sprintf("idle, %d live sessions, %v", liveSessions, idleFor), Unit: "switches/s", Target: atMost(0.1, "/s")}
	check := Figure{What: "the same with a 1 s ticker in the host (must miss 0.1)", Unit: "switches/s",
		Target: Target{"> 0.1 /s", func(_, o float64) bool { return o > 0.1 }}}
	fail := func(err error) []Figure {
		f.Err, check.Err = err, err
		return []Figure{f, check}
	}
	host, err := l.Host()
	if err != nil {
		return fail(err)
	}
	ticker, err := l.tickerHost()
	if err != nil {
		return fail(err)
	}
	bare, err := l.Floor("bare")
	if err != nil {
		return fail(err)
	}
	floor, err := l.Start(env(l.tmp), bare)
	if err != nil {
		return fail(err)
	}
	defer floor.Stop()
	if _, err := floor.Line(); err != nil {
		return fail(err)
	}
	began := forks()
	// One long window is the measurement; a second run confirms it.
	for range 2 {
		base, ours, err := l.idle(host, floor.Pid(), idleFor)
		if err != nil {
			return fail(err)
		}
		f.Floor, f.Ours = append(f.Floor, base), append(f.Ours, ours)
	}
	f.Note = fmt.Sprintf("meanwhile the machine started %d processes; each wakes a host that listens to process events, so that the figure is valid on a quiet machine only",
		forks()-began)
	_, ticks, err := l.idle(ticker, floor.Pid(), idleFor/3)
	if err != nil {
		check.Err = err
	} else {
		check.Ours = []float64{ticks}
	}
	return []Figure{f, check}
}

// idle runs a host with live sessions and counts its switches a second, and the
// floor's in the same time.
func (l *Lab) idle(program string, floor int, window time.Duration) (base, ours float64, err error) {
	home, err := l.Home()
	if err != nil {
		return 0, 0, err
	}
	live, err := startLive(home, liveSessions)
	if err != nil {
		return 0, 0, err
	}
	defer live.Stop()
	r, client, _, err := l.Serve(program, home, "REHEARSAL_HOME="+string(rehearsalHome(home)))
	if err != nil {
		return 0, 0, err
	}
	defer r.Stop()
	defer client.Close()
	seen := map[string]bool{}
	all := make(chan struct{})
	err = sessions(client, func(s model.Session) {
		if s.Pid != 0 && !seen[s.Key.ID] {
			seen[s.Key.ID] = true
			if len(seen) == liveSessions {
				close(all)
			}
		}
	})
	if err != nil {
		return 0, 0, err
	}
	select {
	case <-all:
	case <-time.After(10 * time.Second):
		return 0, 0, fmt.Errorf("the host shows %d of %d live sessions", len(seen), liveSessions)
	}
	time.Sleep(settle)
	f0, err := switches(floor)
	if err != nil {
		return 0, 0, err
	}
	h0, err := switches(r.Pid())
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(window)
	f1, err := switches(floor)
	if err != nil {
		return 0, 0, err
	}
	h1, err := switches(r.Pid())
	if err != nil {
		return 0, 0, err
	}
	return float64(f1-f0) / window.Seconds(), float64(h1-h0) / window.Seconds(), nil
}
