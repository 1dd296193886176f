package shell

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// SealDescriptors sets close-on-exec on every descriptor above stderr. Wails
// opens the pipe behind each response without that flag; a child forked
// meanwhile would hold the page's response open until it exits. To be called
// right before every fork of the shell after the first page load.
func SealDescriptors() error {
	entries, err := os.ReadDir("/proc/self/fd")
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
