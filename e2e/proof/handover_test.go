//go:build agents && linux

package proof

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// A chat goes to a terminal, is typed into there, and comes back at its tip.
func TestHandedOverAndTakenBack(t *testing.T) {
	for _, p := range parts {
		for _, place := range []string{"app", "xterm"} {
			t.Run(p.harness+"/"+place, func(t *testing.T) { handOver(t, p, place) })
		}
	}
}

func handOver(t *testing.T, p part, place string) {
	s := p.world
	s.display = place == "xterm"
	w := newWorld(t, s)
	w.serve()
	b := w.board()
	v := w.chat(p.harness, "main")
	v.ask("hello one")
	v.send(p.run)
	v.answer(v.card(), agent.OptionAllowOnce)
	if end := v.end(2); end.Outcome != agent.OutcomeCompleted {
		t.Fatalf("end: %+v", end)
	}
	handle := v.now().Handle
	tape := w.tape(p, handle.NativeID)
	tape.grew()
	before := v.settled()

	// Over: our agent is gone before the terminal's begins.
	res := call[api.HandoffResult](w, "handoff.toTerminal", api.HandoffRequest{ChatID: v.id, Place: place})
	hand := model.Hand{}
	v.wait("the terminal as the owner", func() bool {
		hand = v.sum.Hand
		return hand.State == model.HandMirror && hand.Ownership != nil && hand.Ownership.Owner == agent.OwnerTerminal &&
			hand.Ownership.Pid != 0 && hand.Ownership.Link == agent.LinkProved
	})
	row := b.row("the terminal's session", soon, func(s model.Session) bool {
		return s.Key.Harness == p.harness && s.Key.ID == handle.NativeID && s.Pid == hand.Ownership.Pid && s.Place.Kind != "none" && s.State == model.SessionIdle
	})
	if row.Link != agent.LinkProved || row.ChatID != v.id {
		t.Errorf("row: %+v", row)
	}
	var f face
	if place == "app" {
		f = w.attach(res.TerminalID)
	} else {
		f = w.xtermAbove(row.Pid)
	}
	f.proves(row.Place)

	// Typed there, seen here; what is typed here waits.
	w.sees(f, p.ready)
	w.line(f, "typed in the terminal", func(within time.Duration) bool { return v.said("typed in the terminal", within) })
	if got := v.text(agent.ItemUser, "typed in the terminal"); got.Via != "terminal" {
		t.Errorf("the mirrored row: %+v", got)
	}
	idle := func(s model.Session) bool { return s.Key == row.Key && s.State == model.SessionIdle }
	waits := func(s model.Session) bool { return s.Key == row.Key && s.State == model.SessionWaiting }
	b.row("the end of its turn", patience, idle)
	if got := v.send("waits for its turn"); got.State != model.QueueQueued {
		t.Errorf("a prompt into a mirror: %+v", got)
	}
	w.line(f, p.run, func(within time.Duration) bool { return b.has(within, waits, nil) })
	w.answer(f, "1", b, row.Key)
	b.row("the end of its turn", patience, idle)
	tape.grew()
	if strings.Contains(string(tape.seen), "waits for its turn") {
		t.Error("what was typed here was sent into the terminal's session")
	}

	// Exit there: back at the tip, and what waited is sent.
	w.line(f, "/exit", func(within time.Duration) bool { return !alive(row.Pid, within) })
	v.hand(model.HandApp)
	v.wait("the prompt that waited", func() bool {
		return v.sum.Turn == model.TurnIdle && len(v.queue) == 0 && len(v.ends) > 0 && slices.Contains(prompts(v.rows), "waits for its turn")
	})
	v.ask("back in the app")
	if place == "xterm" {
		w.line(f, "exit", func(time.Duration) bool { return true }) // the shell that it left
	}
	if now := v.now(); now.Handle.NativeID != handle.NativeID || len(now.Hand.Branches) != 0 {
		t.Errorf("after coming back: %+v", now)
	}
	v.keeps(before)
	want := []string{"hello one", p.run, "typed in the terminal", p.run, "waits for its turn", "back in the app"}
	if got := prompts(v.all()); !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
	if w.model != nil {
		asked := w.model.Turns()
		last := string(asked[len(asked)-1].Raw)
		for _, said := range want {
			if !strings.Contains(last, said) {
				t.Errorf("the agent does not know %q", said)
			}
		}
	}
	tape.oneBranch()
	call[api.None](w, "chats.close", api.ChatRef{ChatID: v.id})
	w.sameElsewhere(t, p, handle, v.all())
}

// said waits for a prompt in the timeline.
func (v *view) said(text string, within time.Duration) bool {
	return v.until(within, func() bool { return slices.Contains(prompts(v.rows), text) })
}

// A second writer is refused, whether our agent lives or was let go of.
func TestSecondWriterIsRefused(t *testing.T) {
	for _, p := range parts {
		t.Run(p.harness+"/our agent lives", func(t *testing.T) { secondWriter(t, p, true) })
		t.Run(p.harness+"/our agent was let go", func(t *testing.T) { secondWriter(t, p, false) })
	}
}

func secondWriter(t *testing.T, p part, living bool) {
	w := newWorld(t, p.world)
	w.serve()
	v := w.chat(p.harness, "main")
	v.ask("hello one")
	handle := v.now().Handle
	tape := w.tape(p, handle.NativeID)
	tape.grew()
	if !living {
		call[api.None](w, "chats.close", api.ChatRef{ChatID: v.id})
	}
	f := w.openPane(p.resume(w, handle.NativeID)...)
	w.sees(f, p.ready)
	if living {
		v.hand(model.HandMirror) // by itself: nobody has to send something first
	}
	v.send("must not be sent")
	hand := v.hand(model.HandMirror)
	if hand.Ownership == nil || hand.Ownership.Owner != agent.OwnerTerminal || hand.Ownership.Evidence == "" {
		t.Errorf("hand: %+v", hand)
	}
	if hand.Place == nil || hand.Place.Kind != "tmux" {
		t.Errorf("place: %+v", hand.Place)
	}
	w.line(f, "typed by the other", func(within time.Duration) bool { return v.said("typed by the other", within) })
	if _, err := api.Call[api.HandResult](w.ctx(), w.client, "handoff.takeBack", api.TakeBack{ChatID: v.id}); err == nil {
		t.Error("the session was taken from a living writer")
	}
	tape.grew()
	if strings.Contains(string(tape.seen), "must not be sent") {
		t.Error("a second writer wrote")
	}
	if w.model != nil {
		for _, r := range w.model.Requests() {
			if strings.Contains(string(r.Raw), "must not be sent") {
				t.Error("the model was asked what must not be sent")
			}
		}
	}
	owner := hand.Ownership.Pid
	w.line(f, "/exit", func(within time.Duration) bool { return !alive(owner, within) })
	v.hand(model.HandApp)
	v.wait("the prompt that waited", func() bool {
		return v.sum.Turn == model.TurnIdle && slices.Contains(prompts(v.rows), "must not be sent") && len(v.queue) == 0
	})
	v.ask("and one more")
	tape.oneBranch()
	want := []string{"hello one", "typed by the other", "must not be sent", "and one more"}
	if got := prompts(v.all()); !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
}

// The command is printed and run by the person, in tmux; the host is killed while
// the session is there, and the next one goes on watching it.
func TestPrintedAndMirroredAcrossAKilledHost(t *testing.T) {
	for _, p := range parts {
		t.Run(p.harness, func(t *testing.T) {
			w := newWorld(t, p.world)
			w.serve()
			v := w.chat(p.harness, "main")
			v.ask("hello one")
			handle := v.now().Handle
			tape := w.tape(p, handle.NativeID)
			tape.grew()
			res := call[api.HandoffResult](w, "handoff.toTerminal", api.HandoffRequest{ChatID: v.id, PrintOnly: true})
			v.hand(model.HandMirror)
			f := w.openPane("/bin/sh", "-c", res.Printed)
			w.sees(f, p.ready)
			v.wait("the terminal as the owner", func() bool {
				o := v.sum.Hand.Ownership
				return o != nil && o.Owner == agent.OwnerTerminal && o.Pid != 0
			})
			owner := v.now().Hand.Ownership.Pid
			w.line(f, "typed before", func(within time.Duration) bool { return v.said("typed before", within) })
			before := v.settled()
			w.kill()
			w.serve()
			v = w.view(v.id)
			if got := v.hand(model.HandMirror); got.Ownership == nil || got.Ownership.Pid != owner {
				t.Errorf("hand: %+v", got)
			}
			v.keeps(before)
			w.line(f, "typed after", func(within time.Duration) bool { return v.said("typed after", within) })
			w.line(f, "/exit", func(within time.Duration) bool { return !alive(owner, within) })
			v.hand(model.HandApp)
			v.ask("back in the app")
			tape.oneBranch()
			want := []string{"hello one", "typed before", "typed after", "back in the app"}
			if got := prompts(v.all()); !slices.Equal(got, want) {
				t.Errorf("said %q, want %q", got, want)
			}
		})
	}
}

// Taken over: the terminal's agent is asked to exit, and is gone before we write.
func TestTakenOverFromATab(t *testing.T) {
	for _, p := range parts {
		t.Run(p.harness, func(t *testing.T) {
			w := newWorld(t, p.world)
			w.serve()
			v := w.chat(p.harness, "main")
			v.ask("hello one")
			tape := w.tape(p, v.now().Handle.NativeID)
			tape.grew()
			res := call[api.HandoffResult](w, "handoff.toTerminal", api.HandoffRequest{ChatID: v.id, Place: "app"})
			f := w.attach(res.TerminalID)
			w.sees(f, p.ready)
			w.line(f, "typed in the terminal", func(within time.Duration) bool { return v.said("typed in the terminal", within) })
			v.wait("the terminal as the owner", func() bool {
				o := v.sum.Hand.Ownership
				return o != nil && o.Owner == agent.OwnerTerminal && o.Pid != 0
			})
			owner := v.now().Hand.Ownership.Pid
			if got := call[api.HandResult](w, "handoff.takeBack", api.TakeBack{ChatID: v.id, Force: true}); got.Hand.State != model.HandApp {
				t.Errorf("hand: %+v", got.Hand)
			}
			if alive(owner, 0) {
				t.Error("the terminal's agent still runs")
			}
			v.hand(model.HandApp)
			v.ask("back in the app")
			tape.oneBranch()
			if got, want := prompts(v.all()), []string{"hello one", "typed in the terminal", "back in the app"}; !slices.Equal(got, want) {
				t.Errorf("said %q, want %q", got, want)
			}
		})
	}
}
