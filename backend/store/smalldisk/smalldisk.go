//go:build linux

// Package smalldisk gives a test a file system that can be filled.
package smalldisk

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const inside = "WHIPPLETREE_TEST_NAMESPACE"

// Mount returns a folder on a file system of the given size ("24m"). Where this
// user may not mount, the whole calling test runs again in a user namespace of
// its own, with that result, and done says that there is nothing left to do. A
// system that allows neither skips the test and says so.
func Mount(t *testing.T, size string) (dir string, done bool) {
	t.Helper()
	dir = t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=0700")
	if err == nil {
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		return dir, false
	}
	if os.Getenv(inside) != "" {
		t.Fatalf("in a namespace of our own: %v", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Fatalf("%v\n%s", err, out)
	case err != nil:
		t.Skipf("not run: neither a small file system nor a user namespace can be had here: %v", err)
	}
	return "", true
}
