package program

import (
	"context"
	"io"
	"maps"
	"os"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// face shows what the engine does: to a host over the protocol, or to a person
// in a terminal. Calls come one at a time, in order; Ask blocks.
type face interface {
	Block(wire.Block)
	Append(id, text string)
	Turn(wire.Turn)
	Title(string)
	Settings(wire.Settings)
	Usage(wire.Usage)
	Delivery(clientID, state string)
	// Ask returns when a person answered or ctx ended. It calls posed once the
	// request can be answered.
	Ask(ctx context.Context, a wire.Ask, posed func()) (wire.Answer, error)
}

// engine is one session of the agent. One turn runs at a time.
type engine struct {
	opt    Options
	home   wire.Home
	face   face
	stderr io.Writer
	told   chan struct{} // closed by release

	file *transcript // nil: nothing is kept
	reg  *registry   // nil: not listed

	mu       sync.Mutex // guards what follows
	session  string
	settings wire.Settings
	title    string
	usage    wire.Usage
	always   map[string]bool // tools allowed for the session
	turn     *turn
	past     *story
}

// prompt is what a turn begins with.
type prompt struct {
	text, clientID, origin string
	files                  []wire.File
}

// turn is the running one. Steered prompts wait until the stage takes them;
// closed says that the turn takes no more.
type turn struct {
	stop   context.CancelFunc
	nudge  chan struct{} // holds at most one
	steers []prompt
	closed bool
	done   chan struct{}
	wake   string // what the agent will come back with by itself
}

func newEngine(opt Options, home string, f face, stderr io.Writer) (*engine, error) {
	e := &engine{
		opt: opt, home: wire.Home(home), face: f, stderr: stderr,
		told: make(chan struct{}), always: map[string]bool{},
	}
	return e, e.open(opt.Resume, opt.SessionID, "")
}

// open starts or resumes a session in this process. before names the one that
// this process held until now.
func (e *engine) open(resume, id, before string) error {
	asked := wire.Settings{Model: e.opt.Model, Mode: e.opt.Mode, Thinking: e.opt.Thinking}
	if before != "" { // what was chosen since then stays
		asked = wire.Settings{}
	}
	e.settings = settingsFrom(asked, e.settings)
	e.session, e.title, e.usage, e.past, e.file = "", "", wire.Usage{ContextMax: 200_000}, nil, nil
	if e.opt.NoSession {
		return nil
	}
	if id == "" {
		id = uuid.NewString()
	}
	var err error
	if resume != "" {
		id = resume
		var s story
		if e.file, s, err = resumeTranscript(e.home, id); err != nil {
			return err
		}
		e.settings, e.title, e.past = settingsFrom(asked, s.settings), s.title, &s
		if s.usage.ContextMax > 0 {
			e.usage = s.usage
		}
		e.repair(s)
	} else if e.file, err = newTranscript(e.home, id, e.opt.Cwd); err != nil {
		return err
	}
	e.session = id
	entry := func(l *wire.Live) {
		l.Session, l.Before, l.Title, l.Model, l.Mode = id, before, e.title, e.settings.Model, e.settings.Mode
	}
	if e.reg != nil {
		return e.reg.update(entry)
	}
	live := wire.Live{Cwd: e.opt.Cwd, Face: e.opt.Protocol}
	if live.Face == "json" {
		live.Face = "structured"
	}
	entry(&live)
	e.reg, err = register(e.home, live)
	return err
}

// repair ends what a killed writer left open, so that the file reads the same
// for everybody from now on.
func (e *engine) repair(s story) {
	for _, b := range s.open {
		b.EndedAt = now()
		if b.State == wire.StateRunning {
			b.State = wire.StateFailed
		}
		e.file.write(wire.Record{Type: wire.RecordBlock, Block: &b})
	}
	if s.turn != nil {
		t := *s.turn
		t.State, t.Outcome, t.Reason, t.Text = wire.TurnEnded, wire.OutcomeFailed, "crashed", "The rehearsal was killed during this turn."
		e.file.write(wire.Record{Type: wire.RecordTurn, Turn: &t})
	}
}

// close ends the session cleanly.
func (e *engine) close() {
	e.interrupt()
	e.reg.remove()
	e.file.close()
}

// begin claims the engine for a turn; nil when one is running.
func (e *engine) begin() (*turn, context.Context) {
	ctx, stop := context.WithCancel(context.Background())
	t := &turn{stop: stop, nudge: make(chan struct{}, 1), done: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turn != nil {
		stop()
		return nil, nil
	}
	e.turn = t
	return t, ctx
}

// play runs a claimed turn to its one end. It returns what the agent wants to
// come back with by itself, if anything.
func (e *engine) play(ctx context.Context, t *turn, p prompt) (wake string) {
	defer close(t.done)
	defer t.stop()
	info := wire.Turn{ID: uuid.NewString(), State: wire.TurnStarted, Origin: p.origin}
	if p.origin == wire.OriginPrompt && e.currentTitle() == "" {
		e.setTitle(titleOf(p.text))
	}
	e.file.write(wire.Record{Type: wire.RecordTurn, Turn: &info})
	e.status(wire.StatusRunning)
	e.face.Turn(info)

	s := &stage{e: e, ctx: ctx, turn: t}
	fault := s.run(p)

	end := info
	end.State = wire.TurnEnded
	switch {
	case ctx.Err() != nil || fault == errStopped:
		end.Outcome = wire.OutcomeStopped
		s.closeOpen(wire.StateStopped)
	case fault != nil:
		end.Outcome, end.Reason, end.Text = wire.OutcomeFailed, "server_error", fault.Error()
		s.closeOpen(wire.StateFailed)
	default:
		end.Outcome = wire.OutcomeCompleted
		s.closeOpen(wire.StateDone)
	}
	if err := e.file.fault(); err != nil && end.Outcome == wire.OutcomeCompleted {
		end.Outcome, end.Reason, end.Text = wire.OutcomeFailed, "failed", "The session file could not be written: "+err.Error()
	}
	e.discardSteers(t)
	e.opt.die("before-end")
	u := e.countUsage(s)
	e.file.write(wire.Record{Type: wire.RecordUsage, Usage: &u})
	e.face.Usage(u)
	e.file.write(wire.Record{Type: wire.RecordTurn, Turn: &end})
	e.reg.update(func(l *wire.Live) {
		l.Status, l.WaitingFor, l.WaitingKind, l.Tool, l.Helpers = wire.StatusIdle, "", "", "", nil
		l.LastTurn, l.LastTurnAt = end.Outcome, now()
	})
	e.mu.Lock()
	e.turn = nil
	e.mu.Unlock()
	e.face.Turn(end)
	e.opt.die("after-end")
	if end.Outcome != wire.OutcomeCompleted {
		return ""
	}
	return t.wake
}

// interrupt stops the running turn and waits for its end.
func (e *engine) interrupt() {
	e.mu.Lock()
	t := e.turn
	e.mu.Unlock()
	if t == nil {
		return
	}
	t.stop()
	<-t.done
}

// stopTurn asks the running turn to stop and does not wait.
func (e *engine) stopTurn() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turn != nil {
		e.turn.stop()
	}
}

// clear begins a new session in this process. No turn may be running.
func (e *engine) clear() error {
	before := e.session
	e.file.close()
	return e.open("", "", before)
}

// steer hands text to the running turn; false when there is none.
func (e *engine) steer(p prompt) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turn == nil || e.turn.closed {
		return false
	}
	e.turn.steers = append(e.turn.steers, p)
	select {
	case e.turn.nudge <- struct{}{}:
	default:
	}
	return true
}

// takeSteer takes the oldest waiting steer. With last set and none waiting the
// turn takes no more.
func (e *engine) takeSteer(t *turn, last bool) (prompt, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(t.steers) == 0 {
		t.closed = t.closed || last
		return prompt{}, false
	}
	p := t.steers[0]
	t.steers = t.steers[1:]
	return p, true
}

func (e *engine) discardSteers(t *turn) {
	for {
		p, ok := e.takeSteer(t, true)
		if !ok {
			return
		}
		e.face.Delivery(p.clientID, "discarded")
	}
}

// set changes the settings; unknown ids change nothing.
func (e *engine) set(s wire.Settings) bool {
	if s.Model != "" && !offered(models, s.Model) || s.Mode != "" && !offered(modes, s.Mode) || s.Thinking != "" && !offered(thinking, s.Thinking) {
		return false
	}
	e.mu.Lock()
	e.settings = settingsFrom(s, e.settings)
	in := e.settings
	used := e.file != nil && e.file.used()
	e.mu.Unlock()
	if used {
		e.file.write(wire.Record{Type: wire.RecordSettings, Settings: &in})
	}
	e.reg.update(func(l *wire.Live) { l.Model, l.Mode = in.Model, in.Mode })
	e.face.Settings(in)
	return true
}

func (e *engine) inForce() wire.Settings {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.settings
}

func (e *engine) currentTitle() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.title
}

func (e *engine) setTitle(title string) {
	e.mu.Lock()
	e.title = title
	in := e.settings
	e.mu.Unlock()
	e.file.write(wire.Record{Type: wire.RecordTitle, Title: title})
	e.file.write(wire.Record{Type: wire.RecordSettings, Settings: &in})
	e.reg.update(func(l *wire.Live) { l.Title = title })
	e.face.Title(title)
}

func (e *engine) status(s string) {
	e.reg.update(func(l *wire.Live) { l.Status, l.WaitingFor, l.WaitingKind = s, "", "" })
}

func (e *engine) isAlways(tool string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.always[tool]
}

func (e *engine) setAlways(tool string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.always = maps.Clone(e.always)
	e.always[tool] = true
}

func (e *engine) currentUsage() wire.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.usage
}

// countUsage makes the figures up from the lengths: four bytes a token.
func (e *engine) countUsage(s *stage) wire.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.usage.Input = 12 + s.heard/4
	e.usage.Output = s.said / 4
	e.usage.Reasoning = s.thought / 4
	e.usage.Context = min(max(e.usage.Context, 1800)+e.usage.Input+e.usage.Output+e.usage.Reasoning, e.usage.ContextMax)
	return e.usage
}

// scratch is where edits happen.
func (e *engine) scratch() string {
	if e.opt.Scratch != "" {
		return e.opt.Scratch
	}
	id := e.session
	if id == "" {
		id = "unnamed"
	}
	return e.home.Scratch(id)
}

// titleOf is the first line of a prompt, at most 60 runes.
func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 60 {
		line = strings.TrimSpace(string(r[:59])) + "…"
	}
	if line == "" {
		return "Untitled"
	}
	return line
}

func (e *engine) hello() *wire.Hello {
	return &wire.Hello{
		Version: wire.ProtocolVersion, Program: "rehearsal", Release: wire.Release, Pid: os.Getpid(),
		Session: e.session, Resumed: e.past != nil, Settings: e.inForce(),
		Models: models, Modes: modes, Thinking: thinking, Commands: commands,
	}
}
