//go:build linux

package main

import (
	"fmt"
	"time"
)

// measureStart: from the fork to the answer of hello, beside a bare program from
// the fork to its first line; and with thousands of stored sessions known beside
// none.
func measureStart(l *Lab) []Figure {
	bare := Figure{What: "host start to ready", Unit: "ms", Target: atMost(80, "ms")}
	known := Figure{What: fmt.Sprintf("host start, %d stored sessions (floor: none)", storedCount), Unit: "ms", Target: atMostTimes(1.3)}
	fail := func(err error) []Figure {
		bare.Err, known.Err = err, err
		return []Figure{bare, known}
	}
	host, err := l.Host()
	if err != nil {
		return fail(err)
	}
	floor, err := l.Floor("bare")
	if err != nil {
		return fail(err)
	}
	stored, err := l.StoredHome()
	if err != nil {
		return fail(err)
	}
	empty, err := l.Home()
	if err != nil {
		return fail(err)
	}
	// Run 0 warms the caches and makes the databases and is not counted.
	for n := range l.Runs + 1 {
		f, err := l.startBare(floor)
		if err != nil {
			return fail(err)
		}
		none, err := l.startHost(host, empty)
		if err != nil {
			return fail(err)
		}
		many, err := l.startHost(host, stored)
		if err != nil {
			return fail(err)
		}
		if n == 0 {
			continue
		}
		bare.Floor, bare.Ours = append(bare.Floor, ms(f)), append(bare.Ours, ms(none))
		known.Floor, known.Ours = append(known.Floor, ms(none)), append(known.Ours, ms(many))
	}
	return []Figure{bare, known}
}

func (l *Lab) startBare(floor string) (time.Duration, error) {
	began := time.Now()
	r, err := l.Start(env(l.tmp), floor)
	if err != nil {
		return 0, err
	}
	defer r.Stop()
	if _, err := r.Line(); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

func (l *Lab) startHost(program, home string) (time.Duration, error) {
	r, client, took, err := l.Serve(program, home)
	if err != nil {
		return 0, err
	}
	client.Close()
	r.Stop()
	return took, nil
}

// settle is how long a host may work after its start before it counts as idle.
const settle = 6 * time.Second

// measureMemory: the idle host with the stored sessions known beside a program
// that links the same packages and does nothing.
func measureMemory(l *Lab) []Figure {
	f := Figure{What: fmt.Sprintf("host memory, idle, %d stored sessions", storedCount), Unit: "MB", Target: atMostMore(40, "MB"),
		Note: "proportional memory (PSS) of the host process; the floor is the same binary that only prints its version and waits"}
	host, err := l.Host()
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	imports, err := l.importsFloor()
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	stored, err := l.StoredHome()
	if err != nil {
		f.Err = err
		return []Figure{f}
	}
	for range l.Runs {
		floor, err := l.Start(env(l.tmp), imports)
		if err != nil {
			f.Err = err
			break
		}
		if _, err := floor.Line(); err != nil {
			floor.Stop()
			f.Err = err
			break
		}
		r, client, _, err := l.Serve(host, stored)
		if err != nil {
			floor.Stop()
			f.Err = err
			break
		}
		time.Sleep(settle)
		f.Floor, f.Ours = append(f.Floor, mb(pss(floor.Pid()))), append(f.Ours, mb(pss(r.Pid())))
		client.Close()
		r.Stop()
		floor.Stop()
	}
	return []Figure{f}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func mb(n int64) float64         { return float64(n) / (1 << 20) }
