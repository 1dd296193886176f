package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

const programme = `# Programme

1. Curtain up
2. The first act
3. Interval
`

// editScene reads a file of the scratch folder, asks, and really changes it.
func (s *stage) editScene() error {
	if err := s.think("I look at the programme first, then propose a change to it.",
		"The file lives in a scratch folder of the rehearsal, so nothing of yours is touched. The change is shown as a diff before anything is written."); err != nil {
		return err
	}
	path := filepath.Join(s.e.scratch(), "programme.md")
	before, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		before = []byte(programme)
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, before, 0o600)
		}
	}
	if err != nil {
		return told("The scratch file could not be read: " + err.Error())
	}
	lines := strings.Count(string(before), "\n")
	read := s.begin(wire.Block{Kind: wire.KindTool, Title: "Read programme.md", Tool: &wire.Tool{
		Name: "read", Read: &wire.ReadBody{Path: path, From: 1, To: lines},
	}})
	s.busy("read")
	if err := s.rest(300 * time.Millisecond); err != nil {
		return err
	}
	read.Tool = &wire.Tool{Name: "read", Read: read.Tool.Read, Output: string(before)}
	s.finish(read, wire.StateDone)

	after := string(before) + fmt.Sprintf("%d. %s\n", lines-1, encore(lines))
	diff := udiff.Unified("programme.md", "programme.md", string(before), after)
	edit := s.begin(wire.Block{Kind: wire.KindTool, Title: "Edit programme.md", Tool: &wire.Tool{
		Name: "edit", Edit: &wire.EditBody{Path: path, Diff: diff, Added: 1, Line: lines + 1},
	}})
	s.busy("edit")
	s.e.opt.die("tool")
	ok, why, err := s.permit(edit, "edit", "Edit programme.md")
	if err != nil {
		return err
	}
	if !ok {
		s.finish(edit, wire.StateDeclined)
		return s.say(declined("I left `programme.md` as it was.", why))
	}
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		s.finish(edit, wire.StateFailed)
		return told("The scratch file could not be written: " + err.Error())
	}
	s.finish(edit, wire.StateDone)
	return s.say("Done: the programme has one line more. The file is `" + path + "`, in a scratch folder of this rehearsal.")
}

func encore(lines int) string {
	acts := []string{"The second act", "A song nobody expected", "The finale", "Bows", "Encore"}
	return acts[max(0, lines-5)%len(acts)]
}

func declined(what, why string) string {
	if why == "" {
		return what + " You said no, and that is fine: nothing was done behind your back."
	}
	return what + " " + why
}

// harmless are the only commands a rehearsal ever runs; the words of a prompt
// choose between them and never become part of one.
var harmless = []struct{ word, command string }{
	{"date", "date"},
	{"list", "ls -1"},
	{"count", "for i in 1 2 3 4 5; do echo $i; sleep 0.2; done"},
	{"endless", "sleep 600"},
	{"broken", "echo 'no such prop: skull' >&2; exit 3"},
	{"echo", "echo \"The curtain is up.\""},
}

// runScene asks for a command and really runs it.
func (s *stage) runScene() error {
	command := harmless[len(harmless)-1].command
	for _, h := range harmless {
		if strings.Contains(strings.ToLower(s.prompted), h.word) {
			command = h.command
			break
		}
	}
	if err := s.think("One command, harmless, in the working folder.", "You see the whole line before it runs, and its exit code afterwards."); err != nil {
		return err
	}
	b := s.begin(wire.Block{Kind: wire.KindTool, Title: command, Tool: &wire.Tool{
		Name: "run", Run: &wire.RunBody{Command: command, Cwd: s.e.opt.Cwd},
	}})
	s.busy("run")
	s.e.opt.die("tool")
	ok, why, err := s.permit(b, "run", "Run a command")
	if err != nil {
		return err
	}
	if !ok {
		s.finish(b, wire.StateDeclined)
		return s.say(declined("I did not run it.", why))
	}
	out, code, took, err := execute(s.ctx, command, s.e.opt.Cwd)
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if err != nil {
		s.finish(b, wire.StateFailed)
		return told("The command could not be started: " + err.Error())
	}
	b.Tool = &wire.Tool{Name: "run", Output: out, Run: &wire.RunBody{
		Command: command, Cwd: s.e.opt.Cwd, ExitCode: &code, Millis: took.Milliseconds(),
	}}
	if code != 0 {
		s.finish(b, wire.StateFailed)
		return s.say(fmt.Sprintf("The command ended with code **%d**. Its output is in the row above.", code))
	}
	s.finish(b, wire.StateDone)
	return s.say("The command ran and ended well. Its output is in the row above.")
}

// execute runs a line in our own process group, so that whoever ends the group
// ends it too; the end of ctx kills it.
func execute(ctx context.Context, command, cwd string) (string, int, time.Duration, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = cwd
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	code := -1
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return out.String(), code, time.Since(began), err
}

var cards = []wire.Question{
	{ID: "stage", Header: "Stage", Text: "Where shall we play tonight?", Choices: []wire.QuestionChoice{
		{ID: "hall", Label: "The town hall", About: "Warm, with good seats"},
		{ID: "barn", Label: "The barn", About: "Draughty, with good sound"},
		{ID: "yard", Label: "The yard", About: "If the weather holds"},
	}, Free: true},
	{ID: "props", Header: "Props", Text: "Which props do we take along?", Multi: true, Skip: true, Choices: []wire.QuestionChoice{
		{ID: "lantern", Label: "Lantern"}, {ID: "rope", Label: "Rope"}, {ID: "skull", Label: "Skull"},
	}},
	{ID: "line", Header: "First line", Text: "How does the evening begin? Your own words.", Free: true, Hint: "Ladies and gentlemen …", Skip: true},
}

func (s *stage) questionScene() error {
	if err := s.think("Three questions on one card: one choice, several choices, own words.", "Skipping a question is an answer too; closing the card is not."); err != nil {
		return err
	}
	b := s.begin(wire.Block{Kind: wire.KindTool, Title: "Ask three questions", Tool: &wire.Tool{Name: "ask", Ask: &wire.AskBody{Questions: cards}}})
	ans, err := s.ask(wire.Ask{
		BlockID: b.ID, Kind: wire.AskQuestion, Title: "Three questions before we begin", Questions: cards,
		Options: []wire.Option{
			{ID: "answer", Label: "Answer", Means: "allow_once", Reach: "once"},
			{ID: "decline", Label: "I'd rather not say", Means: "reject_once", Reach: "once"},
		},
	})
	if err != nil {
		return err
	}
	if ans.OptionID != "answer" {
		s.finish(b, wire.StateDeclined)
		return s.say("No answer is fine as well. I'll improvise.")
	}
	said := map[string]string{}
	var list strings.Builder
	for _, q := range cards {
		said[q.ID] = spoken(q, ans.Choices[q.ID])
		fmt.Fprintf(&list, "- **%s:** %s\n", q.Header, said[q.ID])
	}
	b.Tool = &wire.Tool{Name: "ask", Ask: &wire.AskBody{Questions: cards, Answers: said}}
	s.finish(b, wire.StateDone)
	return s.say("This is what I understood:\n\n" + list.String())
}

// spoken puts the answer to one question into words.
func spoken(q wire.Question, c wire.Choice) string {
	if c.Own != "" {
		return c.Own
	}
	var labels []string
	for _, id := range c.IDs {
		for _, known := range q.Choices {
			if known.ID == id {
				labels = append(labels, known.Label)
			}
		}
	}
	if len(labels) == 0 {
		return "(skipped)"
	}
	return strings.Join(labels, ", ")
}

// agentsScene sends out two helpers whose rows come interleaved.
func (s *stage) agentsScene() error {
	if err := s.say("I send out two helpers. Their rows belong to them and fold away under their names."); err != nil {
		return err
	}
	jobs := []struct {
		role, title string
		lines       []string
	}{
		{"scout", "Look for a lantern", []string{"I start in the attic.", "Two lanterns, one without glass.", "The one with glass works."}},
		{"scribe", "Copy out the parts", []string{"Three parts to copy.", "Two are done.", "All three are done, in a fair hand."}},
	}
	var out []*wire.Block
	for _, j := range jobs {
		out = append(out, s.begin(wire.Block{Kind: wire.KindHelper, Role: j.role, Title: j.title}))
	}
	mates := func() {
		s.e.reg.update(func(l *wire.Live) {
			l.Helpers = nil
			for _, b := range out {
				l.Helpers = append(l.Helpers, wire.Mate{ID: b.ID, Role: b.Role, Title: b.Title, State: b.State})
			}
		})
	}
	mates()
	for round := range jobs[0].lines {
		for i, j := range jobs {
			if err := s.speak(out[i].ID, j.lines[round]); err != nil {
				return err
			}
		}
	}
	for _, b := range out {
		s.finish(b, wire.StateDone)
		mates()
	}
	return s.say("Both are back:\n\n- **Scout:** the lantern with glass works.\n- **Scribe:** all three parts are copied.")
}

// busy names the running tool in the registry.
func (s *stage) busy(tool string) {
	s.e.reg.update(func(l *wire.Live) { l.Tool = tool })
}
