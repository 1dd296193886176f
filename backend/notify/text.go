package notify

import (
	"fmt"
	"strings"
	"unicode"
)

// longest is how much of a line is shown.
const longest = 160

// single is the note of one agent.
func (s Settings) single(x Subject) Note {
	n := Note{Open: x.ID, Urgent: x.Kind == Waiting, Sound: s.Sound, Body: plain(x.Project)}
	switch x.Kind {
	case Waiting:
		n.Title = plain(x.Agent) + " waits for you"
	case Failed:
		n.Title = plain(x.Agent) + " failed"
	default:
		n.Title = plain(x.Agent) + " is done"
	}
	if n.Body == "" {
		n.Body = "No folder"
	}
	if s.Text {
		lines := []string{}
		for _, l := range []string{x.Title, x.Detail} {
			if l = plain(l); l != "" {
				lines = append(lines, l)
			}
		}
		if len(lines) > 0 {
			n.Body = strings.Join(lines, "\n")
		}
	}
	return n
}

// together is the note that stands for several agents.
func (s Settings) together(list []*entry) Note {
	count := map[Kind]int{}
	var projects []string
	known := map[string]bool{}
	for _, e := range list {
		count[e.Kind]++
		if p := plain(e.Project); p != "" && !known[p] {
			known[p] = true
			projects = append(projects, p)
		}
	}
	var parts []string
	for _, k := range []struct {
		kind      Kind
		one, more string
	}{{Waiting, "1 waits for you", "%d wait for you"}, {Failed, "1 failed", "%d failed"}, {Finished, "1 is done", "%d are done"}} {
		switch n := count[k.kind]; {
		case n == 1:
			parts = append(parts, k.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf(k.more, n))
		}
	}
	body := strings.Join(projects[:min(3, len(projects))], ", ")
	if more := len(projects) - 3; more > 0 {
		body += fmt.Sprintf(" and %d more", more)
	}
	return Note{Title: fmt.Sprintf("%d agents: %s", len(list), strings.Join(parts, ", ")), Body: body,
		Open: NeedsYou, Urgent: count[Waiting] > 0, Sound: s.Sound}
}

// plain makes one line without control characters and bidi overrides of words
// that come from sessions (case X03).
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest-1]) + "…"
	}
	return s
}
