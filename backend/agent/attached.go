package agent

import (
	"fmt"
	"strconv"
	"strings"
)

// What an agent does not take as an attachment is told in the text of the prompt,
// after what the person wrote: a file by its path, a text whole. The form is read
// back where the agent repeats or stores the prompt, so that a row shows the
// person's words and their attachments wherever it comes from.

const (
	attachedFile = "<attached-file name="
	attachedText = "<attached-text name="
	endFile      = " />"
	endText      = "</attached-text>"
)

// AttachedFile is the text that stands for a file which the agent reads by itself.
func AttachedFile(a Attachment) string {
	return attachedFile + strconv.Quote(a.Name) + " path=" + strconv.Quote(a.Path) + endFile
}

// AttachedText is the text that stands for an attached text.
func AttachedText(a Attachment, text string) string {
	return fmt.Sprintf("%s%s bytes=%q>\n%s\n%s", attachedText, strconv.Quote(a.Name), strconv.Itoa(len(text)), text, endText)
}

// JoinAttached puts the parts behind what a person wrote.
func JoinAttached(text string, parts []string) string {
	if len(parts) == 0 {
		return text
	}
	joined := strings.Join(parts, "\n\n")
	if text == "" {
		return joined
	}
	return text + "\n\n" + joined
}

// SplitAttached undoes JoinAttached. A text that has no such end is returned as
// it is. The attachments have a name, and a path where they are files.
func SplitAttached(text string) (said string, list []Attachment) {
	for from := 0; ; {
		i := strings.Index(text[from:], "<attached-")
		if i < 0 {
			return text, nil
		}
		at := from + i
		if at == 0 || strings.HasSuffix(text[:at], "\n\n") {
			if list := parseAttached(text[at:]); list != nil {
				return strings.TrimSuffix(text[:at], "\n\n"), list
			}
		}
		from = at + 1
	}
}

// parseAttached reads parts up to the end of text; nil when anything else stands
// there.
func parseAttached(text string) []Attachment {
	var list []Attachment
	for {
		var a Attachment
		var ok bool
		switch {
		case strings.HasPrefix(text, attachedFile):
			a.Kind = "file"
			if a.Name, text, ok = quoted(text[len(attachedFile):], " path="); !ok {
				return nil
			}
			if a.Path, text, ok = quoted(text, endFile); !ok {
				return nil
			}
		case strings.HasPrefix(text, attachedText):
			a.Kind = "text"
			var size string
			if a.Name, text, ok = quoted(text[len(attachedText):], " bytes="); !ok {
				return nil
			}
			if size, text, ok = quoted(text, ">\n"); !ok {
				return nil
			}
			n, err := strconv.Atoi(size)
			if err != nil || n < 0 || n > len(text) {
				return nil
			}
			a.Size = int64(n)
			if text, ok = strings.CutPrefix(text[n:], "\n"+endText); !ok {
				return nil
			}
		default:
			return nil
		}
		list = append(list, a)
		if strings.TrimRight(text, "\r\n ") == "" {
			return list
		}
		if text, ok = strings.CutPrefix(text, "\n\n"); !ok {
			return nil
		}
	}
}

func quoted(s, then string) (value, rest string, ok bool) {
	q, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", false
	}
	if value, err = strconv.Unquote(q); err != nil {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(s[len(q):], then)
	return value, rest, ok
}
