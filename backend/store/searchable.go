package store

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// indexedPart is how much of one output, diff, file or input can be found, in
// bytes; of what people and agents say it is what a row shows (64 KiB).
const indexedPart = 4 << 10

// searchable is the text by which an item is found: what was said, what a tool
// was asked for and the beginning of what it gave. "" is never found. The index
// and the look at what it returns must use the same text.
func searchable(it *agent.Item) string {
	var b strings.Builder
	add := func(s string, most int) {
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(wholeRunes(s[:min(len(s), most)]))
	}
	switch it.Type {
	case agent.ItemUser, agent.ItemText, agent.ItemReasoning, agent.ItemError:
		add(it.Text, shown)
	case agent.ItemPlan:
		for _, e := range it.Entries {
			add(e.Text, indexedPart)
		}
	case agent.ItemSubagent:
		add(it.AgentType, indexedPart)
		add(it.Title, indexedPart)
	case agent.ItemTool:
		add(it.Name, indexedPart)
		add(it.Title, indexedPart)
		for _, s := range asked(it.Detail) {
			add(s, indexedPart)
		}
		add(it.Output, indexedPart)
	}
	for _, a := range it.Attachments {
		add(a.Name, indexedPart)
	}
	return plain(b.String())
}

// asked lists what a tool call was asked for.
func asked(d *agent.Detail) []string {
	switch {
	case d == nil:
	case d.Execute != nil:
		return []string{d.Execute.Command}
	case d.Edit != nil:
		return []string{d.Edit.Path, d.Edit.Diff, d.Edit.Old, d.Edit.New}
	case d.Write != nil:
		return []string{d.Write.Path, d.Write.Content}
	case d.Read != nil:
		return []string{d.Read.Path}
	case d.Search != nil:
		return []string{d.Search.Query, d.Search.Scope}
	case d.Fetch != nil:
		return []string{d.Fetch.URL}
	case d.Task != nil:
		return []string{d.Task.Agent, d.Task.Prompt}
	case d.MCP != nil:
		return []string{d.MCP.Server, d.MCP.Tool, string(d.MCP.Input)}
	case d.Question != nil:
		var list []string
		for _, q := range d.Question.Questions {
			list = append(list, q.Header, q.Text, d.Question.Answers[q.ID])
		}
		return list
	case d.Unknown != nil:
		return []string{string(d.Unknown.Input), string(d.Unknown.Output)}
	}
	return nil
}

// plain makes the text valid and free of NUL, at which the index would stop.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", " ")
	}
	return s
}

// folded is the text without the difference of upper and lower case, one
// character for each one of s.
func folded(s string) string { return strings.Map(fold, s) }

func fold(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	case r == 'ς':
		return 'σ'
	}
	return unicode.ToLower(r)
}
