package program

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// pose shows a request and says which keys answer it.
func (t *terminal) pose(a wire.Ask) *asking {
	q := &asking{answer: make(chan wire.Answer, 1)}
	t.mu.Lock()
	if b := t.shown[a.BlockID]; b != nil {
		b.asked = true
	}
	t.mu.Unlock()
	t.scr.fresh()
	t.scr.write("\n" + yellow + bold + "? " + clean(a.Title) + reset + "\n")
	switch {
	case a.Plan != "":
		t.scr.write(indent(a.Plan, "  "))
	case a.Tool != nil && a.Tool.Run != nil:
		t.scr.write("  " + clean(a.Tool.Run.Command) + dim + "   in " + clean(a.Tool.Run.Cwd) + reset + "\n")
	case a.Tool != nil && a.Tool.Edit != nil:
		t.scr.write(colored(a.Tool.Edit.Diff))
	}
	if len(a.Questions) > 0 {
		t.poseQuestions(q, a)
		return q
	}
	for i, o := range a.Options {
		t.scr.write(fmt.Sprintf("  %s%d%s %s\n", bold, i+1, reset, clean(o.Label)))
	}
	t.scr.write(dim + "  Press a number; Esc stops the turn." + reset + "\n")
	q.key = func(k key) (wire.Answer, bool) {
		n := int(k.r - '1')
		if k.kind != keyRune || n < 0 || n >= len(a.Options) {
			return wire.Answer{}, false
		}
		t.scr.write(dim + "  " + clean(a.Options[n].Label) + reset + "\n")
		return wire.Answer{OptionID: a.Options[n].ID}, true
	}
	return q
}

// poseQuestions asks one question after the other, each answered by a line:
// numbers, or own words where they are allowed, or nothing to skip.
func (t *terminal) poseQuestions(q *asking, a wire.Ask) {
	at := 0
	var typed line
	ans := wire.Answer{OptionID: a.Options[0].ID, Choices: map[string]wire.Choice{}}
	show := func() {
		c := a.Questions[at]
		t.scr.write("\n  " + bold + clean(c.Text) + reset + "\n")
		for i, o := range c.Choices {
			about := ""
			if o.About != "" {
				about = dim + "  " + clean(o.About) + reset
			}
			t.scr.write(fmt.Sprintf("  %s%d%s %s%s\n", bold, i+1, reset, clean(o.Label), about))
		}
		var how []string
		if len(c.Choices) > 0 && c.Multi {
			how = append(how, "numbers with spaces")
		} else if len(c.Choices) > 0 {
			how = append(how, "a number")
		}
		if c.Free {
			how = append(how, "your own words")
		}
		if c.Skip {
			how = append(how, "nothing to skip")
		}
		t.scr.write(dim + "  Enter " + strings.Join(how, ", or ") + "." + reset + "\n")
		t.scr.ask("  › ", &typed)
	}
	show()
	q.key = func(k key) (wire.Answer, bool) {
		if !typed.key(k) {
			t.scr.ask("  › ", &typed)
			return wire.Answer{}, false
		}
		text := typed.take()
		c := a.Questions[at]
		choice, ok := choose(c, text)
		if !ok {
			t.scr.ask("  › ", &typed)
			return wire.Answer{}, false
		}
		t.scr.entered("  › ", text)
		ans.Choices[c.ID] = choice
		if at++; at < len(a.Questions) {
			show()
			return wire.Answer{}, false
		}
		return ans, true
	}
}

// choose reads a typed answer; ok is false when it answers nothing.
func choose(q wire.Question, text string) (c wire.Choice, ok bool) {
	if text == "" {
		return wire.Choice{Skipped: true}, q.Skip
	}
	for _, f := range strings.Fields(text) {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 || n > len(q.Choices) {
			return wire.Choice{Own: text}, q.Free
		}
		c.IDs = append(c.IDs, q.Choices[n-1].ID)
	}
	if len(c.IDs) > 1 && !q.Multi {
		return wire.Choice{}, false
	}
	return c, true
}
