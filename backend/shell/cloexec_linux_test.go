package shell

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A child forked after the sweep holds no pipe that was opened without
// close-on-exec: the reader sees the end while the child lives.
func TestSealDescriptorsKeepsPipesFromChildren(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], 0); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(p[0]), "r"), os.NewFile(uintptr(p[1]), "w")
	defer r.Close()
	if err := SealDescriptors(); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	w.Close()
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatalf("read %d, %v; want the end of the pipe", n, err)
	}
}
