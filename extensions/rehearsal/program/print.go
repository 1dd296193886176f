package program

import (
	"strings"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// shownBlock is what of a block stands on the screen.
type shownBlock struct {
	block wire.Block
	steps map[int]string // plan: state printed per step
	asked bool           // its diff was shown with the request
}

// Block implements face: a block prints what is new about it.
func (t *terminal) Block(b wire.Block) {
	t.mu.Lock()
	was := t.shown[b.ID]
	if was == nil {
		was = &shownBlock{steps: map[int]string{}}
	} else if b.EndedAt > 0 {
		delete(t.shown, b.ID)
	}
	first := was.block.ID == ""
	was.block = b
	if b.EndedAt == 0 {
		t.shown[b.ID] = was
	}
	typed := t.typed
	if b.Kind == wire.KindUser {
		t.typed = false
	}
	t.mu.Unlock()

	switch b.Kind {
	case wire.KindUser:
		if !typed {
			t.scr.fresh()
			t.scr.entered("› ", b.Text)
		}
	case wire.KindText, wire.KindThought:
		t.textBlock(b, first)
	case wire.KindTool:
		t.toolBlock(b, first, was.asked)
	case wire.KindHelper:
		t.scr.fresh()
		t.scr.write(cyan + "◆ " + clean(b.Role) + reset + " " + clean(b.Title))
		if b.EndedAt > 0 {
			t.scr.write(dim + "  " + b.State + reset)
		}
		t.scr.write("\n")
	case wire.KindPlan:
		t.planBlock(b, was.steps)
	}
}

func (t *terminal) textBlock(b wire.Block, first bool) {
	switch {
	case first && b.EndedAt == 0:
		t.scr.fresh()
		switch {
		case b.Kind == wire.KindThought:
			t.scr.write("\n" + dim + italic)
		case b.Helper != "":
			t.scr.write(dim + "  │ " + reset)
		default:
			t.scr.write("\n")
		}
	case b.EndedAt > 0:
		t.scr.write(reset)
		t.scr.fresh()
	}
}

func (t *terminal) toolBlock(b wire.Block, first, asked bool) {
	if first && b.EndedAt == 0 {
		t.scr.fresh()
		t.scr.write("\n" + toolHead(b) + "\n")
		return
	}
	t.scr.fresh()
	switch {
	case b.Tool == nil:
	case b.Tool.Edit != nil && b.State == wire.StateDone && !asked:
		t.scr.write(colored(b.Tool.Edit.Diff))
	case b.Tool.Output != "":
		t.scr.write(dim + indent(b.Tool.Output, "  ") + reset)
	}
	switch b.State {
	case wire.StateDeclined:
		t.scr.write(dim + "  declined" + reset + "\n")
	case wire.StateFailed:
		t.scr.write(red + "  failed" + reset + "\n")
	case wire.StateStopped:
		t.scr.write(dim + "  stopped" + reset + "\n")
	}
}

func (t *terminal) planBlock(b wire.Block, printed map[int]string) {
	if len(printed) == 0 && len(b.Steps) > 0 {
		t.scr.fresh()
		t.scr.write("\n" + bold + "Plan" + reset + "\n")
		for i, s := range b.Steps {
			t.scr.write(dim + "  ☐ " + clean(s.Text) + reset + "\n")
			printed[i] = "pending"
		}
	}
	for i, s := range b.Steps {
		if s.State == "done" && printed[i] != "done" {
			printed[i] = "done"
			t.scr.fresh()
			t.scr.write(green + "  ☑ " + reset + clean(s.Text) + "\n")
		}
	}
}

// Append implements face.
func (t *terminal) Append(id, text string) {
	t.mu.Lock()
	b := t.shown[id]
	t.mu.Unlock()
	text = body(text)
	if b != nil && b.block.Helper != "" {
		text = strings.ReplaceAll(text, "\n", "\n  │ ")
	}
	t.scr.write(text)
}

// Turn implements face.
func (t *terminal) Turn(turn wire.Turn) {
	if turn.State == wire.TurnStarted {
		t.scr.report("working", "", "")
		if turn.Origin == wire.OriginAgent {
			t.scr.write(dim + "(started by the agent)" + reset + "\n")
		}
		return
	}
	t.scr.write(reset)
	t.scr.fresh()
	switch turn.Outcome {
	case wire.OutcomeStopped:
		t.scr.write(dim + "Stopped." + reset + "\n")
		t.scr.report("idle", "", "")
	case wire.OutcomeFailed:
		t.scr.write(red + "✗ " + clean(turn.Text) + reset + "\n")
		t.scr.report("error", "", "")
	default:
		t.scr.report("done", "", "")
	}
}

// recall prints a block of an earlier run, shortened.
func (t *terminal) recall(b wire.Block) {
	text := b.Text
	if b.Kind == wire.KindTool {
		t.scr.write(toolHead(b) + "\n")
		return
	}
	if b.Kind == wire.KindThought || text == "" {
		return
	}
	if r := []rune(text); len(r) > 400 {
		text = string(r[:400]) + " …"
	}
	if b.Kind == wire.KindUser {
		t.scr.write(bold + mainPrompt + reset + clean(text) + "\n")
		return
	}
	t.scr.write(indent(text, "  "))
}

// Title implements face.
func (t *terminal) Title(string) { t.retitle() }

// Settings implements face.
func (t *terminal) Settings(s wire.Settings) {
	t.scr.write(dim + "model " + s.Model + ", mode " + s.Mode + ", thinking " + s.Thinking + reset + "\n")
}

// Usage implements face; a person does not count tokens of a script.
func (t *terminal) Usage(wire.Usage) {}

// Delivery implements face.
func (t *terminal) Delivery(clientID, state string) {}
