package processes

import (
	"slices"

	"github.com/shirou/gopsutil/v4/process"
)

// Frozen says that a process is stopped (SIGSTOP): it lives and answers nobody. One
// that cannot be looked at is not.
func Frozen(pid int) bool {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return false
	}
	state, err := p.Status()
	return err == nil && slices.Contains(state, process.Stop)
}
