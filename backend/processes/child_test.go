package processes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("PROCESSES_TEST_HOST") == "1" {
		pretendHost()
	}
	goleak.VerifyTestMain(m)
}

type memoryLedger struct {
	mu      sync.Mutex
	started []Helper
	ended   []Identity
	fail    error
}

func (l *memoryLedger) Started(h Helper) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = append(l.started, h)
	return l.fail
}

func (l *memoryLedger) Ended(id Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = append(l.ended, id)
}

func shell(t *testing.T, script string, change ...func(*Spec)) *Child {
	t.Helper()
	spec := Spec{Argv: []string{"sh", "-c", script}, Env: os.Environ(), Purpose: "test", Owner: t.Name()}
	for _, f := range change {
		f(&spec)
	}
	c, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background(), Ladder{EOFWait: -1, TermWait: -1}) })
	return c
}

func TestHelperTalksAndEnds(t *testing.T) {
	l := &memoryLedger{}
	c := shell(t, `read a; echo "got $a $WHIPPLETREE_HELPER"; echo oops >&2; exit 7`, func(s *Spec) { s.Ledger = l })
	fmt.Fprintln(c.Stdin, "hello")
	out, err := io.ReadAll(c.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if want := "got hello " + c.Helper().ID + "\n"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if e := c.Exit(); e.Code != 7 || e.Signal != 0 {
		t.Errorf("exit %v", e)
	}
	if s := c.Stderr(); s != "oops\n" {
		t.Errorf("stderr %q", s)
	}
	if err := c.Close(context.Background(), Ladder{}); err != nil {
		t.Error(err)
	}
	if len(l.started) != 1 || l.started[0].Identity != c.Identity() || len(l.ended) != 1 {
		t.Errorf("ledger %+v", l)
	}
}

func TestHelperThatCannotBeRecordedIsEnded(t *testing.T) {
	l := &memoryLedger{fail: errors.New("disk full")}
	_, err := Start(Spec{Argv: []string{"sleep", "600"}, Env: os.Environ(), Ledger: l})
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Fatalf("got %v", err)
	}
	if l.started[0].Alive() {
		t.Error("the process still runs")
	}
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	_, err := Start(Spec{Argv: []string{"no-such-agent"}, Env: []string{"PATH=/bin"}})
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "/bin") {
		t.Errorf("got %v", err)
	}
	_, err = Start(Spec{Argv: []string{"sh"}, Dir: "/no/such/folder", Env: []string{"PATH=/bin"}})
	if err == nil || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Errorf("got %v", err)
	}
}

// The flood must neither stop the helper nor fill memory (case S03's engine part).
func TestStderrIsAlwaysDrainedAndBounded(t *testing.T) {
	c := shell(t, `i=0; while [ $i -lt 20000 ]; do echo "line $i of a flood that nobody reads" >&2; i=$((i+1)); done; echo token=abcdefgh1234 s3cr3t-value >&2`,
		func(s *Spec) { s.Secrets = []string{"s3cr3t-value"} })
	c.Exit()
	s := c.Stderr()
	if len(s) > stderrBytes || !strings.HasPrefix(s, "line ") || !strings.Contains(s, "line 19999 ") {
		t.Errorf("%d bytes, %.30q", len(s), s)
	}
	if strings.Contains(s, "s3cr3t") || strings.Contains(s, "abcdefgh1234") {
		t.Errorf("a secret is shown: %q", s[len(s)-60:])
	}
}

func TestGrandchildHoldingStdoutDoesNotHoldTheReader(t *testing.T) {
	c := shell(t, `sleep 600 & echo done`)
	out, err := io.ReadAll(c.Stdout)
	if err != nil || string(out) != "done\n" {
		t.Fatalf("%q %v", out, err)
	}
	<-c.Done()
	if err := c.Close(context.Background(), Ladder{EOFWait: -1, TermWait: time.Second}); err != nil {
		t.Fatal(err)
	}
	if left := c.members(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLadderReachesWhatIgnoresTerm(t *testing.T) {
	said := false
	c := shell(t, `trap '' TERM; sh -c 'trap "" TERM; echo ready; while :; do sleep 600; done'`)
	if _, err := bufio.NewReader(c.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	err := c.Close(context.Background(), Ladder{
		Protocol:     func(context.Context) error { said = true; return nil },
		ProtocolWait: 10 * time.Millisecond, EOFWait: 10 * time.Millisecond, TermWait: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !said || c.Exit().Signal != syscall.SIGKILL {
		t.Errorf("said %v, exit %v", said, c.Exit())
	}
	if left := c.members(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestCanceledCloseGoesToKill(t *testing.T) {
	c := shell(t, `trap '' TERM; sleep 600; sleep 600`)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Close(ctx, Ladder{EOFWait: time.Hour, TermWait: time.Hour}); err != nil {
		t.Fatal(err)
	}
}

func TestWhoLeftTheSessionLivesOn(t *testing.T) {
	c := shell(t, `setsid sleep 600 & echo $!; read x`)
	line, err := bufio.NewReader(c.Stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	waitFor(t, func() bool { p, err := Read(pid); return err == nil && p.Sid == pid && p.Comm == "sleep" })
	id, err := Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = id.Signal(syscall.SIGKILL) }()
	if err := c.Close(context.Background(), Ladder{EOFWait: -1}); err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Error("a daemon that left on purpose was killed")
	}
}

// waitFor waits for a state of another process that no event announces.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("did not become true within 5 s")
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// pretendHost starts a launcher whose server ignores TERM, prints the ledger's
// entry and the server's pid and waits to be killed.
func pretendHost() {
	c, err := Start(Spec{
		Argv: []string{"sh", "-c", `sh -c 'trap "" TERM HUP; echo $$; while :; do sleep 600; done'; true`},
		Env:  os.Environ(), Purpose: "chat", Owner: "c1",
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	pid, _ := bufio.NewReader(c.Stdout).ReadString('\n')
	h := c.Helper()
	fmt.Println(h.Pid, h.Start, h.Boot, h.ID, h.Sid, strings.TrimSpace(pid))
	select {}
}

// Case R03: kill -9 of the host leaves a launcher and a server that ignores
// TERM; the next start ends them, and nothing else.
func TestCaseR03_ChildrenLeftBehind(t *testing.T) {
	host := exec.Command(os.Args[0], "-test.run=^$")
	host.Env = append(os.Environ(), "PROCESSES_TEST_HOST=1")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var h Helper
	var server int
	if _, err := fmt.Fscan(out, &h.Pid, &h.Start, &h.Boot, &h.ID, &h.Sid, &server); err != nil {
		t.Fatal(err)
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	decoy := shell(t, "sleep 600")
	if !h.Alive() {
		t.Fatal("the launcher should have survived its host")
	}
	serverID, err := Identify(server)
	if err != nil {
		t.Fatal(err)
	}

	reused := Helper{Identity: decoy.Identity(), ID: "other"}
	reused.Start--
	otherBoot := Helper{Identity: decoy.Identity(), ID: "other"}
	otherBoot.Boot = "another boot"
	got := Reap(t.Context(), []Helper{h, reused, otherBoot})
	if len(got[0].Ended) < 2 || len(got[0].Left) > 0 {
		t.Errorf("reaped %+v", got[0])
	}
	if h.Alive() || serverID.Alive() {
		t.Error("something of the dead host still runs")
	}
	if len(got[1].Ended)+len(got[2].Ended) > 0 || !decoy.Identity().Alive() {
		t.Error("a process that is not the recorded one was touched")
	}
}

func TestReapFindsTheGroupOfADeadLeader(t *testing.T) {
	c := shell(t, `sleep 600 & echo $!`)
	var pid int
	if _, err := fmt.Fscan(c.Stdout, &pid); err != nil {
		t.Fatal(err)
	}
	id, err := Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	got := Reap(t.Context(), []Helper{c.Helper()})
	if id.Alive() || len(got[0].Ended) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestNoDescriptorLeaks(t *testing.T) {
	count := func() int {
		names, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	cycle := func() {
		c := shell(t, "exit 0")
		<-c.Done()
		if err := c.Close(context.Background(), Ladder{}); err != nil {
			t.Fatal(err)
		}
		if _, err := Start(Spec{Argv: []string{"/no/such/bin"}}); err == nil {
			t.Fatal("started nothing")
		}
	}
	cycle()
	before := count()
	for range 20 {
		cycle()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
