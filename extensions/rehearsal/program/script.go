package program

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// told is a fault in words for a person; it becomes the text of the turn's end.
type told string

func (t told) Error() string { return string(t) }

// act is one scene of the script.
type act func(*stage) error

// scenes by the words of a prompt that call for them.
var scenes = []struct {
	words []string
	tools bool // not played in a chat without tools
	act   act
}{
	{[]string{"plan"}, false, (*stage).planScene},
	{[]string{"edit", "change"}, true, (*stage).editScene},
	{[]string{"run", "command"}, true, (*stage).runScene},
	{[]string{"question", "questions", "ask"}, false, (*stage).questionScene},
	{[]string{"agents", "helpers", "subagents", "sub-agents"}, true, (*stage).agentsScene},
	{[]string{"later", "background"}, false, (*stage).laterScene},
	{[]string{"long"}, false, (*stage).longScene},
	{[]string{"fail", "error"}, false, (*stage).failScene},
	{[]string{"wait"}, false, (*stage).waitScene},
	{[]string{"silent"}, false, (*stage).silentScene},
	{[]string{"ponder"}, false, (*stage).ponderScene},
	{[]string{"errand"}, true, (*stage).errandScene},
	{[]string{"help"}, false, (*stage).helpScene},
}

// run plays a whole turn.
func (s *stage) run(p prompt) error {
	o := &s.e.opt
	s.prompted, s.heard = p.text, len(p.text)
	if p.origin == wire.OriginPrompt {
		s.whole(wire.Block{Kind: wire.KindUser, Text: p.text, ClientID: p.clientID})
	}
	o.die("prompt")
	if o.Flood > 0 {
		flood(s.e.stderr, o.Flood)
	}
	switch {
	case o.Silent:
		<-s.ctx.Done()
		return s.ctx.Err()
	case o.Deltas > 0:
		if err := s.loadScene(); err != nil {
			return err
		}
	case p.origin == wire.OriginAgent:
		if err := s.comeBackScene(); err != nil {
			return err
		}
	default:
		if err := s.playScenes(p); err != nil {
			return err
		}
	}
	return s.hearSteers(true)
}

func (s *stage) playScenes(p prompt) error {
	acts := called(p.text, s.e.opt.Chat)
	if len(acts) == 0 {
		return s.plainScene(p)
	}
	for _, a := range acts {
		if err := a(s); err != nil {
			return err
		}
	}
	return nil
}

// called finds the scenes a prompt asks for, in the order of its words.
func called(text string, chat bool) []act {
	seen := map[int]bool{}
	var acts []act
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '-'
	}) {
		for i, sc := range scenes {
			for _, known := range sc.words {
				if w == known && !seen[i] {
					seen[i] = true
					if chat && sc.tools {
						acts = append(acts, (*stage).noToolsScene)
					} else {
						acts = append(acts, sc.act)
					}
				}
			}
		}
	}
	return acts
}

func (s *stage) plainScene(p prompt) error {
	if err := s.think(
		"A plain message. I answer it, and show what else can be tried here.",
		"I am a script and not a model, so I should say that early. Then a short piece of markdown, so that headings, lists, code and a table can be seen while they stream."); err != nil {
		return err
	}
	if err := s.say(fmt.Sprintf(plainAnswer, titleOf(p.text), s.filesLine(p))); err != nil {
		return err
	}
	return nil
}

func (s *stage) filesLine(p prompt) string {
	if len(p.files) == 0 {
		return ""
	}
	var names []string
	for _, f := range p.files {
		names = append(names, fmt.Sprintf("`%s` (%s, %d bytes)", f.Name, f.Kind, f.Size))
	}
	return "\n\nI also received " + strings.Join(names, ", ") + "."
}

func (s *stage) helpScene() error { return s.say(helpAnswer) }

func (s *stage) noToolsScene() error {
	return s.say("This chat is **confined**: I have no tools here, so I neither edit, run nor send anyone out. Open a workspace chat to see that part.")
}

func (s *stage) longScene() error {
	if err := s.think("A long answer was asked for. Six short chapters will do.", "Each chapter gets a heading and a few sentences, so that scrolling, following the end and jumping back can be tried."); err != nil {
		return err
	}
	return s.say(longAnswer)
}

func (s *stage) failScene() error {
	if err := s.say("This turn is about to fail on purpose, so that you can see how a failure looks and what can be done about it."); err != nil {
		return err
	}
	return told("The rehearsal failed this turn because you asked it to. Nothing is broken: send another message to go on.")
}

// waitScene stands still in the middle of an answer until it is stopped or
// spoken to.
func (s *stage) waitScene() error {
	b := s.begin(wire.Block{Kind: wire.KindText})
	const first = "I stand still in the middle of this answer. Stop me, or send a message and I go on: "
	if err := s.stream(b, first); err != nil {
		return err
	}
	said := b.Text
	for !s.e.steersWaiting(s.turn) {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-s.turn.nudge:
		}
	}
	s.drainNudge()
	err := s.stream(b, "there you are.")
	b.Text = said + b.Text
	if err != nil {
		return err
	}
	s.finish(b, "")
	return s.hearSteers(false)
}

// silentScene begins a turn and says nothing; ponderScene and errandScene stand
// still in a thought and in a helper. Only a stop ends them.
func (s *stage) silentScene() error { return s.stand() }

func (s *stage) ponderScene() error {
	b := s.begin(wire.Block{Kind: wire.KindThought})
	if err := s.stream(b, "I ponder this, and do not come to an end"); err != nil {
		return err
	}
	return s.stand()
}

func (s *stage) errandScene() error {
	out := s.begin(wire.Block{Kind: wire.KindHelper, Role: "scout", Title: "An errand without end"})
	if err := s.speak(out.ID, "I am on my way."); err != nil {
		return err
	}
	return s.stand()
}

func (s *stage) stand() error {
	<-s.ctx.Done()
	return s.ctx.Err()
}

func (s *stage) laterScene() error {
	s.turn.wake = "later"
	return s.say("I finish here and come back **by myself** in a moment, the way an agent does when something it left running in the background is done.")
}

func (s *stage) comeBackScene() error {
	return s.say("Here I am again, without a prompt: the background task is done. Turns like this one are marked as started by the agent.")
}

// loadScene streams counted deltas: "000001 ", "000002 " ..., each padded with
// dots to its size, so that a reader can prove that none is lost or swapped.
func (s *stage) loadScene() error {
	b := s.begin(wire.Block{Kind: wire.KindText})
	var all strings.Builder
	pad := strings.Repeat(".", s.e.opt.DeltaBytes-8)
	for i := range s.e.opt.Deltas {
		c := fmt.Sprintf("%07d%s ", i+1, pad)
		err := s.pace(b, len(c))
		if err == nil && i == s.e.opt.Deltas/2 {
			s.e.opt.die("mid-text")
			err = s.hold()
		}
		if err != nil {
			b.Text = all.String()
			return err
		}
		all.WriteString(c)
		s.said += len(c)
		s.e.face.Append(b.ID, c)
		if i == 0 {
			s.e.opt.die("first-delta")
		}
		if len(s.turn.nudge) > 0 {
			break
		}
	}
	b.Text = all.String()
	s.finish(b, "")
	return nil
}

func (s *stage) planScene() error {
	steps := []string{"Look around the stage", "Write the programme", "Read it aloud once", "Say what changed"}
	if s.e.inForce().Mode == modePlan {
		return s.planFirst(steps)
	}
	return s.workThrough(steps)
}

// planFirst is what the plan mode does: propose, and leave the mode only when
// a person says so.
func (s *stage) planFirst(steps []string) error {
	var text strings.Builder
	text.WriteString("## The plan\n\n")
	for i, st := range steps {
		fmt.Fprintf(&text, "%d. %s\n", i+1, st)
	}
	ans, err := s.ask(wire.Ask{
		Kind: wire.AskPlan, Title: "Ready to work through this plan?", Plan: text.String(),
		FromMode: modePlan, ToMode: modeAsk,
		Options: []wire.Option{
			{ID: "work-edits", Label: "Yes, and accept edits", Means: "allow_once", Reach: "once", About: "Switches to “Accept edits”"},
			{ID: "work-ask", Label: "Yes, and ask before each edit", Means: "allow_once", Reach: "once", About: "Switches to “Ask first”"},
			{ID: "keep-planning", Label: "No, keep planning", Means: "reject_once", Reach: "once", Comment: true},
		},
	})
	if err != nil {
		return err
	}
	switch ans.OptionID {
	case "work-edits":
		s.e.set(wire.Settings{Mode: modeEdits})
	case "work-ask":
		s.e.set(wire.Settings{Mode: modeAsk})
	default:
		more := "I keep planning then, and change nothing."
		if ans.Comment != "" {
			more = "I keep planning, with your remark in mind: “" + titleOf(ans.Comment) + "”."
		}
		return s.say(more)
	}
	return s.workThrough(steps)
}

func (s *stage) workThrough(steps []string) error {
	if err := s.think("Four steps. I tick them off one by one.", "A plan is one row that changes, not a new row for each step."); err != nil {
		return err
	}
	b := s.begin(wire.Block{Kind: wire.KindPlan})
	set := func(active int) {
		b.Steps = nil
		for i, text := range steps {
			state := "pending"
			switch {
			case i < active:
				state = "done"
			case i == active:
				state = "active"
			}
			b.Steps = append(b.Steps, wire.Step{Text: text, State: state})
		}
		s.publish(b)
	}
	for i := range steps {
		set(i)
		if err := s.rest(700 * time.Millisecond); err != nil {
			return err
		}
	}
	for i := range b.Steps {
		b.Steps[i].State = "done"
	}
	s.finish(b, "")
	return s.say("All four steps are ticked. A real agent would have changed something along the way; say **edit** to see that.")
}
