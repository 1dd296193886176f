package program

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// keyKind says what a person, or the terminal itself, sent.
type keyKind int

const (
	keyRune keyKind = iota
	keyEnter
	keyBackspace
	keyEscape
	keyInterrupt // Ctrl-C
	keyEnd       // Ctrl-D
	keyClearLine // Ctrl-U
	keyClearWord // Ctrl-W
	keyRedraw    // Ctrl-L
	keyOSC       // an answer of the terminal: text holds its body
	keyIgnored
)

type key struct {
	kind keyKind
	r    rune
	text string
}

// keyReader turns the bytes of a terminal into keys, however they are cut. A
// lone escape at the end stays pending until flush says that nothing follows.
type keyReader struct {
	buf   []byte
	paste bool
}

// maxSequence bounds an answer of the terminal; a longer one is dropped.
const maxSequence = 4096

func (k *keyReader) feed(p []byte) (keys []key) {
	k.buf = append(k.buf, p...)
	for len(k.buf) > 0 {
		got, n := k.next()
		if n == 0 {
			if len(k.buf) > maxSequence {
				k.buf = nil
			}
			return keys
		}
		k.buf = k.buf[n:]
		if got.kind != keyIgnored {
			keys = append(keys, got)
		}
	}
	return keys
}

// pending reports a lone escape that may be a key or the start of a sequence.
func (k *keyReader) pending() bool { return len(k.buf) == 1 && k.buf[0] == 0x1b }

func (k *keyReader) flush() []key {
	if !k.pending() {
		return nil
	}
	k.buf = nil
	return []key{{kind: keyEscape}}
}

// next takes one key; n is 0 when more bytes are needed.
func (k *keyReader) next() (key, int) {
	c := k.buf[0]
	if c == 0x1b {
		return k.sequence()
	}
	switch {
	case k.paste && (c == '\r' || c == '\n' || c == '\t'):
		return key{kind: keyRune, r: ' '}, 1
	case c == '\r' || c == '\n':
		return key{kind: keyEnter}, 1
	case c == 0x7f || c == 8:
		return key{kind: keyBackspace}, 1
	case c == 3:
		return key{kind: keyInterrupt}, 1
	case c == 4:
		return key{kind: keyEnd}, 1
	case c == 12:
		return key{kind: keyRedraw}, 1
	case c == 21:
		return key{kind: keyClearLine}, 1
	case c == 23:
		return key{kind: keyClearWord}, 1
	case c < 0x20:
		return key{kind: keyIgnored}, 1
	}
	if !utf8.FullRune(k.buf) {
		return key{}, 0
	}
	r, n := utf8.DecodeRune(k.buf)
	return key{kind: keyRune, r: r}, n
}

func (k *keyReader) sequence() (key, int) {
	if len(k.buf) < 2 {
		return key{}, 0
	}
	switch k.buf[1] {
	case '[':
		for i := 2; i < len(k.buf); i++ {
			if c := k.buf[i]; c >= 0x40 && c <= 0x7e {
				switch string(k.buf[2 : i+1]) {
				case "200~":
					k.paste = true
				case "201~":
					k.paste = false
				}
				return key{kind: keyIgnored}, i + 1
			}
		}
		return key{}, 0
	case ']', 'P', '_', '^', 'X':
		end, n := bytes.IndexByte(k.buf, 7), 1
		if st := bytes.Index(k.buf[2:], []byte("\x1b\\")); st >= 0 && (end < 0 || st+2 < end) {
			end, n = st+2, 2
		}
		if end < 0 {
			return key{}, 0
		}
		if k.buf[1] != ']' {
			return key{kind: keyIgnored}, end + n
		}
		return key{kind: keyOSC, text: string(k.buf[2:end])}, end + n
	case 'O':
		if len(k.buf) < 3 {
			return key{}, 0
		}
		return key{kind: keyIgnored}, 3
	case 0x1b:
		return key{kind: keyEscape}, 1
	}
	return key{kind: keyIgnored}, 2 // Alt and a key
}

// line is the text being typed.
type line struct{ text []rune }

func (l *line) key(k key) (entered bool) {
	switch k.kind {
	case keyRune:
		l.text = append(l.text, k.r)
	case keyBackspace:
		if n := len(l.text); n > 0 {
			l.text = l.text[:n-1]
		}
	case keyClearLine:
		l.text = nil
	case keyClearWord:
		s := strings.TrimRight(string(l.text), " ")
		l.text = []rune(s[:strings.LastIndexByte(s, ' ')+1])
	case keyEnter:
		return true
	}
	return false
}

func (l *line) take() string {
	s := strings.TrimSpace(string(l.text))
	l.text = nil
	return s
}
