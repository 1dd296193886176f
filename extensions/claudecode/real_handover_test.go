package claudecode

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/e2e/agents"
)

// sameRows compares what a chat showed with what a mirror of the same
// conversation shows, byte by byte.
func sameRows(t *testing.T, live []agent.Item, s *sheet) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := map[string]bool{}
	for _, it := range live {
		if it.Type == agent.ItemNotice { // ours, about retries; not in the transcript
			continue
		}
		shown[it.ID] = true
		other, ok := s.items[it.ID]
		if !ok {
			t.Errorf("the mirror lacks %s %s %q", it.Type, it.ID, it.Text)
			continue
		}
		if a, b := agent.RowBytes(it), agent.RowBytes(other); !bytes.Equal(a, b) {
			t.Errorf("rows differ\n live:   %s\n mirror: %s", a, b)
		}
	}
	for _, id := range s.order {
		if !shown[id] {
			t.Errorf("only the mirror has %s %+v", id, s.items[id])
		}
	}
}

func TestRealMirrorRowsAreByteEqualToTheChats(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(l.cwd, "edit.txt")
	if err := os.WriteFile(file, []byte("alpha\nbeta\ngamma\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder()
	deny := false
	rec.decide = func(a agent.Approval) agent.ApprovalAnswer {
		switch {
		case a.Kind == agent.ApprovalQuestion:
			return agent.ApprovalAnswer{OptionID: optionAnswer, Answers: map[string]agent.QuestionAnswer{
				"q0": {OptionIDs: []string{"o0"}}, "q1": {OptionIDs: []string{"o0"}, Other: "XL"},
			}}
		case deny:
			return agent.ApprovalAnswer{OptionID: optionDeny, Comment: "no"}
		}
		return agent.ApprovalAnswer{OptionID: optionAllow}
	}
	chat := l.open(rec, nil)
	for _, prompt := range []string{
		"hello", "scenario:think", "scenario:bash-allow", "scenario:edit path=" + file,
		"scenario:write path=" + filepath.Join(l.cwd, "new.txt"), "scenario:ask", "scenario:task",
		"scenario:drop-once", "scenario:unicode", "scenario:todo", "scenario:read path=" + file, "/cost",
	} {
		l.completed(chat, prompt)
	}
	deny = true
	l.completed(chat, "scenario:bash-allow please")
	if end := l.say(chat, "scenario:error-500"); end.Outcome != agent.OutcomeFailed {
		t.Errorf("end: %+v", end)
	}
	done := make(chan agent.TurnEnd, 1)
	go func() { done <- l.say(chat, "scenario:hold") }()
	if err := l.server.WaitHeld(l.ctx(), "half"); err != nil {
		t.Fatal(err)
	}
	if err := chat.Cancel(l.ctx()); err != nil {
		t.Fatal(err)
	}
	<-done
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	live := rec.rows()
	s, stop := l.mirror(*rec.ready.Handle, agent.Position{})
	s.wait(l.ctx(), t, "the end of the transcript", func() bool { return s.caught > 0 })
	stop()
	sameRows(t, live, s)
	rest, stopRest := l.mirror(*rec.ready.Handle, s.pos)
	rest.wait(l.ctx(), t, "the end again", func() bool { return rest.caught > 0 })
	stopRest()
	if len(rest.order) != 0 {
		t.Errorf("from the end came %v", rest.order)
	}
	if s.state.SkippedLines != 0 || len(s.state.Branches) != 0 {
		t.Errorf("state: %+v", s.state)
	}
	if t.Failed() {
		t.Log(show(live))
	}
}

func TestRealContinueInTerminalAndTakeBack(t *testing.T) {
	l := newLab(t)
	l.acceptFolder()
	board := l.observe()
	rec := newRecorder()
	chat := l.open(rec, nil)
	l.completed(chat, "hello one")
	h := *rec.ready.Handle

	// While the chat holds it, it is the owner; our own pid does not count.
	o, err := l.h.Handover.Owner(l.ctx(), h, nil)
	if err != nil || o.Owner != agent.OwnerTerminal || o.Pid != rec.ready.Pid || o.Link != agent.LinkProved {
		t.Fatalf("owner: %+v %v", o, err)
	}
	if o, _ := l.h.Handover.Owner(l.ctx(), h, []int{rec.ready.Pid}); o.Owner != agent.OwnerNobody {
		t.Fatalf("owner without us: %+v", o)
	}
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	if o, _ := l.h.Handover.Owner(l.ctx(), h, nil); o.Owner != agent.OwnerNobody {
		t.Fatalf("owner after the release: %+v", o)
	}

	// The terminal goes on with the same conversation, in the asking mode.
	cmd, lost, err := l.h.Handover.TerminalCommand(l.ctx(), agent.TerminalRequest{Handle: h, Mode: modeAsk})
	if err != nil || len(lost) != 0 {
		t.Fatal(err, lost)
	}
	u := l.terminal(cmd)
	row := board.wait(l.ctx(), t, "the terminal's session", true, func(s agent.Snapshot) bool {
		return s.ID == h.NativeID && s.Pid == u.cmd.Process.Pid && s.Status == agent.StatusIdle
	})
	if row.Link != agent.LinkProved || row.Evidence == "" {
		t.Errorf("row: %+v", row)
	}
	s, stop := l.mirror(h, agent.Position{})
	s.wait(l.ctx(), t, "the mirror", func() bool { return s.caught > 0 })
	o, err = l.h.Handover.Owner(l.ctx(), h, nil)
	if err != nil || o.Owner != agent.OwnerTerminal || o.Pid != u.cmd.Process.Pid {
		t.Fatalf("second writer not found: %+v %v", o, err)
	}
	if _, err := l.h.Provider.Open(l.ctx(), agent.OpenRequest{
		ChatID: "second", Kind: agent.KindWorkspace, WorkingDirectory: l.cwd, Resume: &h,
	}, newRecorder()); err == nil {
		t.Error("a second writer was let in")
	}
	waits := func(s agent.Snapshot) bool { return s.ID == h.NativeID && s.Status == agent.StatusWaiting }
	u.line(l.ctx(), "scenario:bash-allow", board.taken(waits))
	w := board.wait(l.ctx(), t, "running -> waiting", true, waits)
	if w.WaitingKind != agent.WaitApproval || w.WaitingFor == "" {
		t.Errorf("waiting row: %+v", w)
	}
	u.see(l.ctx(), 0, "Do you want to proceed?")
	u.press(l.ctx(), "1", board.taken(func(s agent.Snapshot) bool { return s.ID == h.NativeID && s.Status == agent.StatusIdle }))
	s.wait(l.ctx(), t, "what was said in the terminal", func() bool {
		for _, it := range s.items {
			if it.Text == "Done with bash." {
				return true
			}
		}
		return false
	})

	// Take back: ask it to exit; the row goes with the process.
	o, err = l.h.Handover.Owner(l.ctx(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.h.Handover.(agent.ExitRequester).RequestExit(l.ctx(), h, o); err != nil {
		t.Fatal(err)
	}
	board.wait(l.ctx(), t, "the row to go", false, func(s agent.Snapshot) bool { return s.ID == h.NativeID })
	<-u.ended // the entry goes a moment before the process does
	_ = u.cmd.Wait()
	tip, err := l.h.Handover.Tip(l.ctx(), h)
	if err != nil || tip.NativeID != h.NativeID {
		t.Fatal(tip, err)
	}
	stop()
	pos := s.pos
	rec2 := newRecorder()
	back := l.open(rec2, func(r *agent.OpenRequest) { r.Resume = &tip })
	l.completed(back, "hello three")
	if err := back.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	asked := l.server.Turns()
	last := string(asked[len(asked)-1].Raw)
	for _, said := range []string{"hello one", "scenario:bash-allow", "hello three"} {
		if !strings.Contains(last, said) {
			t.Errorf("the conversation lost %q", said)
		}
	}

	// One branch, no line lost; from a position only what is new comes again.
	all, stopAll := l.mirror(h, agent.Position{})
	all.wait(l.ctx(), t, "all rows", func() bool { return all.caught > 0 })
	stopAll()
	var texts []string
	for _, id := range all.order {
		if it := all.items[id]; it.Type == agent.ItemUser {
			texts = append(texts, it.Text)
		}
	}
	if !slices.Equal(texts, []string{"hello one", "scenario:bash-allow", "hello three"}) || len(all.state.Branches) != 0 {
		t.Errorf("user rows %q, branches %+v", texts, all.state.Branches)
	}
	rest, stopRest := l.mirror(h, pos)
	rest.wait(l.ctx(), t, "the rest", func() bool { return rest.caught > 0 })
	stopRest()
	for _, id := range rest.order {
		if it := rest.items[id]; strings.Contains(it.Text, "hello one") {
			t.Errorf("a row before the position came again: %+v", it)
		}
	}
	if len(rest.order) == 0 {
		t.Error("nothing came after the position")
	}
}

// The interface starts in a mode that decides by itself unless it is told; the
// chat's mode goes there, and what is chosen there comes back.
func TestRealModeIsCarriedBothWays(t *testing.T) {
	l := newLab(t)
	l.acceptFolder()
	board := l.observe()
	rec := newRecorder()
	chat := l.open(rec, func(r *agent.OpenRequest) { r.Mode, r.Model = "acceptEdits", "sonnet" })
	l.completed(chat, "hello one")
	if err := chat.Close(l.ctx()); err != nil {
		t.Fatal(err)
	}
	h := *rec.ready.Handle
	all, stopAll := l.mirror(h, agent.Position{})
	all.wait(l.ctx(), t, "the transcript", func() bool { return all.caught > 0 })
	stopAll()

	cmd, lost, err := l.h.Handover.TerminalCommand(l.ctx(), agent.TerminalRequest{Handle: h, Mode: "acceptEdits", Model: "sonnet"})
	if err != nil || len(lost) != 0 {
		t.Fatal(err, lost)
	}
	u := l.terminal(cmd)
	u.see(l.ctx(), 0, "accept edits on")
	s, stop := l.mirror(h, all.pos)
	idle := func(x agent.Snapshot) bool {
		return x.ID == h.NativeID && x.Status == agent.StatusIdle && x.LastTurn == "completed"
	}
	board.wait(l.ctx(), t, "the interface", true, func(x agent.Snapshot) bool { return x.ID == h.NativeID && x.Status == agent.StatusIdle })
	u.line(l.ctx(), "hello two", s.shows("hello two"))
	s.wait(l.ctx(), t, "the answer", func() bool { return s.has("Hello from the scripted model.") })
	board.wait(l.ctx(), t, "its end", true, idle)
	s.mu.Lock()
	if s.state.Model != "" {
		t.Errorf("the model did not change, the mirror says %q", s.state.Model)
	}
	s.mu.Unlock()
	from := u.mark()
	u.press(l.ctx(), "\x1b[Z", func(ctx context.Context) bool { return u.shown(ctx, from, "plan mode on") })
	u.line(l.ctx(), "hello three", s.shows("hello three"))
	s.wait(l.ctx(), t, "the mode", func() bool { return s.state.Mode == "plan" })
	_ = u.cmd.Process.Signal(os.Interrupt)
	if err := u.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-u.ended
	_ = u.cmd.Wait()
	stop()

	back := newRecorder()
	again := l.open(back, func(r *agent.OpenRequest) { r.Resume, r.Mode, r.Model = &h, s.state.Mode, "sonnet" })
	if back.ready.Mode != "plan" {
		t.Errorf("back in mode %q", back.ready.Mode)
	}
	l.completed(again, "hello four")
	if back.ready.Mode != "plan" {
		t.Errorf("after a turn in mode %q", back.ready.Mode)
	}
}

// has says that a text is in the mirror; the lock is held.
func (s *sheet) has(text string) bool {
	for _, it := range s.items {
		if it.Text == text {
			return true
		}
	}
	return false
}

// shows waits for a text, for [tui.press].
func (s *sheet) shows(text string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		for {
			s.mu.Lock()
			ok, changed := s.has(text), s.changed
			s.mu.Unlock()
			if ok {
				return true
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return false
			}
		}
	}
}

func TestRealClearSwitchesTheSession(t *testing.T) {
	agents.Full(t)
	l := newLab(t)
	l.acceptFolder()
	board := l.observe()
	u := l.terminal(agent.Command{Argv: []string{l.bin, "--permission-mode", modeAsk}, Cwd: l.cwd})
	first := board.wait(l.ctx(), t, "the session", true, func(s agent.Snapshot) bool { return s.Status == agent.StatusIdle })
	u.see(l.ctx(), 0, "❯")
	u.line(l.ctx(), "hello", board.taken(func(s agent.Snapshot) bool {
		return s.Status == agent.StatusIdle && s.LastTurn == "completed" && s.Title == "hello"
	}))
	other := func(s agent.Snapshot) bool { return s.ID != first.ID }
	u.line(l.ctx(), "/clear", board.taken(other))
	second := board.wait(l.ctx(), t, "the new session", true, other)
	if second.Pid != first.Pid || second.Supersedes != first.ID {
		t.Errorf("after /clear: %+v", second)
	}
	board.wait(l.ctx(), t, "the old one to go", false, func(s agent.Snapshot) bool { return s.ID == first.ID })
	if err := u.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-u.ended
	_ = u.cmd.Wait()
	board.wait(l.ctx(), t, "a killed one to go", false, func(agent.Snapshot) bool { return true })
}
