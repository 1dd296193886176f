package claudecode

import (
	"bytes"
	order "encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// opens notes which files in folders are opened, by whomever, until it is asked.
func opens(t *testing.T, folders ...string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	for _, dir := range folders {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	return func() []string {
		buf := make([]byte, 1<<20)
		for {
			k, err := unix.Read(fd, buf)
			if err != nil || k <= 0 {
				return sortedKeys(names)
			}
			for off := 0; off+unix.SizeofInotifyEvent <= k; {
				mask := order.NativeEndian.Uint32(buf[off+4:])
				name := int(order.NativeEndian.Uint32(buf[off+12:]))
				if file := bytes.TrimRight(buf[off+16:off+16+name], "\x00"); mask&unix.IN_ISDIR == 0 && len(file) > 0 {
					names[string(file)] = true
				}
				off += unix.SizeofInotifyEvent + name
			}
		}
	}
}
