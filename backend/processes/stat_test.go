//go:build linux

package processes

import "testing"

func TestParseStat(t *testing.T) {
	p, ok := parseStat([]byte("42 (a) R 1 (x) S 7 42 41 34816 42 4194560 1 2 3 4 5 6 7 8 20 0 3 0 12345678901 99 1\n"))
	if !ok || p.Pid != 42 || p.Comm != "a) R 1 (x" || p.Ppid != 7 || p.Pgrp != 42 || p.Sid != 41 || p.TTY != 34816 ||
		p.Foreground != 42 || p.Start != 12345678901 || p.Zombie {
		t.Errorf("%v %+v", ok, p)
	}
	p, ok = parseStat([]byte("9 (z) Z 1 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0"))
	if !ok || !p.Zombie || p.Foreground != -1 {
		t.Errorf("%v %+v", ok, p)
	}
	// The main thread ended, others run.
	if p, ok = parseStat([]byte("9 (z) Z 1 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 4 0 5 0 0")); !ok || p.Zombie {
		t.Errorf("%v %+v", ok, p)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) S 7 42 41 34816 42 4194560 1 2 3 4 5 6 7 8 20 0 3 0 12345678901 99 1\n"))
	f.Add([]byte("1 () R"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parseStat(b); ok && p.Pid <= 0 {
			t.Errorf("%+v", p)
		}
	})
}

func FuzzExecPids(f *testing.F) {
	f.Add(make([]byte, 76))
	f.Fuzz(func(t *testing.T, b []byte) { execPids(b) })
}
