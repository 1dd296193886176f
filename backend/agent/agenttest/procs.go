package agenttest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is one entry of the system's table.
type process struct {
	pid, parent, group int
	zombie             bool
	name               string
}

func (p process) String() string { return fmt.Sprintf("%d %s (child of %d)", p.pid, p.name, p.parent) }

// processes reads the table: /proc where there is one, else ps.
func processes() (list []process) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return listed()
	}
	for _, d := range dirs {
		stat, err := os.ReadFile(filepath.Join(d, "stat"))
		if err != nil {
			continue
		}
		// The name may hold spaces and brackets: state, parent and group follow it.
		end := bytes.LastIndexByte(stat, ')')
		f := strings.Fields(string(stat[end+1:]))
		_, name, _ := strings.Cut(string(stat[:max(end, 0)]), "(")
		if pid, err := strconv.Atoi(filepath.Base(d)); err == nil && len(f) > 2 {
			list = append(list, process{pid, number(f[1]), number(f[2]), f[0] == "Z" || f[0] == "X", name + " " + f[0]})
		}
	}
	return list
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func listed() (list []process) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,comm=").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 4 {
			list = append(list, process{number(f[0]), number(f[1]), number(f[2]), strings.HasPrefix(f[3], "Z"), strings.Join(f[4:], " ")})
		}
	}
	return list
}

// groupOf is the process group of a process, 0 when it cannot be told.
func groupOf(pid int) int {
	g, err := syscall.Getpgid(pid)
	if err != nil || g == syscall.Getpgrp() {
		return 0
	}
	return g
}

// members are the processes of a group that are no zombies.
func members(group int) (list []process) {
	for _, p := range processes() {
		if p.group == group && !p.zombie {
			list = append(list, p)
		}
	}
	return list
}

// children are the processes that this one started and has not buried.
func children() (pids []int) {
	for _, p := range processes() {
		if p.parent == os.Getpid() {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// descriptors counts what this process has open, by what it is. The ones that
// the runtime makes once for itself are left out.
func descriptors() map[string]int {
	open := map[string]int{}
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		return open
	}
	for _, e := range list {
		what, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		switch {
		case err != nil:
			what = "descriptor"
		case strings.Contains(what, "[eventpoll]"), strings.Contains(what, "[eventfd]"), strings.HasPrefix(what, "/proc/"):
			continue
		}
		if kind, _, ok := strings.Cut(what, ":["); ok {
			what = kind // pipe, socket: the number differs
		}
		open[what]++
	}
	return open
}

// more lists what there is more of than before.
func more(before, now map[string]int) (list []string) {
	for what, n := range now {
		if n > before[what] {
			list = append(list, fmt.Sprintf("%s (%d more)", cmp.Or(what, "?"), n-before[what]))
		}
	}
	slices.Sort(list)
	return list
}

// settle looks until nothing is left, and fails when something stays. It asks
// again and again, since nothing tells of a closed descriptor or a buried child.
func settle(t *testing.T, deadline time.Duration, what string, left func() []string) {
	t.Helper()
	over := time.After(min(deadline, 5*time.Second))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		list := left()
		if len(list) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-over:
			t.Errorf("%s left: %s", what, strings.Join(list, ", "))
			return
		}
	}
}

// newChildren are the children of this process that were not there before.
func newChildren(before []int) func() []string {
	return func() (list []string) {
		for _, pid := range children() {
			if !slices.Contains(before, pid) {
				list = append(list, strconv.Itoa(pid))
			}
		}
		return list
	}
}
