package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// plain shows a chat as text: the agent's words on out, what it does on err.
type plain struct {
	out, err io.Writer
	asked    func(model.ApprovalCard) // an open card, once each
	seen     map[string]string        // what was said of a row or card
	open     string                   // the text row whose line is not ended
	user     bool                     // show what the person wrote, too
}

func newPlain(out, err io.Writer, asked func(model.ApprovalCard)) *plain {
	return &plain{out: safely{out}, err: safely{err}, asked: asked, seen: map[string]string{}}
}

func (p *plain) endLine() {
	if p.open != "" {
		fmt.Fprintln(p.out)
		p.open = ""
	}
}

func (p *plain) text(r model.Row, more string) {
	switch {
	case r.Type == agent.ItemText && r.ParentID == "":
		if p.open != r.ID {
			p.endLine()
			p.open = r.ID
		}
		fmt.Fprint(p.out, more)
	case r.Type == agent.ItemUser && p.user:
		p.endLine()
		fmt.Fprintf(p.out, "> %s\n", strings.ReplaceAll(more, "\n", "\n> "))
	}
}

func (p *plain) row(r model.Row) {
	var say string
	switch r.Type {
	case agent.ItemTool, agent.ItemSubagent:
		say = string(r.State) + " " + orElse(r.Title, r.Name)
	case agent.ItemError:
		say = "error " + r.Text
	case agent.ItemNotice:
		say = "note " + r.Text
	default:
		return
	}
	if p.seen[r.ID] == say {
		return
	}
	p.seen[r.ID] = say
	p.endLine()
	fmt.Fprintln(p.err, "  · "+say)
}

func (p *plain) card(c model.ApprovalCard) {
	key := fmt.Sprintf("%s/%d", c.ID, c.Revision)
	if p.seen[key] == string(c.State) {
		return
	}
	p.seen[key] = string(c.State)
	if c.State != model.CardOpen {
		return
	}
	p.endLine()
	p.asked(c)
}

func (p *plain) notice(n agent.Notice) {
	p.endLine()
	fmt.Fprintln(p.err, "  · "+n.Text)
}

// Shapes of the lines of `run --json`, `send --json` and `attach --json`.
type (
	chatLine struct {
		Type    string `json:"type"` // chat
		ChatID  string `json:"chatId"`
		Harness string `json:"harness"`
	}
	textLine struct {
		Type string `json:"type"` // text
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	rowLine struct {
		Type string    `json:"type"` // row
		Row  model.Row `json:"row"`
	}
	approvalLine struct {
		Type     string             `json:"type"` // approval
		Approval model.ApprovalCard `json:"approval"`
	}
	noticeLine struct {
		Type   string       `json:"type"` // notice
		Notice agent.Notice `json:"notice"`
	}
	endLine struct {
		Type string `json:"type"` // end
		agent.TurnEnd
	}
)

// lines shows a chat as one JSON object a line: text as it comes, a row when it
// can change no more.
type lines struct {
	out  io.Writer
	told map[string]bool
}

func newLines(out io.Writer) *lines { return &lines{out: out, told: map[string]bool{}} }

func (l *lines) print(v any) {
	b, err := json.Marshal(v)
	if err == nil {
		_, _ = l.out.Write(append(b, '\n'))
	}
}

func (l *lines) text(r model.Row, more string) {
	if r.Type == agent.ItemText {
		l.print(textLine{"text", r.ID, more})
	}
}

func (l *lines) row(r model.Row) {
	if r.Open() || r.Provisional || r.Hidden() || l.told[r.ID] {
		return
	}
	l.told[r.ID] = true
	l.print(rowLine{"row", r})
}

func (l *lines) card(c model.ApprovalCard) { l.print(approvalLine{"approval", c}) }
func (l *lines) notice(n agent.Notice)     { l.print(noticeLine{"notice", n}) }
func (l *lines) begin(c model.ChatSummary) { l.print(chatLine{"chat", c.ID, c.Harness}) }
func (l *lines) ended(end agent.TurnEnd)   { l.print(endLine{"end", end}) }
