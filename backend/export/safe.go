package export

import (
	"regexp"
	"strings"
	"unicode"
)

// Nothing that an agent or a file says may change what stands around it in a
// Markdown document: a fence is longer than every run of its character inside, a
// fence that is left open is closed, HTML is shown and not taken, an image is a
// link, and control characters are pictures of themselves.

// fenced puts text into a code block.
func fenced(language, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	text = visible(text)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + language + "\n" + text + fence + "\n"
}

// code puts one line into a code span.
func code(text string) string {
	text = oneLine(text)
	if text == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

var special = regexp.MustCompile("[\\\\`*_\\[\\]<>#|~!&$]")

// words puts one line into running text, without a meaning of its characters.
func words(text string) string { return special.ReplaceAllString(oneLine(text), `\$0`) }

func oneLine(s string) string { return strings.Join(strings.Fields(visible(s)), " ") }

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] == c {
			run++
			longest = max(longest, run)
			continue
		}
		run = 0
	}
	return longest
}

// visible shows control characters instead of sending them to somebody's
// terminal, and what turns the direction of a text by its number.
func visible(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		default:
			b.WriteString("\u27E8U+" + strings.ToUpper(hex(r)) + "\u27E9")
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || r == 0x061c || r == 0x200e || r == 0x200f ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func hex(r rune) string {
	const digits = "0123456789abcdef"
	out := ""
	for ; r > 0; r >>= 4 {
		out = string(digits[r&15]) + out
	}
	return out
}

var (
	opens = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})([^\n]*)$")
	tag   = regexp.MustCompile(`<([A-Za-z/!?])`)
	image = regexp.MustCompile(`!\[`)
)

// prose keeps Markdown that somebody wrote as Markdown, within its bounds.
func prose(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(visible(text)) {
		line = strings.TrimSuffix(line, "\n")
		m := opens.FindStringSubmatch(line)
		switch {
		case fence == "" && m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
			fence = m[1]
		case fence != "":
			if m != nil && strings.TrimSpace(m[2]) == "" && m[1][0] == fence[0] && len(m[1]) >= len(fence) {
				fence = ""
			}
		default:
			line = tame(line)
		}
		b.WriteString(line + "\n")
	}
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	return b.String()
}

// tame takes HTML and images out of a line; code spans stay as they are.
func tame(line string) string {
	var b strings.Builder
	for line != "" {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			break
		}
		n := 1
		for i+n < len(line) && line[i+n] == '`' {
			n++
		}
		b.WriteString(plain(line[:i]))
		line = line[i:]
		end := closing(line[n:], n)
		if end < 0 {
			b.WriteString(line[:n])
			line = line[n:]
			continue
		}
		b.WriteString(line[:n+end+n])
		line = line[n+end+n:]
	}
	return b.String() + plain(line)
}

func plain(s string) string {
	return image.ReplaceAllString(tag.ReplaceAllString(s, `\<$1`), `\![`)
}

// closing finds a run of exactly n backticks.
func closing(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := 1
		for i+run < len(s) && s[i+run] == '`' {
			run++
		}
		if run == n {
			return i
		}
		i += run
	}
	return -1
}

// quoted puts every line into a quotation, whose end ends whatever began in it.
func quoted(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight("> "+strings.TrimSuffix(line, "\n"), " ") + "\n")
	}
	return b.String()
}
