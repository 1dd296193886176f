package program

import (
	"bytes"
	"os"
)

// startTicks is field 22 of /proc/self/stat; the name in field 2 may hold
// spaces and brackets, so the fields are counted after its last bracket.
func startTicks() string {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return ""
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}
