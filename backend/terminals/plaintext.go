package terminals

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain makes text that a program sent fit to be shown in one line of ours:
// without control characters (C0, C1), without the characters that reorder or
// hide text (bidi controls, zero-width, other format characters), valid
// UTF-8, blanks joined, at most limit characters.
func Plain(s string, limit int) string {
	var b strings.Builder
	n, blank := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			blank = n > 0
			continue
		}
		// U+200D joins emoji and is the one format character that is kept.
		if r == utf8.RuneError || unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) && r != '\u200d' ||
			unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			continue
		}
		if blank {
			b.WriteByte(' ')
			n++
			blank = false
		}
		if n >= limit {
			break
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}
