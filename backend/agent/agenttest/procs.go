package agenttest

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// groupOf is the process group of a process, 0 when it cannot be told.
func groupOf(pid int) int {
	g, err := syscall.Getpgid(pid)
	if err != nil || g == syscall.Getpgrp() {
		return 0
	}
	return g
}

// members are the processes of a group that are no zombies.
func members(group int) (pids []int) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,pgid=,stat=").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[1] != strconv.Itoa(group) || strings.HasPrefix(f[2], "Z") {
			continue
		}
		if pid, err := strconv.Atoi(f[0]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
