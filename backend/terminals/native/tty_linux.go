package native

import (
	"os"
	"strconv"
	"strings"
)

// ttyPath is the terminal device a process has open as one of its first
// descriptors, "" for none.
func ttyPath(pid int) string {
	for _, fd := range []string{"0", "1", "2"} {
		p, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + fd)
		if err == nil && strings.HasPrefix(p, "/dev/pts/") {
			return p
		}
	}
	return ""
}

// openTTYs are the terminals a process has open, nil when that cannot be read.
func openTTYs(pid int) map[string]bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for _, e := range entries {
		if p, err := os.Readlink(dir + "/" + e.Name()); err == nil && strings.HasPrefix(p, "/dev/pts/") {
			out[p] = true
		}
	}
	return out
}
