package handoff

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/store"
	"github.com/whippletree-app/whippletree/e2e/agents"
)

// Every state of a hand-over meets kill -9 of the host, of the agent and of the
// terminal. Whatever dies: the chat comes to rest where the table says, one
// process at most writes, no line is lost, the lease is right, and the person
// goes on.
func TestKilledInEveryState(t *testing.T) {
	for _, victim := range []string{"host", "agent", "terminal"} {
		t.Run(victim, func(t *testing.T) { t.Parallel(); killedInEveryState(t, "rehearsal", victim) })
	}
}

// The same with the real Claude Code.
func TestRealKilledInEveryState(t *testing.T) {
	agents.Full(t)
	for _, victim := range []string{"host", "agent", "terminal"} {
		t.Run(victim, func(t *testing.T) { killedInEveryState(t, "claude-code", victim) })
	}
}

const (
	app    = model.HandApp
	mirror = model.HandMirror
)

// scene is one state. The wants say where the chat comes to rest; "" is no case:
// there is no such process in this state.
type scene struct {
	name string
	up   func(*actor)
	// then is done when turns stand still in the middle; nil: nothing.
	then                            func(*actor)
	whenHost, whenAgent, whenWindow model.HandState
}

var scenes = []scene{
	{name: "idle", up: (*actor).spoken, whenHost: app, whenAgent: app},
	{name: "waits for its turn", up: (*actor).spoken, then: (*actor).pending, whenHost: app, whenAgent: mirror},
	{name: "releasing/let go", up: func(a *actor) { a.releasing("letting") }, whenHost: app, whenAgent: mirror},
	{name: "releasing/closed", up: func(a *actor) { a.releasing("closed") }, whenHost: app},
	{name: "releasing/still", up: func(a *actor) { a.releasing("still") }, whenHost: app},
	{name: "starting/tab", up: func(a *actor) { a.starting("app") }, whenHost: app, whenAgent: app},
	{name: "starting/outside", up: func(a *actor) { a.starting("outside") }, whenHost: mirror, whenAgent: app, whenWindow: app},
	{name: "asking first", up: func(a *actor) { a.asking() }, whenHost: mirror, whenAgent: app, whenWindow: app},
	{name: "there/tab/idle", up: func(a *actor) { a.there("app", "") }, whenHost: app, whenAgent: app},
	{name: "there/tab/waiting", up: func(a *actor) { a.there("app", model.SessionWaiting) }, whenHost: app, whenAgent: app},
	{name: "there/tab/running", up: func(a *actor) { a.there("app", "") }, then: (*actor).runsThere, whenHost: app, whenAgent: app},
	{name: "there/outside/idle", up: func(a *actor) { a.there("outside", "") }, whenHost: mirror, whenAgent: app, whenWindow: app},
	{name: "there/outside/waiting", up: func(a *actor) { a.there("outside", model.SessionWaiting) }, whenHost: mirror, whenAgent: app, whenWindow: app},
	{name: "there/outside/running", up: func(a *actor) { a.there("outside", "") }, then: (*actor).runsThere, whenHost: mirror, whenAgent: app, whenWindow: app},
	{name: "taking over", up: (*actor).takingOver, whenHost: mirror, whenAgent: app, whenWindow: app},
	{name: "taking back/begin", up: func(a *actor) { a.takingBack("begin") }, whenHost: app},
	{name: "taking back/rows", up: func(a *actor) { a.takingBack("rows") }, whenHost: app},
	{name: "taking back/lease", up: func(a *actor) { a.takingBack("lease") }, whenHost: app},
	{name: "adopting/stored/rows", up: func(a *actor) { a.adoptingStored("rows") }, whenHost: app},
	{name: "adopting/stored/lease", up: func(a *actor) { a.adoptingStored("lease") }, whenHost: app},
	{name: "adopting/live", up: (*actor).adoptingLive, whenHost: mirror, whenAgent: app, whenWindow: app},
}

func (s scene) want(victim string) model.HandState {
	return map[string]model.HandState{"host": s.whenHost, "agent": s.whenAgent, "terminal": s.whenWindow}[victim]
}

func killedInEveryState(t *testing.T, name, victim string) {
	w := newMatrixWorld(t, name)
	actors := map[string]*actor{}
	for _, s := range scenes {
		if s.want(victim) != "" {
			actors[s.name] = &actor{scene: s}
		}
	}
	together := func(what string, of func(scene) bool, do func(*actor)) {
		t.Run(what, func(t *testing.T) {
			for _, s := range scenes {
				if a := actors[s.name]; a != nil && of(s) {
					t.Run(s.name, func(t *testing.T) {
						t.Parallel()
						a.matrixWorld = w.with(t)
						do(a)
					})
				}
			}
		})
		if t.Failed() {
			t.FailNow()
		}
	}
	all := func(scene) bool { return true }
	together("moving", all, func(a *actor) { a.up(a); a.remember() })
	w.holding(true)
	together("holding", func(s scene) bool { return s.then != nil }, func(a *actor) { a.then(a) })
	if victim == "host" {
		w.kill()
		w.holding(false)
		w.serve()
	} else {
		together("kill", all, func(a *actor) { a.die(victim) })
		w.holding(false)
	}
	together("after", all, func(a *actor) { a.goesOn(victim) })
}

// actor plays one scene.
type actor struct {
	*matrixWorld
	scene
	chat   string
	handle agent.Handle
	step   string // where it stands, "" when it does not
	place  screen
	before []byte // the transcript
	rows   map[string]string
}

// spoken is a chat with one turn.
func (a *actor) spoken() {
	a.Helper()
	var sum model.ChatSummary
	a.call(order{Do: "create", Text: a.name}, &sum)
	a.chat = sum.ID
	a.says("hello")
}

// says sends a prompt and waits for its turn's good end.
func (a *actor) says(text string) {
	a.Helper()
	a.call(order{Do: "send", Chat: a.chat, Text: text}, nil)
	var c model.Chat
	if !a.until("the turn", matrixPatience, func() bool {
		c = a.get(a.chat)
		last := slices.IndexFunc(c.Items, func(r model.Row) bool { return r.Type == agent.ItemUser && r.Text == text })
		return c.Turn == model.TurnIdle && last >= 0 && len(c.Queue) == 0 && slices.ContainsFunc(c.Items[last:], func(r model.Row) bool { return r.Type == agent.ItemText })
	}) || c.LastEnd == nil || c.LastEnd.Outcome != agent.OutcomeCompleted {
		a.Fatalf("%q: %s", text, a.describe(a.get(a.chat)))
	}
	a.handle = *c.Handle
}

func (a *actor) state(what string, cond func(model.Chat) bool) model.Chat {
	a.Helper()
	var c model.Chat
	if !a.until(what, matrixPatience, func() bool { c = a.get(a.chat); return cond(c) }) {
		a.Fatalf("waited in vain for %s: %s", what, a.describe(c))
	}
	return c
}

// stands waits until the host stands at a step.
func (a *actor) stands(step string) {
	a.Helper()
	a.step = step
	if !a.until("the step", matrixPatience, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.paused[pausedAt{a.chat, step}]
	}) {
		a.Fatalf("did not come to %s: %s", step, a.describe(a.get(a.chat)))
	}
}

func (a *actor) pending() {
	a.Helper()
	a.call(order{Do: "send", Chat: a.chat, Text: a.cast.hold}, nil)
	a.state("a running turn", func(c model.Chat) bool { return c.Turn == model.TurnRunning && c.Items[len(c.Items)-1].Provisional })
	var res Result
	a.call(order{Do: "handoff", Chat: a.chat, Place: "outside", When: "afterTurn"}, &res)
	if res.Hand.Pending == nil {
		a.Fatalf("%+v", res.Hand)
	}
}

func (a *actor) releasing(step string) {
	a.Helper()
	a.spoken()
	a.remember() // at some steps the chat itself stands still
	a.call(order{Do: "arm", Chat: a.chat, Step: "release:" + step}, nil)
	a.begin(order{Do: "handoff", Chat: a.chat, Place: "outside"})
	a.stands("release:" + step)
}

func (a *actor) starting(place string) {
	a.Helper()
	a.spoken()
	a.call(order{Do: "arm", Chat: a.chat, Step: "release:launched"}, nil)
	a.begin(order{Do: "handoff", Chat: a.chat, Place: place})
	a.stands("release:launched")
	a.owned()
	if place != "app" {
		a.place = a.window()
	}
}

// asking is a command that runs and has not opened the session.
func (a *actor) asking() {
	a.Helper()
	a.spoken()
	a.call(order{Do: "handoff", Chat: a.chat, Place: "slow"}, nil)
	a.state("the launched process", func(c model.Chat) bool { return c.Hand.Launched != nil })
	a.place = a.window()
}

// there is a session in a terminal, where it is idle or does something.
func (a *actor) there(place string, does model.SessionState) {
	a.Helper()
	a.spoken()
	var res Result
	a.call(order{Do: "handoff", Chat: a.chat, Place: place}, &res)
	a.owned()
	if place == "app" {
		a.place = screen{w: a.matrixWorld, tab: res.TerminalID}
	} else {
		a.place = a.window()
	}
	a.place.sees(a.cast.ready)
	text := "hello"
	if does == model.SessionWaiting {
		text = a.cast.ask
	}
	a.place.line(text, func() bool {
		c := a.get(a.chat)
		said := slices.ContainsFunc(c.Items, func(r model.Row) bool { return r.Type == agent.ItemUser && r.Via == "terminal" })
		return said && (does == "" || c.State == does)
	})
	if does == "" {
		a.state("the answer", func(c model.Chat) bool {
			last := c.Items[len(c.Items)-1]
			return c.State == model.SessionIdle && last.Type == agent.ItemText && !last.Open()
		})
	}
}

// runsThere is a turn in the terminal that stands still.
func (a *actor) runsThere() {
	a.Helper()
	a.place.line(a.cast.hold, func() bool {
		c := a.get(a.chat)
		return c.State == model.SessionRunning && slices.ContainsFunc(c.Items, func(r model.Row) bool { return r.Text == a.cast.hold })
	})
}

// takingOver is a session whose terminal is about to be asked to exit.
func (a *actor) takingOver() {
	a.Helper()
	a.there("outside", "")
	a.call(order{Do: "arm", Chat: a.chat, Step: "take:asking"}, nil)
	a.begin(order{Do: "takeback", Chat: a.chat, Force: true})
	a.stands("take:asking")
}

// takingBack is a session whose terminal's agent has ended.
func (a *actor) takingBack(step string) {
	a.Helper()
	a.there("app", "")
	a.call(order{Do: "arm", Chat: a.chat, Step: "reattach:" + step}, nil)
	owner := a.owner(a.handle).Pid
	a.place.line("/exit", func() bool { _, err := processes.Identify(owner); return err != nil })
	a.stands("reattach:" + step)
}

// stored leaves a session on disk that no chat knows.
func (a *actor) stored() {
	a.Helper()
	a.spoken()
	a.call(order{Do: "remove", Chat: a.chat}, nil)
	if !a.until("the end of its agent", matrixPatience, func() bool { return a.owner(a.handle).Owner == agent.OwnerNobody }) {
		a.Fatalf("the agent of a removed chat lives: %+v", a.owner(a.handle))
	}
}

func (a *actor) adopt() {
	a.Helper()
	var sum model.ChatSummary
	a.call(order{Do: "create", Text: a.name + " adopted", Adopt: &a.handle}, &sum)
	a.chat = sum.ID
}

func (a *actor) adoptingStored(step string) {
	a.Helper()
	a.stored()
	// The id is not known before it stands there.
	a.call(order{Do: "arm", Text: a.handle.NativeID, Step: "reattach:" + step}, nil)
	a.adopt()
	a.stands("reattach:" + step)
}

// adoptingLive is a session in somebody's terminal that is shown here.
func (a *actor) adoptingLive() {
	a.Helper()
	a.stored()
	cmd, _, err := a.h.Handover.TerminalCommand(ctx, agent.TerminalRequest{Handle: a.handle, Args: a.cast.args(a.dir)})
	if err != nil {
		a.Fatal(err)
	}
	name, err := openWindow(a.dir, a.env, cmd.Env, cmd.Cwd, cmd.Argv)
	if err != nil {
		a.Fatal(err)
	}
	a.place = screen{w: a.matrixWorld, window: name}
	a.place.sees(a.cast.ready)
	a.adopt()
	a.owned()
}

// owned waits until the terminal's agent is known.
func (a *actor) owned() {
	a.Helper()
	if a.step != "" { // the host stands still: only the agent's own registry tells
		if !a.until("an owner", matrixPatience, func() bool { return a.owner(a.handle).Owner == agent.OwnerTerminal }) {
			a.Fatalf("owner: %+v", a.owner(a.handle))
		}
		return
	}
	a.state("an owner", func(c model.Chat) bool {
		o := c.Hand.Ownership
		return c.Hand.State == mirror && o != nil && o.Owner == agent.OwnerTerminal && o.Pid > 0 && o.Link == agent.LinkProved
	})
}

// window is where the chat's session was opened in the person's terminal app.
func (a *actor) window() screen {
	a.Helper()
	return screen{w: a.matrixWorld, window: a.windowOf(a.handle.NativeID)}
}

// remember keeps what must not be lost.
func (a *actor) remember() {
	if a.rows != nil {
		return
	}
	a.before = a.records(a.handle.NativeID)
	a.rows = map[string]string{}
	for _, r := range a.get(a.chat).Items {
		if !r.Provisional {
			a.rows[r.ID] = string(agent.RowBytes(r.Item))
		}
	}
}

// die kills the agent or the terminal, and lets the host go on.
func (a *actor) die(victim string) {
	if victim == "terminal" {
		a.killed(a.place.pid())
	} else {
		pid := a.owner(a.handle).Pid
		if a.scene.name == "asking first" {
			pid = a.get(a.chat).Hand.Launched.Pid
		}
		if pid == 0 {
			a.Fatalf("nobody to kill: %+v", a.owner(a.handle))
		}
		a.killed(pid)
	}
	if a.step != "" {
		a.call(order{Do: "go", Chat: a.chat, Step: a.step}, nil)
	}
}

// goesOn checks what a person finds, and goes on.
func (a *actor) goesOn(victim string) {
	want := a.want(victim)
	c := a.state(string(want), func(c model.Chat) bool {
		return c.Hand.State == want && c.Hand.Pending == nil && c.Turn == model.TurnIdle
	})
	if want == mirror {
		if a.scene.name == "asking first" {
			a.place.keys("yes\r") // only now it opens the session
		}
		a.owned()
		if o := a.owner(a.handle); o.Owner != agent.OwnerTerminal || o.Link != agent.LinkProved {
			a.Errorf("owner: %+v", o)
		}
		a.lease(false)
		var hand model.Hand
		a.call(order{Do: "takeback", Chat: a.chat, Force: true}, &hand)
		if hand.State != app {
			a.Fatalf("taken over: %+v", hand)
		}
	} else {
		if a.scene.name == "waits for its turn" && c.Hand.Note == "" {
			a.Error("nothing says what became of the hand-over")
		}
		a.lease(false) // no agent of ours runs
	}
	a.says("last words")

	var own []int
	a.call(order{Do: "own", Chat: a.chat}, &own)
	if o := a.owner(a.handle); len(own) != 1 || o.Pid != own[0] {
		a.Errorf("the writer is %+v, ours are %v", o, own)
	}
	if o, err := a.h.Handover.Owner(ctx, a.handle, own); err != nil || o.Owner != agent.OwnerNobody {
		a.Errorf("a second writer: %+v %v", o, err)
	}
	a.lease(true)
	a.sameRows()
	a.call(order{Do: "close", Chat: a.chat}, nil)
	if !a.until("nobody to write", matrixPatience, func() bool { return a.owner(a.handle).Owner == agent.OwnerNobody }) {
		a.Errorf("owner of a closed chat: %+v", a.owner(a.handle))
	}
	a.lease(false)
}

// lease holds that this host has the session, or that nobody has it.
func (a *actor) lease(held bool) {
	a.Helper()
	var what error
	if !a.until("the lease", matrixPatience, func() bool {
		lock, err := store.LockSession(a.dir+"/locks", a.handle.Harness, a.handle.NativeID, "the test")
		if err == nil {
			_ = lock.Close()
		}
		what = err
		var by *store.LockedError
		return held == (errors.As(err, &by) && by.Pid == a.host.Process.Pid)
	}) {
		a.Errorf("leased %v, want %v: %v", !held, held, what)
	}
}

// sameRows holds chat and transcript against each other.
func (a *actor) sameRows() {
	a.Helper()
	now := a.records(a.handle.NativeID)
	if !bytes.HasPrefix(now, a.before) {
		a.Errorf("lines of the transcript were lost:\n%s\nis now\n%s", a.before, now)
	}
	a.oneBranch(now)
	c := a.get(a.chat)
	shown, texts, states := map[string]string{}, map[string]string{}, map[string]agent.ItemState{}
	for _, r := range c.Items {
		shown[r.ID], texts[r.ID], states[r.ID] = string(agent.RowBytes(r.Item)), r.Text, r.State
		if r.Type == agent.ItemUser && r.NativeID != "" {
			it := r.Item
			it.ID = r.NativeID
			shown[r.NativeID] = string(agent.RowBytes(it))
		}
		if r.Provisional || r.Open() {
			a.Errorf("a row without an end: %+v", r)
		}
	}
	for id, was := range a.rows {
		if shown[id] == "" {
			a.Errorf("a row was lost: %s", was)
		}
	}
	k := newCollector()
	mctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- a.h.Handover.Mirror(mctx, a.handle, agent.Position{}, k) }()
	<-k.caught
	stop()
	if err := <-done; err != nil {
		a.Fatal(err)
	}
	said := map[string]int{}
	for _, id := range k.order {
		it := k.items[id]
		if it.Type == agent.ItemUser {
			said[it.Text]++
		}
		if a.then != nil && it.Type == agent.ItemText && strings.HasPrefix(texts[id], it.Text) && shown[id] != "" {
			continue // what was streaming when it was killed is only here
		}
		if it.State == agent.StateCanceled && states[id] == it.State {
			continue // what the agent says of a killed call comes with its next resume
		}
		if got := shown[id]; got != string(agent.RowBytes(it)) {
			a.Errorf("the transcript says %s\nthe chat shows %s", agent.RowBytes(it), got)
		}
	}
	if said["last words"] != 1 {
		a.Errorf("said %v", said)
	}
	if a.Failed() {
		a.Log(a.describe(c))
	}
}

// oneBranch walks from the newest record to the first: all are on the way.
func (a *actor) oneBranch(transcript []byte) {
	a.Helper()
	parent := map[string]string{}
	last := ""
	for line := range bytes.Lines(transcript) {
		id, up := a.cast.link(line)
		if id == "" {
			continue
		}
		parent[id], last = up, id
	}
	on := map[string]bool{}
	for at := last; at != "" && !on[at]; at = parent[at] {
		on[at] = true
	}
	for id := range parent {
		if !on[id] {
			a.Errorf("record %s is on another branch:\n%s", id, transcript)
			return
		}
	}
}
