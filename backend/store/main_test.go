package store

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// The test binary is also the other process of the tests about processes.
func TestMain(m *testing.M) {
	if mode := os.Getenv("STORE_TEST_CHILD"); mode != "" {
		child(mode, os.Getenv("STORE_TEST_DIR"))
		return
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, mode, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+mode, "STORE_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(mode, dir string) {
	switch mode {
	case "write": // acknowledges every row on its standard output, until killed
		s, err := OpenWith(dir, Options{Ballast: -1})
		must(err)
		_, _, err = s.CreateChat(ctx, ChatRecord{ID: "c", Harness: "rehearsal"})
		if err != nil {
			_, err = s.Chat(ctx, "c")
		}
		must(err)
		_, last, err := s.CountRows(ctx, "c")
		must(err)
		must(s.OpenTurn(ctx, "c", Turn{Turn: last + 1, Origin: agent.OriginPrompt, StartedAt: 1}))
		must(s.PutRows(ctx, "c", model.Row{Turn: last + 1, Item: agent.Item{ID: fmt.Sprint("open", last), Type: agent.ItemTool, CallID: "x", Name: "x", State: agent.StateRunning}}))
		done := make(chan int64)
		for range 4 {
			go func() {
				for {
					var seq int64
					must(s.Do(ctx, func(tx *Tx) (err error) {
						_, last, err := tx.CountRows("c")
						if err == nil {
							seq, err = tx.PutRow("c", text("row"+strconv.FormatInt(last+1, 10), "text"))
						}
						return err
					}))
					done <- seq
				}
			}()
		}
		for seq := range done {
			fmt.Println(seq)
		}
	case "index": // tells each batch that it has indexed
		s, err := OpenWith(dir, Options{Ballast: -1})
		must(err)
		for more := true; more; fmt.Println(more) {
			more, err = s.indexSome(ctx)
			must(err)
		}
	case "lock":
		l, err := LockSession(dir, "h", "s", "child")
		must(err)
		fmt.Println("locked")
		_, _ = os.Stdin.Read(make([]byte, 1))
		var forever chan bool
		_ = l
		<-forever
	case "lease": // takes as many as it can of 200 leases and says which
		s, err := OpenWith(dir, Options{Ballast: -1})
		must(err)
		fmt.Println("ready")
		for i := range 200 {
			_, taken, err := s.TakeLease(ctx, Lease{Harness: "h", NativeID: strconv.Itoa(i), Holder: strconv.Itoa(os.Getpid()), Pid: os.Getpid()}, func(Lease) bool { return true })
			must(err)
			if taken {
				fmt.Println(i)
			}
		}
		must(s.Close())
	}
}
