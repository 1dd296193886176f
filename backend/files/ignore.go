package files

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// maxIgnore bounds one .gitignore.
const maxIgnore = 1 << 20

// pattern is one line of a .gitignore.
type pattern struct {
	re      *regexp.Regexp
	name    bool // matches the name alone, at any depth
	dirOnly bool
	negated bool
}

// ignore is the chain of .gitignore files that count in a folder; the deepest one
// decides first.
type ignore struct {
	up       *ignore
	dir      string // where the file lies, relative to the walk's top, with a slash at the end or ""
	patterns []pattern
}

// below adds the .gitignore of a folder, if it has one.
func (g *ignore) below(top, dir string) *ignore {
	patterns := readIgnore(filepath.Join(top, filepath.FromSlash(dir), ".gitignore"))
	if len(patterns) == 0 {
		return g
	}
	return &ignore{up: g, dir: dir, patterns: patterns}
}

// ignored tells whether a path (relative to the walk's top, with slashes) is left
// out. The folders above it are not.
func (g *ignore) ignored(path string, isDir bool) bool {
	for ; g != nil; g = g.up {
		rel, ok := strings.CutPrefix(path, g.dir)
		if !ok {
			continue
		}
		name := rel[strings.LastIndexByte(rel, '/')+1:]
		for i := len(g.patterns) - 1; i >= 0; i-- {
			p := g.patterns[i]
			if p.dirOnly && !isDir {
				continue
			}
			subject := rel
			if p.name {
				subject = name
			}
			if p.re.MatchString(octets(subject)) {
				return !p.negated
			}
		}
	}
	return false
}

func readIgnore(path string) []pattern {
	// A pipe of this name must not block.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err != nil {
		return nil
	}
	return parseIgnore(strings.TrimPrefix(string(data), "\uFEFF"))
}

func parseIgnore(text string) []pattern {
	var list []pattern
	for _, line := range strings.Split(text, "\n") {
		if p, ok := parsePattern(line); ok {
			list = append(list, p)
		}
	}
	return list
}

func parsePattern(line string) (p pattern, ok bool) {
	line = trimSpaces(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return p, false
	}
	if line[0] == '!' {
		p.negated = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirOnly = true
		line = strings.TrimSuffix(line, "/")
	}
	if line == "" {
		return p, false
	}
	p.name = !strings.Contains(line, "/")
	re, err := regexp.Compile(translate(octets(strings.TrimPrefix(line, "/"))))
	p.re = re
	return p, err == nil
}

// trimSpaces cuts spaces off the end that no backslash keeps.
func trimSpaces(s string) string {
	for strings.HasSuffix(s, " ") {
		slashes := 0
		for i := len(s) - 2; i >= 0 && s[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

// octets makes a character of each byte: git's patterns are of bytes, and one that
// stands for a character does not match one of two bytes.
func octets(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			r := make([]rune, len(s))
			for i := range len(s) {
				r[i] = rune(s[i])
			}
			return string(r)
		}
	}
	return s
}

// translate makes a regular expression of a pattern; what never matches becomes
// one that never matches.
func translate(glob string) string {
	const nothing = `[^\x00-\x{10FFFF}]`
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i := 0; i < len(glob); {
		switch c := glob[i]; c {
		case '*':
			n := 1
			for i+n < len(glob) && glob[i+n] == '*' {
				n++
			}
			begins := i == 0 || glob[i-1] == '/'
			rest := glob[i+n:]
			switch {
			case n == 2 && begins && strings.HasPrefix(rest, "/"):
				b.WriteString(`(?:.*/)?`)
				i += n + 1
			case n == 2 && begins && rest == "":
				b.WriteString(`.+`)
				i += n
			default:
				b.WriteString(`[^/]*`)
				i += n
			}
		case '?':
			b.WriteString(`[^/]`)
			i++
		case '[':
			class, next, ok := translateClass(glob, i)
			if !ok {
				return nothing
			}
			b.WriteString(class)
			i = next
		case '\\':
			if i+1 >= len(glob) {
				return nothing
			}
			i++
			fallthrough
		default:
			n := 1
			for i+n < len(glob) && glob[i+n]&0xC0 == 0x80 {
				n++
			}
			b.WriteString(regexp.QuoteMeta(glob[i : i+n]))
			i += n
		}
	}
	b.WriteByte('$')
	return b.String()
}

// translateClass makes a class of the one that begins at from; no class matches a
// slash.
func translateClass(glob string, from int) (class string, next int, ok bool) {
	i := from + 1
	negated := false
	if i < len(glob) && (glob[i] == '!' || glob[i] == '^') {
		negated = true
		i++
	}
	var b strings.Builder
	for first := true; ; first = false {
		switch {
		case i >= len(glob):
			return "", 0, false
		case glob[i] == ']' && !first:
			set := b.String()
			if set == "" {
				return "", 0, false
			}
			if negated {
				return `[^/` + set + `]`, i + 1, true
			}
			return `[` + set + `]`, i + 1, true
		case glob[i] == '[' && i+1 < len(glob) && glob[i+1] == ':':
			end := strings.Index(glob[i:], ":]")
			if end < 0 {
				return "", 0, false
			}
			b.WriteString(glob[i : i+end+2])
			i += end + 2
		default:
			lo, n := classRune(glob, i)
			if n == 0 {
				return "", 0, false
			}
			i += n
			if i+1 < len(glob) && glob[i] == '-' && glob[i+1] != ']' {
				hi, m := classRune(glob, i+1)
				if m == 0 {
					return "", 0, false
				}
				i += 1 + m
				if hi >= lo {
					b.WriteString(quoteRune(lo) + "-" + quoteRune(hi))
				}
				continue
			}
			if lo != '/' {
				b.WriteString(quoteRune(lo))
			}
		}
	}
}

func classRune(glob string, i int) (r rune, n int) {
	if glob[i] == '\\' {
		if i+1 >= len(glob) {
			return 0, 0
		}
		r, n = firstRune(glob[i+1:])
		return r, n + 1
	}
	return firstRune(glob[i:])
}

func firstRune(s string) (rune, int) {
	for i, r := range s {
		_ = i
		return r, len(string(r))
	}
	return 0, 0
}

func quoteRune(r rune) string {
	if r < 0x80 && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z') {
		return `\` + `x` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15])
	}
	return string(r)
}
