package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// markdown writes a document that reads like the window: who spoke, what was
// done with what it gave, who allowed it, how each turn ended.
type markdown struct{}

func stamp(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC")
}

func (markdown) head(d *document) (string, error) {
	r := d.rec
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", cmp.Or(words(r.Title), "Chat"))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, value)
		}
	}
	line("Agent", words(d.agentName())+after(" ", words(r.Agent.Version))+after(", model ", code(r.Model)))
	line("Folder", code(r.Cwd))
	if r.Handle != nil {
		line("Session of the agent", code(r.Handle.NativeID))
	}
	line("Chat", code(r.ID))
	line("Begun", stamp(r.CreatedAt))
	line("Exported", stamp(d.at.UnixMilli())+" by Whippletree "+words(d.e.Version))
	if u := r.Usage; u != nil {
		line("Tokens", fmt.Sprintf("%d in, %d out, %d read from and %d written to the cache", u.Input, u.Output, u.CacheRead, u.CacheWrite))
	}
	return b.String(), nil
}

func after(sign, s string) string {
	if s == "" {
		return ""
	}
	return sign + s
}

func (markdown) row(d *document, row model.Row, _, last bool) (string, error) {
	var b strings.Builder
	b.WriteString(rowText(d, &row))
	for _, c := range d.cardsOf(row, last) {
		b.WriteString("\n" + cardText(&c))
	}
	text := b.String()
	if row.ParentID != "" && text != "" {
		text = "\n" + quoted(strings.TrimPrefix(text, "\n"))
	}
	if end := d.end(row, last); end != nil && end.Outcome != agent.OutcomeCompleted {
		text += fmt.Sprintf("\n**The turn ended: %s.**", end.Outcome)
		if why := cmp.Or(end.Text, end.Reason); why != "" {
			text += " " + words(why)
		}
		text += "\n"
	}
	return text, nil
}

func rowText(d *document, it *model.Row) string {
	var b strings.Builder
	at := after(" · ", stamp(cmp.Or(it.At, it.StartedAt)))
	heading := func(text string) { b.WriteString("\n" + text + at + "\n\n") }
	switch it.Type {
	case agent.ItemUser:
		who := "You"
		if it.Via == "terminal" {
			who = "You, in a terminal"
		}
		heading("## " + who)
		b.WriteString(prose(it.Text))
		b.WriteString(attachments(it.Attachments))
	case agent.ItemText:
		if it.Text == "" {
			return ""
		}
		heading("## " + words(d.agentName()))
		b.WriteString(prose(it.Text))
		if it.Truncated {
			b.WriteString("\n*The agent broke off here.*\n")
		}
	case agent.ItemReasoning:
		if it.Text == "" {
			return ""
		}
		heading("### Thinking")
		b.WriteString(quoted(prose(it.Text)))
	case agent.ItemTool:
		heading("### " + words(cmp.Or(it.Title, it.Name, "Tool")) + " (" + string(it.State) + ")")
		b.WriteString(toolText(&it.Item))
	case agent.ItemPlan:
		heading("### Plan")
		for _, e := range it.Entries {
			mark := map[string]string{"done": "x"}[e.Status]
			fmt.Fprintf(&b, "- [%s] %s", cmp.Or(mark, " "), words(e.Text))
			if e.Status == "active" {
				b.WriteString(" (now)")
			}
			b.WriteString("\n")
		}
	case agent.ItemSubagent:
		heading("### Sub-agent " + words(it.AgentType) + after(": ", words(it.Title)) + " (" + string(it.State) + ")")
	case agent.ItemCompaction:
		if it.Hidden() {
			return ""
		}
		heading("### The conversation was shortened (" + string(it.State) + ")")
		if it.TokensBefore > 0 {
			fmt.Fprintf(&b, "From %d tokens.\n", it.TokensBefore)
		}
		b.WriteString(prose(it.Text))
	case agent.ItemNotice:
		fmt.Fprintf(&b, "\n*%s*\n", words(it.Text))
	case agent.ItemError:
		heading("### Error" + after(": ", words(it.Reason)))
		b.WriteString(prose(it.Text))
	}
	return b.String()
}

func attachments(list []agent.Attachment) string {
	var b strings.Builder
	for i, a := range list {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- Attached %s %s%s", a.Kind, code(cmp.Or(a.Name, a.Path)), after(" ", code(a.Mime)))
		if size := cmp.Or(a.Size, int64(len(a.Bytes))); size > 0 {
			fmt.Fprintf(&b, ", %d bytes", size)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// toolText is what a tool was asked for and what it gave.
func toolText(it *agent.Item) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, value)
		}
	}
	block := func(name, language, text string) {
		if text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		if name != "" {
			b.WriteString(name + ":\n\n")
		}
		b.WriteString(fenced(language, text))
	}
	field("Tool", code(it.Name)+after(" of ", code(it.Server)))
	if it.StartedAt > 0 && it.EndedAt > it.StartedAt {
		field("Took", (time.Duration(it.EndedAt-it.StartedAt) * time.Millisecond).String())
	}
	for _, l := range it.Locations {
		place := l.Path
		if l.Line > 0 {
			place += fmt.Sprintf(":%d", l.Line)
		}
		field("Place", code(place))
	}
	if d := it.Detail; d != nil {
		detailText(d, field, block)
	}
	block("Output", "", it.Output)
	return b.String()
}

func detailText(d *agent.Detail, field func(name, value string), block func(name, language, text string)) {
	count := func(name string, n *int) {
		if n != nil {
			field(name, fmt.Sprint(*n))
		}
	}
	switch {
	case d.Execute != nil:
		field("Folder", code(d.Execute.Cwd))
		count("Exit code", d.Execute.ExitCode)
		if d.Execute.Background {
			field("In the background", "yes")
		}
		block("", "sh", d.Execute.Command)
	case d.Edit != nil:
		field("File", code(d.Edit.Path))
		if d.Edit.Added+d.Edit.Removed > 0 {
			field("Lines", fmt.Sprintf("+%d −%d", d.Edit.Added, d.Edit.Removed))
		}
		block("", "diff", d.Edit.Diff)
		block("Before", language(d.Edit.Path), d.Edit.Old)
		block("After", language(d.Edit.Path), d.Edit.New)
	case d.Write != nil:
		field("File", code(d.Write.Path))
		if d.Write.Created {
			field("New", "yes")
		}
		block("", language(d.Write.Path), d.Write.Content)
	case d.Read != nil:
		field("File", code(d.Read.Path))
		if d.Read.From > 0 {
			field("Lines", fmt.Sprintf("%d to %d", d.Read.From, d.Read.To))
		}
	case d.Search != nil:
		field("Searched for", code(d.Search.Query))
		field("In", code(d.Search.Scope))
		count("Matches", d.Search.Matches)
		count("Files", d.Search.Files)
	case d.Fetch != nil:
		field("Address", code(d.Fetch.URL))
		if d.Fetch.Status > 0 {
			field("Status", fmt.Sprint(d.Fetch.Status))
		}
		if d.Fetch.Bytes > 0 {
			field("Bytes", fmt.Sprint(d.Fetch.Bytes))
		}
	case d.Task != nil:
		field("Agent", code(d.Task.Agent))
		block("Prompt", "", d.Task.Prompt)
	case d.MCP != nil:
		field("Server", code(d.MCP.Server))
		block("Input", "json", pretty(d.MCP.Input))
	case d.Question != nil:
		for _, q := range d.Question.Questions {
			field("Asked", words(q.Text))
			field("Answered", words(d.Question.Answers[q.ID]))
		}
	case d.Unknown != nil:
		block("Input", "json", pretty(d.Unknown.Input))
		block("Result", "json", pretty(d.Unknown.Output))
	}
}

func pretty(raw json.RawMessage) string { return strings.TrimSpace(string(raw)) }

// language names the language of a file by its ending, where the ending is a
// plain word.
func language(path string) string {
	ext := strings.TrimPrefix(filepath.Ext(path), ".")
	for _, r := range ext {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return ""
		}
	}
	return ext
}

// cardText is what was asked for, and who answered.
func cardText(c *model.ApprovalCard) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Asked: %s** (%s)\n", words(c.Title), c.State)
	if c.Description != "" {
		b.WriteString("\n" + prose(c.Description))
	}
	if p := c.Preview; p != nil && c.ItemID == "" {
		if p.Command != "" {
			b.WriteString("\n" + fenced("sh", p.Command))
		}
		if p.Diff != "" {
			b.WriteString("\n" + fenced("diff", p.Diff))
		}
	}
	if c.Plan != nil {
		b.WriteString("\n" + quoted(prose(c.Plan.Text)))
	}
	if m := c.ModeChange; m != nil {
		fmt.Fprintf(&b, "\nMode %s to %s\n", code(m.From), code(m.To))
	}
	b.WriteString("\n")
	for _, o := range c.Options {
		fmt.Fprintf(&b, "- %s%s\n", words(o.Label), chosen(c, o.ID))
	}
	for _, q := range c.Questions {
		fmt.Fprintf(&b, "- %s%s\n", words(q.Text), answered(c, q))
	}
	for _, a := range append(append([]model.RecordedAnswer{}, c.Earlier...), answers(c)...) {
		fmt.Fprintf(&b, "\nAnswered%s by %s%s%s\n", after(" ", code(cmp.Or(a.Label, a.OptionID))), words(a.By), after(", ", words(a.Where)), after(" · ", stamp(a.At)))
		if a.Comment != "" {
			b.WriteString("\n" + quoted(prose(a.Comment)))
		}
	}
	for _, r := range c.Refused {
		fmt.Fprintf(&b, "\nRefused to %s%s%s\n", words(r.Who), after(", ", words(r.Where)), after(" · ", stamp(r.At)))
	}
	return b.String()
}

func answers(c *model.ApprovalCard) []model.RecordedAnswer {
	if c.Answer == nil {
		return nil
	}
	return []model.RecordedAnswer{*c.Answer}
}

func chosen(c *model.ApprovalCard, id string) string {
	if c.Answer != nil && c.Answer.OptionID == id {
		return " (chosen)"
	}
	return ""
}

// answered is the answer to one question in words.
func answered(c *model.ApprovalCard, q agent.Question) string {
	if c.Answer == nil {
		return ""
	}
	a, ok := c.Answer.Answers[q.ID]
	if !ok {
		return ""
	}
	if a.Skipped {
		return ": skipped"
	}
	var list []string
	for _, id := range a.OptionIDs {
		label := id
		for _, o := range q.Options {
			if o.ID == id {
				label = o.Label
			}
		}
		list = append(list, words(label))
	}
	if a.Other != "" {
		list = append(list, words(a.Other))
	}
	return ": " + strings.Join(list, ", ")
}

func (markdown) tail(d *document) (string, error) {
	var b strings.Builder
	for _, c := range d.loose() {
		b.WriteString("\n" + cardText(&c))
	}
	for i, q := range d.queue {
		if i == 0 {
			b.WriteString("\n## Not sent yet\n")
		}
		fmt.Fprintf(&b, "\n%d. (%s)\n\n", i+1, q.State)
		b.WriteString(quoted(prose(q.Text)) + attachments(q.Attachments))
	}
	return b.String(), nil
}
