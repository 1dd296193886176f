package processes

import (
	"bytes"
	"os"
	"strconv"
)

// Frozen says that a process is stopped (SIGSTOP, a tracer): it lives and answers
// nobody. A process that cannot be looked at is not called frozen.
func Frozen(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// The command's name stands in brackets and may hold anything.
	i := bytes.LastIndexByte(b, ')')
	return i >= 0 && i+2 < len(b) && (b[i+2] == 'T' || b[i+2] == 't')
}
