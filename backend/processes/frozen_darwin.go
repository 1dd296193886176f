package processes

import (
	"slices"

	"github.com/shirou/gopsutil/v4/process"
)

// Frozen says that a process is stopped (SIGSTOP, a tracer): it lives and answers
// nobody. A process that cannot be looked at is not called frozen.
func Frozen(pid int) bool {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return false
	}
	state, err := p.Status()
	return err == nil && slices.Contains(state, process.Stop)
}
