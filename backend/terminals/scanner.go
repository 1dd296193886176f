package terminals

import "unicode/utf8"

// Bounds of one escape sequence. A longer string (an image, a flood) is
// dropped up to its end, a longer control sequence as well.
const (
	maxString  = 64 << 10
	maxControl = 512
)

// token is one thing in a program's output: a run of text (with ordinary
// control characters) or one whole escape sequence.
type token struct {
	kind  byte   // 't' text, 'e' ESC x, '[' CSI, ']' OSC, 'P' DCS, '_' APC, '^' PM, 'X' SOS, or a lone control: BEL, ENQ
	raw   []byte // as it is to be relayed, in 7-bit form
	priv  byte   // CSI: one of < = > ?, or 0
	par   []byte // CSI: parameters; strings: the data
	inter []byte // CSI and ESC: intermediates
	final byte
	bel   bool // strings: ended by BEL
}

type scanState byte

const (
	atGround scanState = iota
	atLead             // 0xC2 seen: the next byte may make it a C1 control
	atEscape
	atControl     // in CSI
	atControlSkip // in a CSI that is too long or broken
	atString
	atStringEscape
	atStringLead // 0xC2 in a string: the next byte may make it ST
)

// scanner cuts output into tokens. The cuts do not depend on how the bytes
// were split over calls. An unfinished sequence or character is held, however
// long its rest takes: on a screen it would show nothing either.
type scanner struct {
	state scanState
	held  []byte
	kind  byte // of the string
	skip  bool // the string is too long
	runes []byte
}

// feed calls emit for each token that p completes. The slices of a token are
// valid during the call only.
func (s *scanner) feed(p []byte, emit func(token)) {
	start := 0 // of the current run of text in p
	text := func(end int) {
		if len(s.runes) > 0 && end > start {
			s.runes = append(s.runes, p[start:end]...)
			emit(token{kind: 't', raw: s.runes})
			s.runes = s.runes[:0]
		} else if end > start {
			emit(token{kind: 't', raw: p[start:end]})
		} else if len(s.runes) > 0 {
			emit(token{kind: 't', raw: s.runes})
			s.runes = s.runes[:0]
		}
	}
	for i := 0; i < len(p); i++ {
		b := p[i]
		switch s.state {
		case atGround:
			switch {
			case b == 0x1b:
				text(i)
				s.begin()
			case b == 0x07 || b == 0x05:
				text(i)
				emit(token{kind: b})
				start = i + 1
			case b == 0xc2:
				text(i)
				s.state = atLead
			}
		case atLead:
			if b >= 0x80 && b < 0xa0 {
				s.begin()
				s.escape(b-0x40, emit)
				start = i + 1
				break
			}
			s.state = atGround
			start = i
			s.runes = append(s.runes[:0], 0xc2)
			if b < 0x80 || b >= 0xc0 { // not its second byte
				text(i)
				i--
				start = i + 1
			}
		case atEscape:
			s.escape(b, emit)
			start = i + 1
		case atControl, atControlSkip:
			s.control(b, emit)
			start = i + 1
		case atString, atStringEscape, atStringLead:
			if !s.str(b, emit) {
				i--
			}
			start = i + 1
		}
	}
	if s.state != atGround {
		return
	}
	rest := p[start:]
	if len(s.runes) > 0 {
		s.runes = append(s.runes, rest...)
		rest = s.runes
	}
	n := wholeRunes(rest)
	if n > 0 {
		emit(token{kind: 't', raw: rest[:n]})
	}
	s.runes = append(s.runes[:0], rest[n:]...)
}

// wholeRunes is the length of b without a character that is not whole yet.
func wholeRunes(b []byte) int {
	for k := 1; k <= 3 && k <= len(b); k++ {
		c := b[len(b)-k]
		if c < 0x80 {
			break
		}
		if c >= 0xc0 {
			if !utf8.FullRune(b[len(b)-k:]) {
				return len(b) - k
			}
			break
		}
	}
	return len(b)
}

func (s *scanner) begin() {
	s.state = atEscape
	s.held = append(s.held[:0], 0x1b)
}

// escape takes the bytes after ESC.
func (s *scanner) escape(b byte, emit func(token)) {
	switch {
	case b == 0x1b:
		s.begin()
	case b == 0x18 || b == 0x1a: // CAN, SUB
		s.state = atGround
	case b < 0x20:
		emit(token{kind: 't', raw: []byte{b}})
	case b < 0x30:
		if len(s.held) < 8 {
			s.held = append(s.held, b)
		}
	case len(s.held) == 1 && b == '[':
		s.held = append(s.held, b)
		s.state = atControl
	case len(s.held) == 1 && (b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X'):
		s.held = s.held[:0]
		s.kind, s.skip, s.state = b, false, atString
	case b < 0x7f:
		s.held = append(s.held, b)
		s.state = atGround
		if b != '\\' || len(s.held) > 2 { // a lone ST means nothing
			emit(token{kind: 'e', raw: s.held, inter: s.held[1 : len(s.held)-1], final: b})
		}
	case b == 0x7f:
	default: // no escape sequence has such a byte
		s.state = atGround
	}
}

func (s *scanner) control(b byte, emit func(token)) {
	switch {
	case b == 0x1b:
		s.begin()
	case b == 0x18 || b == 0x1a:
		s.state = atGround
	case b < 0x20: // terminals carry them out in the middle of a sequence
		if b == 0x07 || b == 0x05 {
			emit(token{kind: b})
		} else {
			emit(token{kind: 't', raw: []byte{b}})
		}
	case b < 0x40:
		if s.state == atControl {
			s.held = append(s.held, b)
			if len(s.held) > maxControl {
				s.state = atControlSkip
			}
		}
	case b < 0x7f:
		skip := s.state == atControlSkip
		s.state = atGround
		if skip {
			return
		}
		s.held = append(s.held, b)
		t := token{kind: '[', raw: s.held, final: b}
		body := s.held[2 : len(s.held)-1]
		if len(body) > 0 && body[0] >= '<' && body[0] <= '?' {
			t.priv, body = body[0], body[1:]
		}
		n := 0
		for n < len(body) && body[n] >= 0x30 {
			n++
		}
		t.par, t.inter = body[:n], body[n:]
		for _, c := range t.inter {
			if c >= 0x30 { // a parameter after an intermediate: nobody's sequence
				return
			}
		}
		emit(t)
	case b == 0x7f:
	default:
		s.state = atControlSkip
	}
}

// str takes the bytes of a string sequence. It returns false when b was not
// consumed and is to be looked at again.
func (s *scanner) str(b byte, emit func(token)) bool {
	switch s.state {
	case atStringEscape:
		s.finish(false, emit)
		if b == '\\' {
			return true
		}
		s.begin() // the string ended and another sequence began
		return false
	case atStringLead:
		if b == 0x9c {
			s.finish(false, emit)
			return true
		}
		s.state = atString
		s.keep(0xc2)
		return false
	}
	switch b {
	case 0x1b:
		s.state = atStringEscape
	case 0x18, 0x1a:
		s.state = atGround
	case 0x07:
		if s.kind == ']' {
			s.finish(true, emit)
			return true
		}
		s.keep(b)
	case 0xc2:
		s.state = atStringLead
	default:
		s.keep(b)
	}
	return true
}

func (s *scanner) keep(b byte) {
	if len(s.held) >= maxString {
		s.skip = true
		s.held = s.held[:0]
	}
	if !s.skip {
		s.held = append(s.held, b)
	}
}

func (s *scanner) finish(bel bool, emit func(token)) {
	s.state = atGround
	if s.skip {
		return
	}
	emit(token{kind: s.kind, par: s.held, bel: bel})
	if cap(s.held) > 4096 {
		s.held = nil
	}
}
