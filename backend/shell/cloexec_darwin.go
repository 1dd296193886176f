package shell

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// SealDescriptors sets close-on-exec on every descriptor above stderr, so that
// a host started later inherits nothing of the window.
func SealDescriptors() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
