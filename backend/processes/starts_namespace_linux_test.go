package processes

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// In a container the kernel's events name pids of the machine: whoever believed
// them would look at strangers. There the hints count.
func TestStartsInAnotherPidNamespace(t *testing.T) {
	if os.Getenv("PROCESSES_TEST_NAMESPACE") == "1" {
		w := newStartWatcher(func([]Identity) {}, openEventStream)
		defer w.Close()
		t.Log("path: " + w.Path())
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(attr *syscall.SysProcAttr) ([]byte, error) {
		cmd := exec.Command(exe, "-test.run", "^TestStartsInAnotherPidNamespace$", "-test.v")
		cmd.Env = append(os.Environ(), "PROCESSES_TEST_NAMESPACE=1")
		cmd.SysProcAttr = attr
		return cmd.CombinedOutput()
	}
	// Root makes one of pids alone, who is not needs one of users around it.
	out, err := run(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID})
	if errors.Is(err, syscall.EPERM) {
		out, err = run(&syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		})
	}
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this system lets this user make no pid namespace")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "path: "+PathHints) {
		t.Errorf("it listens to the machine's events: %s", out)
	}
}
