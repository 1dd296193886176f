package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// pending is how many bytes stand in a pipe, 0 when it cannot be told.
func pending(f *os.File) int {
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
