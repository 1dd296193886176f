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
