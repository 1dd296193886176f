//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// switches sums the context switches of all threads of a process so far.
func switches(pid int) (int64, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d is gone", pid)
	}
	var sum int64
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // a thread that ended
		}
		for line := range strings.Lines(string(b)) {
			if k, v, _ := strings.Cut(line, ":"); strings.HasSuffix(k, "ctxt_switches") {
				n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
				sum += n
			}
		}
	}
	return sum, nil
}

// tick is the unit of processor time in /proc/pid/stat.
const tick = 10 * time.Millisecond

// stat is what we need of /proc/pid/stat.
type stat struct {
	ppid int
	cpu  time.Duration
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	ppid, _ := strconv.Atoi(f[1])
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return stat{ppid, time.Duration(user+system) * tick}, nil
}

// cpuOf is the processor time of all threads of a process, in nanoseconds where
// the kernel tells them (schedstat), else in ticks.
func cpuOf(pid int) (time.Duration, error) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	var sum time.Duration
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		if f := strings.Fields(string(b)); len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			sum += time.Duration(n)
		}
	}
	if sum > 0 {
		return sum, nil
	}
	st, err := readStat(pid)
	return st.cpu, err
}

// tree lists pid and everything below it.
func tree(pid int) []int {
	parents := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		p, _ := strconv.Atoi(filepath.Base(d))
		if st, err := readStat(p); err == nil {
			parents[p] = st.ppid
		}
	}
	in := map[int]bool{pid: true}
	for grew := true; grew; {
		grew = false
		for p, pp := range parents {
			if in[pp] && !in[p] {
				in[p], grew = true, true
			}
		}
	}
	var all []int
	for p := range in {
		all = append(all, p)
	}
	return all
}

// pss is the proportional memory of processes together, in bytes.
func pss(pids ...int) int64 {
	var sum int64
	for _, p := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "Pss:"); ok {
				n, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
				sum += n << 10
			}
		}
	}
	return sum
}

// forks is how many processes and threads the machine has started since it
// booted.
func forks() int64 {
	b, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "processes "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}
