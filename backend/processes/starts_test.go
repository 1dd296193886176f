package processes

import (
	"os/exec"
	"testing"
	"time"
)

func TestStartWatcherTellsOfANewProcess(t *testing.T) {
	got := make(chan Identity, 4096)
	w := NewStartWatcher(func(ids []Identity) {
		for _, id := range ids {
			got <- id
		}
	})
	defer w.Close()
	t.Logf("path: %s", w.Path())
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	w.Hint()
	deadline := time.After(5 * time.Second)
	for {
		select {
		case id := <-got:
			if id.Pid == cmd.Process.Pid {
				return
			}
		case <-deadline:
			t.Fatal("the start of a process was not told within 5 s")
		}
	}
}
