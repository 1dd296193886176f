//go:build linux

// Command watch watches the folder named by its argument and prints, for every
// file that was renamed into place or written, the file's name and the time in
// nanoseconds of the epoch. The floor of noticing a change.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if _, err := unix.InotifyAddWatch(fd, os.Args[1], unix.IN_MOVED_TO|unix.IN_CLOSE_WRITE); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Println("ready")
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		if err != nil {
			return
		}
		now := time.Now().UnixNano()
		for off := 0; off+unix.SizeofInotifyEvent <= n; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[off]))
			name := buf[off+unix.SizeofInotifyEvent : off+unix.SizeofInotifyEvent+int(e.Len)]
			fmt.Fprintf(out, "%s %d\n", bytes.TrimRight(name, "\x00"), now)
			off += unix.SizeofInotifyEvent + int(e.Len)
		}
		_ = out.Flush()
	}
}
