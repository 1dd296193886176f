package native

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/processes"
)

// ttyPath is the controlling terminal of a process: the device in /dev with
// its number.
func ttyPath(pid int) string {
	p, err := processes.Read(pid)
	if err != nil || p.TTY == 0 {
		return ""
	}
	names, _ := filepath.Glob("/dev/ttys*")
	for _, name := range names {
		st, err := os.Stat(name)
		if err != nil {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && uint64(uint32(sys.Rdev)) == p.TTY {
			return name
		}
	}
	return ""
}

// openTTYs: the descriptors of another process cannot be listed without cgo.
func openTTYs(int) map[string]bool { return nil }
