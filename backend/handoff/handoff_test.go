package handoff

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
)

func TestThereAndBack(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	p, err := s.m.Preview(ctx, id)
	if err != nil || !p.CanNow || len(p.Lost) != 1 || !strings.Contains(p.Printed, "SCRIBE_MODE=tui") || p.Places[0].ID != "app" {
		t.Fatalf("%+v %v", p, err)
	}
	res := s.toTerminal(id, Request{})
	if res.TerminalID != "tab1" {
		t.Fatalf("%+v", res)
	}
	hand := s.owned(id)
	if hand.Ownership.Pid != s.tabs.last().cmd.Process.Pid || hand.Ownership.Link != agent.LinkProved {
		t.Fatalf("%+v", hand.Ownership)
	}
	s.tabs.last().typed("say two")
	rows := s.rows(id, "re: two")
	if rows[len(rows)-1].Via != "terminal" || texts(rows) != "one|re: one|two|re: two" {
		t.Fatal(texts(rows))
	}
	if sent := s.send(id, "three"); sent.State != model.QueueQueued {
		t.Fatal(sent)
	}
	s.send(id, "four")
	if _, err := s.m.TakeBack(ctx, id, false); !errors.Is(err, chats.ErrNotOwner) {
		t.Fatal(err)
	}
	s.tabs.last().typed("quit")
	rows = s.rows(id, "re: four")
	if texts(rows) != "one|re: one|two|re: two|three|re: three|four|re: four" {
		t.Fatal(texts(rows))
	}
	s.hand(id, model.HandApp)
	s.oneBranch(s.session(id))
	for i, r := range rows {
		if r.Seq != int64(i+1) {
			t.Errorf("row %d has place %d", i, r.Seq)
		}
	}
}

func TestTakeOverAsksTheOwnerToExit(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.toTerminal(id, Request{})
	s.owned(id)
	s.tabs.last().typed("say two")
	hand, err := s.m.TakeBack(ctx, id, true)
	if err != nil || hand.State != model.HandApp {
		t.Fatal(hand, err)
	}
	s.said(id, "three")
	if got := texts(s.get(id).Items); got != "one|re: one|two|re: two|three|re: three" {
		t.Fatal(got)
	}
	s.oneBranch(s.session(id))
}

// H02: while another process has the session nothing is written.
func TestH02TwoWriters(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	if err := s.chats.CloseChat(ctx, id); err != nil {
		t.Fatal(err)
	}
	other := s.cli(s.session(id))
	other.typed("say elsewhere")
	if sent := s.send(id, "mine"); sent.State != model.QueueQueued {
		t.Fatal(sent)
	}
	hand := s.owned(id)
	if hand.Ownership.Pid != other.cmd.Process.Pid {
		t.Fatal(hand.Ownership)
	}
	s.rows(id, "re: elsewhere")
	other.typed("say idle is not released")
	s.rows(id, "re: idle is not released")
	if n := len(s.p.prompts); n != 1 {
		t.Fatalf("%d prompts reached the agent", n)
	}
	other.typed("quit")
	s.rows(id, "re: mine")
	s.oneBranch(s.session(id))
}

// H02: two hosts want one session within the same moment, 500 times.
func TestH02LeaseRace(t *testing.T) {
	dir := t.TempDir()
	var hosts [2]*Manager
	for i := range hosts {
		st, err := store.Open(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		cm := chats.New(chats.Options{Store: st})
		hosts[i] = New(Options{Chats: cm, Store: st, LockDir: filepath.Join(dir, "locks"), Holder: fmt.Sprint("host", i)})
	}
	for run := range 500 {
		h := agent.Handle{Harness: "scribe", NativeID: fmt.Sprint("s", run)}
		var won atomic.Int32
		var wg sync.WaitGroup
		for i, m := range hosts {
			wg.Go(func() {
				w := m.ward("chat")
				if err := m.takeLease(ctx, w, h); err == nil {
					won.Add(1)
				} else if !errors.Is(err, chats.ErrNotOwner) {
					t.Error(i, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("run %d: %d winners", run, won.Load())
		}
		for _, m := range hosts {
			m.giveUp(ctx, m.ward("chat"))
		}
	}
}

// A session that only got its name in the first turn is watched from then on.
func TestAForeignWriterOfASessionThatHasJustBegun(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	other := s.cli(s.session(id))
	s.hand(id, model.HandMirror) // nobody has to send something first
	if got := s.owned(id); got.Ownership.Pid != other.cmd.Process.Pid {
		t.Errorf("%+v", got.Ownership)
	}
	other.typed("quit")
	s.hand(id, model.HandApp)
}

func TestAForeignWriterDuringOurTurn(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.p.mu.Lock()
	s.p.hold = make(chan struct{})
	s.p.mu.Unlock()
	s.send(id, "two")
	s.until("the turn", func() bool { sum, _ := s.chats.Summary(id); return sum.Turn == model.TurnRunning })
	other := s.cli(s.session(id))
	s.hand(id, model.HandMirror) // flagged while the turn still runs
	if c := s.get(id); c.Turn != model.TurnRunning || c.Hand.Note == "" {
		t.Fatalf("%+v", c.ChatSummary)
	}
	close(s.p.hold)
	s.until("the turn's end", func() bool { sum, _ := s.chats.Summary(id); return sum.Turn == model.TurnIdle })
	if end := s.get(id).LastEnd; end.Outcome != agent.OutcomeCompleted {
		t.Fatal(end)
	}
	s.owned(id)
	other.typed("quit")
	s.hand(id, model.HandApp)
}

func TestUnclearWritesNothing(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.p.mu.Lock()
	s.p.unclear = true
	s.p.mu.Unlock()
	if sent := s.send(id, "two"); sent.State != model.QueueQueued || !strings.Contains(sent.Note, "a test says so") {
		t.Fatal(sent)
	}
	if hand := s.hand(id, model.HandUnclear); !strings.Contains(hand.Note, "a test says so") {
		t.Fatal(hand)
	}
	if _, err := s.m.TakeBack(ctx, id, true); !errors.Is(err, chats.ErrNotOwner) {
		t.Fatal(err)
	}
	if n := len(s.p.prompts); n != 1 {
		t.Fatal(n)
	}
	s.p.mu.Lock()
	s.p.unclear = false
	s.p.mu.Unlock()
	if _, err := s.m.TakeBack(ctx, id, false); err != nil {
		t.Fatal(err)
	}
	s.rows(id, "re: two")
}

func TestALaunchThatDies(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.p.mode = "gone"
	s.toTerminal(id, Request{})
	if hand := s.hand(id, model.HandApp); hand.Note == "" {
		t.Fatal("nothing says what happened")
	}
	s.said(id, "two")
}

func TestALaunchThatAsksFirst(t *testing.T) {
	s := newStage(t)
	s.m.o.OwnerWithin = 200 * time.Millisecond
	id := s.chat()
	s.said(id, "one")
	s.p.mode = "mute" // alive, and not registered: it may be asking for a login
	s.toTerminal(id, Request{})
	passed := time.After(600 * time.Millisecond)
	s.until("the bound", func() bool {
		select {
		case <-passed:
			return true
		default:
			return false
		}
	})
	if sum, _ := s.chats.Summary(id); sum.Hand.State != model.HandMirror {
		t.Fatalf("hand = %+v", sum.Hand)
	}
	if _, err := s.m.TakeBack(ctx, id, true); err != nil { // our own launch is proved
		t.Fatal(err)
	}
	s.said(id, "two")
}

// An owner that was unclear for a moment is not unclear for ever.
func TestUnclearForAMomentWhileItStarts(t *testing.T) {
	for name, request := range map[string]Request{"launched": {}, "printed": {PrintOnly: true}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			id := s.chat()
			s.said(id, "one")
			s.p.mode = "mute" // alive, and not registered
			s.toTerminal(id, request)
			look := func(unclear bool) {
				s.p.mu.Lock()
				s.p.unclear = unclear
				s.p.mu.Unlock()
				if err := os.WriteFile(filepath.Join(s.p.home.sessions(), "touched"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			look(true)
			s.hand(id, model.HandUnclear)
			look(false)
			if hand := s.hand(id, model.HandMirror); (hand.Note == notePrinted) != request.PrintOnly {
				t.Errorf("%+v", hand)
			}
			if _, err := s.m.TakeBack(ctx, id, true); err != nil {
				t.Fatal(err)
			}
			s.said(id, "two")
		})
	}
}

func TestPrintOnlyWaitsForThePerson(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	res := s.toTerminal(id, Request{PrintOnly: true})
	if !strings.HasPrefix(res.Printed, "cd -- ") || res.Hand.State != model.HandMirror {
		t.Fatalf("%+v", res)
	}
	other := s.cli(s.session(id))
	s.owned(id)
	other.typed("say two")
	s.rows(id, "re: two")
	other.typed("quit")
	s.hand(id, model.HandApp)
	// And taken back before anything was run.
	s.toTerminal(id, Request{PrintOnly: true})
	if hand, err := s.m.TakeBack(ctx, id, false); err != nil || hand.State != model.HandApp {
		t.Fatal(hand, err)
	}
}

func TestReleaseRefusesUnlessIdle(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	if _, err := s.m.ToTerminal(ctx, Request{ChatID: id}); !errors.Is(err, chats.ErrUnsupported) {
		t.Fatal(err) // no session yet
	}
	s.said(id, "one")
	s.p.mu.Lock()
	s.p.hold = make(chan struct{})
	s.p.mu.Unlock()
	s.send(id, "two")
	s.until("the turn", func() bool { sum, _ := s.chats.Summary(id); return sum.Turn == model.TurnRunning })
	if _, err := s.m.ToTerminal(ctx, Request{ChatID: id}); !errors.Is(err, chats.ErrBusy) {
		t.Fatal(err)
	}
	if p, _ := s.m.Preview(ctx, id); p.CanNow || !p.Running || p.Why == "" {
		t.Fatalf("%+v", p)
	}
	s.toTerminal(id, Request{When: chats.WhenStop})
	if end := s.get(id).LastEnd; end.Outcome != agent.OutcomeCanceled {
		t.Fatal(end)
	}
	s.owned(id)
	s.tabs.last().typed("quit")
	s.hand(id, model.HandApp)
	s.oneBranch(s.session(id))
}

// A descendant that ignores TERM and left the group lives on after the close;
// the command is not run before it is gone.
func TestWhatTheAgentLeavesBehindIsEnded(t *testing.T) {
	s := newStage(t)
	s.m.o.GoneWithin = 500 * time.Millisecond
	s.p.child = true
	id := s.chat()
	s.said(id, "one")
	b, err := os.ReadFile(filepath.Join(string(s.p.home), "child"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(string(b))
	kid, err := processes.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	s.toTerminal(id, Request{})
	if kid.Alive() {
		_ = kid.Signal(syscall.SIGKILL)
		t.Fatal("a process of the released agent lives")
	}
	s.owned(id)
}

func TestATerminalThatCannotBeOpened(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.tabs.fail = errors.New("no pty left")
	_, err := s.m.ToTerminal(ctx, Request{ChatID: id})
	if !errors.Is(err, chats.ErrUnavailable) || !strings.Contains(err.Error(), "SCRIBE_MODE") {
		t.Fatal(err)
	}
	if hand := s.hand(id, model.HandApp); !strings.Contains(hand.Note, "no pty left") {
		t.Fatal(hand)
	}
	if _, err := s.m.ToTerminal(ctx, Request{ChatID: id, Place: "no-such-app"}); !errors.Is(err, chats.ErrInvalid) {
		t.Fatal(err)
	}
	s.said(id, "two")
}

func TestConfinedChatsStay(t *testing.T) {
	s := newStage(t)
	sum, err := s.chats.Create(ctx, chats.CreateRequest{Harness: "scribe"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.m.Preview(ctx, sum.ID)
	if err != nil || p.CanNow || !strings.Contains(p.Why, "confined") {
		t.Fatalf("%+v %v", p, err)
	}
	if _, err := s.m.ToTerminal(ctx, Request{ChatID: sum.ID}); !errors.Is(err, chats.ErrUnsupported) {
		t.Fatal(err)
	}
}

// Any session can be opened: a running one starts as a mirror, a stored one
// idle.
func TestAdopt(t *testing.T) {
	s := newStage(t)
	w := s.p.home.writer("stored")
	w.append("user", "long ago", "")
	w.append("text", "re: long ago", "")
	sum, err := s.chats.Create(ctx, chats.CreateRequest{Harness: "scribe", Adopt: &agent.Handle{NativeID: "stored", Cwd: s.dir}})
	if err != nil || sum.Hand.State != model.HandApp {
		t.Fatal(sum.Hand, err)
	}
	if got := texts(s.get(sum.ID).Items); got != "long ago|re: long ago" {
		t.Fatal(got)
	}
	s.said(sum.ID, "now")
	s.oneBranch("stored")

	other := s.cli("running")
	other.typed("say first")
	sum, err = s.chats.Create(ctx, chats.CreateRequest{Harness: "scribe", Adopt: &agent.Handle{NativeID: "running", Cwd: s.dir}})
	if err != nil || sum.Hand.State != model.HandMirror || sum.Hand.Ownership.Pid != other.cmd.Process.Pid {
		t.Fatal(sum.Hand, err)
	}
	s.rows(sum.ID, "re: first")
	again, err := s.chats.Create(ctx, chats.CreateRequest{Harness: "scribe", Adopt: &agent.Handle{NativeID: "running", Cwd: s.dir}})
	if err != nil || again.ID != sum.ID {
		t.Fatal("one session, two chats", err)
	}
	if _, err := s.m.TakeBack(ctx, sum.ID, true); err != nil {
		t.Fatal(err)
	}
	s.said(sum.ID, "second")
	s.oneBranch("running")
}

// H01: the conversation goes on under a new id: one lineage, no row twice.
func TestH01ResumeMakesANewID(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	old := s.session(id)
	s.toTerminal(id, Request{})
	s.owned(id)
	s.tabs.last().typed("moved new-id")
	s.until("the new id", func() bool { return s.session(id) == "new-id" })
	s.tabs.last().typed("say two")
	s.rows(id, "re: two")
	s.tabs.last().typed("quit")
	s.hand(id, model.HandApp)
	sum, _ := s.chats.Summary(id)
	if len(sum.Aliases) != 1 || sum.Aliases[0] != old {
		t.Fatal(sum.Aliases)
	}
	if tip, _ := s.st.Tip(ctx, "scribe", old); tip != "new-id" {
		t.Fatal(tip)
	}
	s.said(id, "three")
	s.oneBranch("new-id")
}

// A host killed at any step of releasing or taking back: after a restart the
// chat comes to rest, with one branch and its queue whole.
func TestCrashAtEveryStep(t *testing.T) {
	for _, step := range []string{"release:closed", "release:gone", "release:still", "release:launched", "reattach:begin", "reattach:tip", "reattach:rows", "reattach:lease"} {
		t.Run(strings.ReplaceAll(step, ":", "-"), func(t *testing.T) {
			s := newStage(t)
			id := s.chat()
			s.said(id, "one")
			crashed := make(chan struct{})
			var once sync.Once
			s.crash = func(at string) error {
				if at == step {
					once.Do(func() { close(crashed) })
					return errCrash
				}
				return nil
			}
			_, err := s.m.ToTerminal(ctx, Request{ChatID: id})
			if strings.HasPrefix(step, "release") {
				if !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
			} else {
				s.owned(id)
				s.tabs.last().typed("say two")
				s.send(id, "queued")
				s.tabs.last().typed("quit")
			}
			<-crashed
			s.close()
			s.crash = nil
			s.open()
			launched := step == "release:launched"
			if launched {
				s.owned(id)
				s.tabs.last().typed("say two")
				s.tabs.last().typed("quit")
			}
			s.hand(id, model.HandApp)
			if !strings.HasPrefix(step, "release") {
				s.rows(id, "re: queued")
			}
			s.said(id, "last")
			want := "one|re: one|last|re: last"
			switch {
			case launched:
				want = "one|re: one|two|re: two|last|re: last"
			case strings.HasPrefix(step, "reattach"):
				want = "one|re: one|two|re: two|queued|re: queued|last|re: last"
			}
			if got := texts(s.get(id).Items); got != want {
				t.Fatal(got)
			}
			s.oneBranch(s.session(id))
		})
	}
}

func TestARestartedHostMirrorsOn(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.toTerminal(id, Request{})
	s.owned(id)
	s.close()
	s.tabs.last().typed("say while away")
	s.open()
	s.rows(id, "re: while away")
	s.tabs.last().typed("quit")
	s.hand(id, model.HandApp)
	s.said(id, "two")
	s.oneBranch(s.session(id))
}

func TestARemovedChatIsNotWatchedAnyMore(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	s.toTerminal(id, Request{})
	s.owned(id)
	w := s.m.ward(id)
	w.mu.Lock()
	sentry := w.sentry
	w.mu.Unlock()
	if err := s.chats.Remove(ctx, id); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sentry.done:
	case <-time.After(10 * time.Second):
		t.Fatal("the sentry of a removed chat stays")
	}
	if tab := s.tabs.last(); tab.cmd.Process.Signal(syscall.Signal(0)) != nil {
		t.Fatal("the terminal's agent was ended with the chat")
	}
}

// Our own process that is just ending is no foreign writer.
func TestAnAgentThatIsJustEndingIsNobodyElse(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	for i := range 10 {
		if _, _, err := s.chats.Set(ctx, chats.Caller{}, id, "mode", []byte(`"m"`)); err != nil { // ends the agent
			t.Fatal(err)
		}
		text := fmt.Sprint("again ", i)
		if sent := s.send(id, text); sent.State != model.QueueSending {
			t.Fatal(sent)
		}
		s.rows(id, "re: "+text)
		s.until("idle", func() bool { sum, _ := s.chats.Summary(id); return sum.Turn == model.TurnIdle })
	}
	s.oneBranch(s.session(id))
}

// Nor is one that has registered itself and is not ready yet.
func TestAnAgentThatIsJustStartingIsNobodyElse(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.said(id, "one")
	if err := s.chats.CloseChat(ctx, id); err != nil {
		t.Fatal(err)
	}
	s.p.slow = true
	s.said(id, "two")
	if sum, _ := s.chats.Summary(id); sum.Hand.State != model.HandApp || sum.Hand.Note != "" {
		t.Fatal(sum.Hand)
	}
}

func TestPrintedIsQuotedOnce(t *testing.T) {
	got := Printed(agent.Command{Argv: []string{"x", "it's", "$(touch /tmp/p)'\"; rm"}, Env: map[string]string{"B": "2 3", "A": "1"}, Cwd: "/a b"})
	for _, want := range []string{"cd -- '/a b' && A=1 B='2 3' x ", `$(touch`} {
		if !strings.Contains(got, want) {
			t.Fatal(got)
		}
	}
	if strings.Contains(got, " $(touch") {
		t.Fatal("unquoted: ", got)
	}
}
