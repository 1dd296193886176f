package program

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// startTicks is the process's start in microseconds since the epoch.
func startTicks() string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid())
	if err != nil {
		return ""
	}
	t := p.Proc.P_starttime
	return strconv.FormatInt(t.Sec*1_000_000+int64(t.Usec), 10)
}
