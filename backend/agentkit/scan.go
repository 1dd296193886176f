package agentkit

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A transcript is read for a few members of each record, most of which are
// small; decoding whole records would cost a list of sessions most of its time.
// What follows finds the end of a JSON value and checks its structure on the
// way, in one pass, without recursion (a record may be nested twenty thousand
// levels deep) and without allocating. It is laxer than encoding/json inside of
// strings and numbers only.

// member is one member of an object, as it stands in the text: key without its
// quotes, value with everything.
type member struct{ key, value []byte }

// what may come next in an object or an array.
const (
	wantKeyOrEnd = iota
	wantKey
	wantValueOrEnd
	wantValue
	wantComma
)

// scan is where a walk through an object stands.
type scan struct {
	stack []byte // open brackets
	want  int
	// whole is the end of the newest value that is complete, depth how many
	// brackets were open there: what a torn object can be closed after.
	whole int
	depth int
	// text is the beginning of the string that the data ends in, -1 otherwise;
	// key says that it is a name.
	text int
	key  bool
	// member is the newest member of the outermost object.
	member []byte
}

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

// stringEnd is the position after the string that begins at i; -1 when the data
// ends before.
func stringEnd(data []byte, i int) int {
	for at := i + 1; ; {
		k := bytes.IndexByte(data[at:], '"')
		if k < 0 {
			return -1
		}
		at += k
		n := 0
		for at-n > i+1 && data[at-n-1] == '\\' {
			n++
		}
		at++
		if n%2 == 0 {
			return at
		}
	}
}

// literalEnd is the position after a number, true, false or null; -1 for
// anything else.
func literalEnd(data []byte, i int) int {
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(data[i:], []byte(word)) {
			return i + len(word)
		}
	}
	from := i
	for i < len(data) && (data[i] >= '0' && data[i] <= '9' || strings.IndexByte("+-.eE", data[i]) >= 0) {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// walk goes through the object or array that begins at i and returns the
// position after it. -1: the data ends before, or it is no JSON; ended tells
// which. top is called for each member of the outermost object.
func (s *scan) walk(data []byte, i int, top func(key, value []byte)) (end int, ended bool) {
	s.stack, s.text = s.stack[:0], -1
	s.open(data[i])
	i++
	s.whole, s.depth = i, 1
	var key []byte
	var from int // of the value of a member of the outermost object
	for {
		i = space(data, i)
		if i >= len(data) {
			return -1, true
		}
		c := data[i]
		switch s.want {
		case wantKey, wantKeyOrEnd:
			if c == '}' && s.want == wantKeyOrEnd {
				i++
				break
			}
			if c != '"' {
				return -1, false
			}
			k := stringEnd(data, i)
			if k < 0 {
				s.text, s.key = i, true
				return -1, true
			}
			name := data[i+1 : k-1]
			i = space(data, k)
			if i >= len(data) {
				return -1, true
			}
			if data[i] != ':' {
				return -1, false
			}
			i++
			s.want = wantValue
			if len(s.stack) == 1 {
				key, from = name, space(data, i)
				s.member = name
			}
			continue
		case wantValue, wantValueOrEnd:
			switch {
			case c == ']' && s.want == wantValueOrEnd:
				i++
			case c == '"':
				k := stringEnd(data, i)
				if k < 0 {
					s.text, s.key = i, false
					return -1, true
				}
				i = k
				s.end(i, top, key, data, from)
				continue
			case c == '{' || c == '[':
				s.open(c)
				i++
				s.mark(i)
				continue
			default:
				k := literalEnd(data, i)
				if k < 0 {
					return -1, len(data)-i < len("false") // perhaps half of a word
				}
				i = k
				if i == len(data) {
					return -1, true // a number may go on
				}
				s.end(i, top, key, data, from)
				continue
			}
		case wantComma:
			in := s.stack[len(s.stack)-1]
			switch {
			case c == ',' && in == '{':
				i++
				s.want = wantKey
				continue
			case c == ',':
				i++
				s.want = wantValue
				continue
			case c == '}' && in == '{', c == ']' && in == '[':
				i++
			default:
				return -1, false
			}
		}
		// A bracket was closed.
		s.stack = s.stack[:len(s.stack)-1]
		if len(s.stack) == 0 {
			return i, false
		}
		s.end(i, top, key, data, from)
	}
}

func (s *scan) open(c byte) {
	s.stack = append(s.stack, c)
	s.want = wantKeyOrEnd
	if c == '[' {
		s.want = wantValueOrEnd
	}
}

// end notes that a value ended at i.
func (s *scan) end(i int, top func(key, value []byte), key, data []byte, from int) {
	s.want = wantComma
	s.mark(i)
	if len(s.stack) == 1 && s.stack[0] == '{' && top != nil {
		top(key, data[from:i])
	}
}

func (s *scan) mark(i int) { s.whole, s.depth = i, len(s.stack) }

// Elements calls yield with each value of a JSON array as it stands in the text,
// until yield returns false. It reports whether data is a whole array.
func Elements(data []byte, yield func(value []byte) bool) bool {
	i := space(data, 0)
	if i >= len(data) || data[i] != '[' {
		return false
	}
	if i = space(data, i+1); i < len(data) && data[i] == ']' {
		return space(data, i+1) == len(data)
	}
	for i < len(data) {
		k := valueEnd(data, i)
		if k < 0 {
			return false
		}
		more := yield(data[i:k])
		if i = space(data, k); i >= len(data) {
			return false
		}
		switch {
		case data[i] == ']':
			return space(data, i+1) == len(data)
		case data[i] != ',':
			return false
		case !more:
			return true
		}
		i = space(data, i+1)
	}
	return false
}

func valueEnd(data []byte, i int) int {
	switch c := data[i]; {
	case c == '"':
		return stringEnd(data, i)
	case c == '{' || c == '[':
		var s scan
		var few [16]byte
		s.stack = few[:0]
		k, _ := s.walk(data, i, nil)
		return k
	}
	return literalEnd(data, i)
}

// Members calls yield with each member of a JSON object as it stands in the text
// (a name without its quotes, escapes not undone). It reports whether data is a
// whole object; when it is not, some members may have been given out.
func Members(data []byte, yield func(key, value []byte)) bool {
	i := space(data, 0)
	if i >= len(data) || data[i] != '{' {
		return false
	}
	var s scan
	var few [32]byte
	s.stack = few[:0]
	end, _ := s.walk(data, i, yield)
	return end > 0 && space(data, end) == len(data)
}

// Text decodes a JSON string; "" for anything else. Lone surrogates and bytes
// that are no UTF-8 become U+FFFD.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return ""
	}
	plain := value[1 : len(value)-1]
	if bytes.IndexByte(plain, '\\') < 0 {
		return strings.ToValidUTF8(string(plain), "\uFFFD")
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// Is compares a JSON string with a text that needs no escapes.
func Is(value []byte, text string) bool {
	return len(value) == len(text)+2 && value[0] == '"' && string(value[1:len(value)-1]) == text
}
