//go:build agents && linux

package proof

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// A session of somebody's own terminal is opened here: read along, copied into a
// chat of its own, and taken over with consent. Later the stored one is opened.
func TestAdoptedCopiedAndTakenOver(t *testing.T) {
	for _, p := range parts {
		t.Run(p.harness, func(t *testing.T) { adopted(t, p) })
	}
}

func adopted(t *testing.T, p part) {
	w := newWorld(t, p.world)
	w.serve()
	b := w.board()
	f := w.openPane(p.begin(w)...)
	w.sees(f, p.ready)
	idle := func(s model.Session) bool {
		return s.Key.Harness == p.harness && s.State == model.SessionIdle && s.Cwd == w.cwd && s.Pid != 0
	}
	row := b.row("the session", starts, idle)
	w.line(f, "hello one", func(within time.Duration) bool {
		return b.has(within, func(s model.Session) bool { return s.LastTurn != "" }, nil)
	})
	row = b.row("its end", patience, idle)
	handle := agent.Handle{NativeID: row.Key.ID, Cwd: row.Cwd}
	got := call[api.ChatResult](w, "chats.create", api.CreateChat{ClientID: "live", Harness: p.harness, Kind: agent.KindWorkspace, Cwd: w.cwd, Adopt: &handle})
	v := w.view(got.Chat.ID)
	hand := v.hand(model.HandMirror)
	if hand.Ownership == nil || hand.Ownership.Pid != row.Pid || hand.Ownership.Link != agent.LinkProved {
		t.Errorf("hand: %+v", hand)
	}
	if !v.said("hello one", patience) {
		t.Error("what was said is not shown")
	}
	tape := w.tape(p, row.Key.ID)
	tape.grew()

	// A copy goes its own way and leaves the original alone.
	copied, err := api.Call[api.ChatResult](w.ctx(), w.client, "chats.fork", api.ChatRef{ChatID: v.id})
	switch {
	case !p.copies && err == nil:
		t.Error("this agent copies nothing")
	case p.copies && err != nil:
		t.Error(err)
	case p.copies:
		c := w.view(copied.Chat.ID)
		c.hand(model.HandApp)
		c.ask("in the copy")
		if said := prompts(c.all()); !slices.Equal(said, []string{"hello one", "in the copy"}) {
			t.Errorf("in the copy: %q", said)
		}
		if now, err := os.ReadFile(tape.path); err != nil || !bytes.Equal(now, tape.seen) {
			t.Error("the copy wrote into the original")
		}
		if now := v.now(); now.Hand.State != model.HandMirror || now.Handle.NativeID == c.now().Handle.NativeID {
			t.Errorf("the original: %+v", now)
		}
	}

	w.line(f, "typed by its owner", func(within time.Duration) bool { return v.said("typed by its owner", within) })
	b.row("its end", patience, idle)
	if _, err := api.Call[api.HandResult](w.ctx(), w.client, "handoff.takeBack", api.TakeBack{ChatID: v.id}); err == nil || !alive(row.Pid, 0) {
		t.Errorf("taken over without consent: %v", err)
	}
	if got := call[api.HandResult](w, "handoff.takeBack", api.TakeBack{ChatID: v.id, Force: true}); got.Hand.State != model.HandApp {
		t.Errorf("hand: %+v", got.Hand)
	}
	if alive(row.Pid, 0) {
		t.Error("its process still runs")
	}
	v.ask("continued here")
	want := []string{"hello one", "typed by its owner", "continued here"}
	if said := prompts(v.all()); !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	tape.oneBranch()
	stored := v.now().Handle
	rows := v.all()
	call[api.None](w, "chats.close", api.ChatRef{ChatID: v.id})
	w.sameElsewhere(t, p, stored, rows)

	// Stored, and opened again by a host that forgot it.
	call[api.None](w, "chats.remove", api.ChatRef{ChatID: v.id})
	again := w.adopt(p.harness, stored)
	again.ask("opened from disk")
	if said := prompts(again.all()); !slices.Equal(said, append(want, "opened from disk")) {
		t.Errorf("said %q", said)
	}
	tape.oneBranch()
}

// A hand-over that waits for the turn is shown, can be taken back, and is done
// when the turn has ended.
func TestContinuedAfterTheTurn(t *testing.T) {
	for _, p := range parts {
		t.Run(p.harness, func(t *testing.T) {
			w := newWorld(t, p.world)
			w.serve()
			v := w.chat(p.harness, "main")
			v.ask("hello one")
			tape := w.tape(p, v.now().Handle.NativeID)
			tape.grew()
			v.send(p.stands)
			v.wait("a running turn", func() bool { return v.sum.Turn == model.TurnRunning && slices.Contains(prompts(v.rows), p.stands) })
			ask := func() {
				res := call[api.HandoffResult](w, "handoff.toTerminal", api.HandoffRequest{ChatID: v.id, Place: "app", When: "afterTurn"})
				if res.Hand.Pending == nil || res.Hand.State != model.HandApp || res.TerminalID != "" {
					t.Errorf("asked: %+v", res)
				}
				v.wait("what is pending", func() bool { return v.sum.Hand.Pending != nil && v.sum.Turn == model.TurnRunning })
			}
			ask()
			if got := call[api.HandResult](w, "handoff.withdraw", api.ChatRef{ChatID: v.id}); got.Hand.Pending != nil {
				t.Errorf("withdrawn: %+v", got.Hand)
			}
			v.wait("nothing pending", func() bool { return v.sum.Hand.Pending == nil })
			ask()
			call[api.StopResult](w, "chats.stop", api.ChatRef{ChatID: v.id})
			v.wait("the terminal as the owner", func() bool {
				h := v.sum.Hand
				return h.State == model.HandMirror && h.Ownership != nil && h.Ownership.Owner == agent.OwnerTerminal && h.Ownership.Pid != 0
			})
			if got := call[api.HandResult](w, "handoff.takeBack", api.TakeBack{ChatID: v.id, Force: true}); got.Hand.State != model.HandApp {
				t.Errorf("hand: %+v", got.Hand)
			}
			v.ask("back in the app")
			tape.oneBranch()
		})
	}
}
