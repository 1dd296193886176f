package shell

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// WebProcessLives reports whether this process has a living web process of
// WebKitGTK as its child. known is false where that cannot be seen.
func WebProcessLives() (lives, known bool) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return false, false
	}
	self := []byte(strconv.Itoa(os.Getpid()))
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
		// The kernel cuts names at 15 bytes.
		if open < 0 || end < open || !bytes.HasPrefix([]byte("WebKitWebProcess"), b[open+1:end]) || end-open < 15 {
			continue
		}
		f := bytes.Fields(b[end+1:])
		if len(f) > 1 && bytes.Equal(f[1], self) && f[0][0] != 'Z' && f[0][0] != 'X' {
			return true, true
		}
	}
	return false, true
}
