package program

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// errStopped ends a turn because nobody decided what it asked.
var errStopped = errors.New("stopped")

// stage is where one turn plays: it publishes blocks to the face and the
// session file, in the same order and with the same content.
type stage struct {
	e    *engine
	ctx  context.Context
	turn *turn
	open []*wire.Block

	prompted             string
	heard, said, thought int // bytes
	firstDelta           bool
	held                 bool
	started              time.Time
	deltas               int
}

// begin publishes a block that is not finished.
func (s *stage) begin(b wire.Block) *wire.Block {
	b.ID, b.StartedAt = uuid.NewString(), now()
	if b.Kind == wire.KindTool || b.Kind == wire.KindHelper {
		b.State = wire.StateRunning
	}
	s.open = append(s.open, &b)
	s.publish(&b)
	return &b
}

// publish writes the block as it stands, first to disk.
func (s *stage) publish(b *wire.Block) {
	c := *b
	s.e.file.write(wire.Record{Type: wire.RecordBlock, Block: &c})
	s.e.face.Block(c)
}

// finish publishes a block for the last time.
func (s *stage) finish(b *wire.Block, state string) {
	b.EndedAt = now()
	if b.State == wire.StateRunning {
		b.State = state
	}
	for i, o := range s.open {
		if o == b {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
			break
		}
	}
	s.publish(b)
}

// closeOpen finishes everything that is still open, innermost first.
func (s *stage) closeOpen(state string) {
	for len(s.open) > 0 {
		s.finish(s.open[len(s.open)-1], state)
	}
}

// whole publishes a block that is finished at once.
func (s *stage) whole(b wire.Block) {
	b.ID, b.StartedAt = uuid.NewString(), now()
	b.EndedAt = b.StartedAt
	s.publish(&b)
}

// say streams an answer. A steer cuts it short and is answered.
func (s *stage) say(text string) error { return s.speak("", text) }

func (s *stage) speak(helper, text string) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	b := s.begin(wire.Block{Kind: wire.KindText, Helper: helper})
	err := s.stream(b, strings.TrimSpace(text))
	if err != nil {
		return err
	}
	s.finish(b, "")
	return s.hearSteers(false)
}

// think streams reasoning, as much as the thinking level allows.
func (s *stage) think(brief, full string) error {
	text := brief
	switch s.e.inForce().Thinking {
	case "off":
		return s.ctx.Err()
	case "full":
		text = strings.TrimSpace(brief + "\n\n" + full)
	}
	b := s.begin(wire.Block{Kind: wire.KindThought})
	s.e.opt.die("thought")
	if err := s.stream(b, text); err != nil {
		return err
	}
	s.finish(b, "")
	return s.hearSteers(false)
}

// stream appends text to a block in deltas at the pace asked for.
func (s *stage) stream(b *wire.Block, text string) error {
	chunks := words(text)
	var all strings.Builder
	for i, c := range chunks {
		if err := s.pace(b, len(c)); err != nil {
			b.Text = all.String()
			return err
		}
		if len(s.turn.nudge) > 0 && b.Kind == wire.KindText && b.Helper == "" && i > 0 {
			c = "…"
		}
		all.WriteString(c)
		s.e.face.Append(b.ID, c)
		if b.Kind == wire.KindThought {
			s.thought += len(c)
		} else {
			s.said += len(c)
		}
		if !s.firstDelta {
			s.firstDelta = true
			s.e.opt.die("first-delta")
		}
		if b.Kind == wire.KindText && i >= len(chunks)/2 {
			if i == len(chunks)/2 {
				s.e.opt.die("mid-text")
			}
			if err := s.hold(); err != nil {
				b.Text = all.String()
				return err
			}
		}
		if c == "…" && len(s.turn.nudge) > 0 {
			break
		}
	}
	b.Text = all.String()
	return nil
}

// hold stops once a turn in the middle of a text, for --hold.
func (s *stage) hold() error {
	if s.e.opt.Hold == "" || s.held {
		return nil
	}
	s.held = true
	err := await(s.ctx, s.e.opt.Hold, s.e.told, s.turn.nudge)
	if err == nil && s.e.steersWaiting(s.turn) {
		select { // the nudge woke us; it is still owed to the stream
		case s.turn.nudge <- struct{}{}:
		default:
		}
	}
	return err
}

// pace waits until the next delta is due.
func (s *stage) pace(b *wire.Block, size int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.deltas++
	var wait time.Duration
	switch {
	case s.e.opt.Rate > 0:
		if s.started.IsZero() {
			s.started = time.Now()
		}
		wait = time.Until(s.started.Add(time.Duration(float64(s.deltas) / s.e.opt.Rate * float64(time.Second))))
	case s.e.opt.Pace == "none" || s.e.opt.Deltas > 0:
		return nil
	default:
		wait = time.Duration(14+3*min(size, 12)) * time.Millisecond
		if b.Kind == wire.KindThought {
			wait /= 2
		}
		if s.e.inForce().Model == "matinee" {
			wait /= 3
		}
	}
	return s.sleep(wait)
}

// rest is a pause between two actions, shorter when nobody watches.
func (s *stage) rest(d time.Duration) error {
	if s.e.opt.Pace == "none" {
		return s.ctx.Err()
	}
	return s.sleep(d)
}

func (s *stage) sleep(d time.Duration) error {
	if d <= 0 {
		return s.ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.ctx.Done():
		return s.ctx.Err()
	case <-t.C:
		return nil
	}
}

// hearSteers answers what was said meanwhile. With last set the turn takes no
// more afterwards.
func (s *stage) hearSteers(last bool) error {
	for {
		p, ok := s.e.takeSteer(s.turn, last)
		if !ok {
			return s.ctx.Err()
		}
		s.drainNudge()
		s.e.face.Delivery(p.clientID, "started")
		s.heard += len(p.text)
		s.whole(wire.Block{Kind: wire.KindUser, Text: p.text, ClientID: p.clientID})
		b := s.begin(wire.Block{Kind: wire.KindText})
		if err := s.stream(b, "Taken in while I was working: “"+titleOf(p.text)+"”. I go on with that in mind."); err != nil {
			return err
		}
		s.finish(b, "")
		s.e.face.Delivery(p.clientID, "completed")
	}
}

func (s *stage) drainNudge() {
	select {
	case <-s.turn.nudge:
	default:
	}
}

func (e *engine) steersWaiting(t *turn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(t.steers) > 0
}

// words cuts a text into deltas: each word with the space after it.
func words(text string) []string {
	var out []string
	start := 0
	space := false
	for i, r := range text {
		isSpace := r == ' ' || r == '\n'
		if space && !isSpace {
			out = append(out, text[start:i])
			start = i
		}
		space = isSpace
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}
