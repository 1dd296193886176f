package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// fionread is _IOR('f', 127, int) of sys/filio.h.
const fionread = 0x4004667f

// pending is how many bytes stand in a pipe, 0 when it cannot be told.
func pending(f *os.File) int {
	n, err := unix.IoctlGetInt(int(f.Fd()), fionread)
	if err != nil {
		return 0
	}
	return n
}
