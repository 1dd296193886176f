package processes

import (
	"bytes"
	"os"
	"strconv"
)

// Frozen says that a process is stopped (SIGSTOP): it lives and answers nobody. One
// that a tracer holds for a moment is not, nor one that cannot be looked at.
func Frozen(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// The command's name stands in brackets and may hold anything.
	i := bytes.LastIndexByte(b, ')')
	return i >= 0 && i+2 < len(b) && b[i+2] == 'T'
}
