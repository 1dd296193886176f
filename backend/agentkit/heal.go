package agentkit

import (
	"bytes"
	"unicode/utf8"
)

// maxTries bounds how many places of a torn line are tried.
const maxTries = 64

// heal makes a whole object of a record of which only the beginning and the last
// bytes were kept: what is open is closed where the beginning was cut, and the
// members of the object that stand behind the cut are put after it. What was in
// between is missing; cut names the member that it began in. nil when the
// beginning is none of an object.
func heal(head, rest []byte) (out []byte, cut string) {
	if len(head) == 0 || head[0] != '{' {
		return nil, ""
	}
	var s scan
	end, ended := s.walk(head, 0, nil)
	if end > 0 || !ended {
		return nil, ""
	}
	if s.text >= 0 && !s.key {
		out = append(bytes.Clone(head[:textCut(head, s.text)]), '"')
	} else {
		out = bytes.Clone(head[:s.whole])
	}
	for i := len(s.stack) - 1; i >= 0; i-- {
		if s.stack[i] == '{' {
			out = append(out, '}')
		} else {
			out = append(out, ']')
		}
	}
	if more := behind(rest); more != nil {
		out = out[:len(out)-1]
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(out, more[1:]...)
	}
	return out, string(s.member)
}

// textCut is where the string that begins at i can be cut: not within an escape,
// a pair of surrogates or a character.
func textCut(data []byte, i int) int {
	at := i + 1
	for at < len(data) {
		n := 1
		switch c := data[at]; {
		case c == '\\' && at+1 < len(data) && data[at+1] == 'u':
			n = 6
			if at+4 <= len(data) && (data[at+2]|0x20) == 'd' && (data[at+3]|0x20) >= '8' && (data[at+3]|0x20) <= 'b' {
				n = 12
			}
		case c == '\\':
			n = 2
		case c >= utf8.RuneSelf:
			_, n = utf8.DecodeRune(data[at:])
			if !utf8.FullRune(data[at:]) {
				return at
			}
		}
		if at+n > len(data) {
			return at
		}
		at += n
	}
	return at
}

// behind returns an object of the members that end a line: the longest one that
// can be made of it. nil when there is none.
func behind(rest []byte) []byte {
	rest = bytes.TrimSpace(rest)
	for at, n := 0, 0; n < maxTries; n++ {
		k := bytes.Index(rest[at:], []byte(`,"`))
		if k < 0 {
			return nil
		}
		at += k
		try := append([]byte{'{'}, rest[at+1:]...)
		if wholeObject(try) == len(try) {
			return try
		}
		at++
	}
	return nil
}

// wholeObject is the position after the object that data begins with; -1 when
// there is none.
func wholeObject(data []byte) int {
	if len(data) == 0 || data[0] != '{' {
		return -1
	}
	var s scan
	var few [32]byte
	s.stack = few[:0]
	end, _ := s.walk(data, 0, nil)
	return end
}

// glued looks behind a torn record for a whole one that was written after it on
// the same line, up to the line's end. It must have a member "type" with a text.
func glued(data []byte) []byte {
	for at, n := 1, 0; n < maxTries && at < len(data); n++ {
		k := bytes.Index(data[at:], []byte(`{"`))
		if k < 0 {
			return nil
		}
		at += k
		if end := wholeObject(data[at:]); end > 0 {
			rest := bytes.TrimSpace(data[at+end:])
			if len(rest) == 0 || rest[0] == '{' {
				typed := false
				Members(data[at:at+end], func(key, value []byte) {
					typed = typed || string(key) == "type" && len(value) > 2 && value[0] == '"'
				})
				if typed {
					return data[at:]
				}
			}
		}
		at++
	}
	return nil
}

// deepest is how many levels of a record are kept when its decoder refuses it.
const deepest = 512

// pruned replaces what stands deeper than [deepest] levels by null; nil when
// nothing does.
func pruned(data []byte) []byte {
	var out []byte
	depth, from := 0, 0
	for i := 0; i < len(data); {
		switch data[i] {
		case '"':
			k := stringEnd(data, i)
			if k < 0 {
				return nil
			}
			i = k
			continue
		case '{', '[':
			if depth++; depth == deepest+1 {
				out = append(out, data[from:i]...)
			}
		case '}', ']':
			if depth--; depth == deepest {
				out = append(out, "null"...)
				from = i + 1
			}
		}
		i++
	}
	if from == 0 {
		return nil
	}
	return append(out, data[from:]...)
}
