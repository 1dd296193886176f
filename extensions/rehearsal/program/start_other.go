//go:build !linux

package program

import (
	"os"
	"strconv"

	"github.com/shirou/gopsutil/v4/process"
)

// startTicks is the process's creation time in milliseconds.
func startTicks() string {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return ""
	}
	ms, err := p.CreateTime()
	if err != nil {
		return ""
	}
	return strconv.FormatInt(ms, 10)
}
