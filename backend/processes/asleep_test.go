package processes

import (
	"os/exec"
	"syscall"
	"testing"
)

func TestFrozen(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid := cmd.Process.Pid
	if Frozen(pid) {
		t.Fatal("a sleeping process is not frozen")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var st syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &st, syscall.WUNTRACED, nil); err != nil || !st.Stopped() {
		t.Fatal(st, err)
	}
	if !Frozen(pid) {
		t.Error("a stopped process is frozen")
	}
	if Frozen(0) || Frozen(1<<30) {
		t.Error("what is not there is not frozen")
	}
}

func TestAsleepNeverGoesBack(t *testing.T) {
	if a, b := Asleep(), Asleep(); a < 0 || b < a-1e6 {
		t.Error(a, b)
	}
}
