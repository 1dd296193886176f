package main

import (
	"io"
	"strings"
	"unicode"
)

// printable is what of a text from agents, files and repositories may reach a
// person's terminal: no control characters (an escape sequence could hide or
// forge what an approval says, set the clipboard, ask the terminal) and no
// characters that turn the direction of what follows. Case X03.
func printable(s string) string {
	if strings.IndexFunc(s, harmful) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if harmful(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

func harmful(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r): // C0, DEL, C1
		return true
	}
	return r == 0x061c || r == 0x200e || r == 0x200f || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}

// safely is a writer for text that people read in a terminal. What is written
// at once must hold whole characters.
type safely struct{ io.Writer }

func (s safely) Write(b []byte) (int, error) {
	if _, err := io.WriteString(s.Writer, printable(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
