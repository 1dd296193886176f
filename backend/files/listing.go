package files

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of one listing.
const (
	maxPaths = 300_000
	maxBytes = 48 << 20
)

// listing holds the paths below one folder, files and the folders they lie in
// (with a slash at the end). All paths stand in one string, in lower case in
// another of the same offsets where that has the same length.
type listing struct {
	at      time.Time
	paths   string
	lower   string
	ends    []uint32 // of path i in paths
	lows    []uint32 // of path i in lower
	masks   []uint64 // which letters path i has
	limited bool
	how     string // git or walk
}

func (l *listing) len() int { return len(l.ends) }

func (l *listing) path(i int) string { return cut(l.paths, l.ends, i) }

func (l *listing) low(i int) string { return cut(l.lower, l.lows, i) }

func cut(s string, ends []uint32, i int) string {
	from := uint32(0)
	if i > 0 {
		from = ends[i-1]
	}
	return s[from:ends[i]]
}

// builder collects paths into a listing.
type builder struct {
	paths, lower strings.Builder
	l            listing
	folders      map[string]struct{}
	last         string // the folder of the last path
}

func newBuilder() *builder { return &builder{folders: map[string]struct{}{}} }

// add takes one path with slashes; false when the listing is full.
func (b *builder) add(path string) bool {
	if path == "" || !utf8.ValidString(path) {
		return true // it could not be written into a prompt
	}
	if !b.put(path) {
		return false
	}
	for dir := parent(strings.TrimSuffix(path, "/")); dir != "" && dir != b.last; dir = parent(strings.TrimSuffix(dir, "/")) {
		if _, ok := b.folders[dir]; ok {
			break
		}
		b.folders[dir] = struct{}{}
		if !b.put(dir) {
			return false
		}
	}
	b.last = parent(path)
	return true
}

// parent is the folder of a path with its slash; "" at the top.
func parent(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

func (b *builder) put(path string) bool {
	if len(b.l.ends) >= maxPaths || b.paths.Len()+len(path) > maxBytes {
		b.l.limited = true
		return false
	}
	low := strings.ToLower(path)
	b.paths.WriteString(path)
	b.lower.WriteString(low)
	b.l.ends = append(b.l.ends, uint32(b.paths.Len()))
	b.l.lows = append(b.l.lows, uint32(b.lower.Len()))
	b.l.masks = append(b.l.masks, mask(low))
	return true
}

func (b *builder) done(how string, at time.Time) *listing {
	b.l.paths, b.l.lower, b.l.how, b.l.at = b.paths.String(), b.lower.String(), how, at
	b.l.ends, b.l.lows, b.l.masks = slices.Clip(b.l.ends), slices.Clip(b.l.lows), slices.Clip(b.l.masks)
	return &b.l
}

// mask has one bit for each letter and digit that s has, and shares the rest of
// the bits among all other characters.
func mask(s string) uint64 {
	var m uint64
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			m |= 1 << (c - 'a')
		case c >= '0' && c <= '9':
			m |= 1 << (26 + c - '0')
		default:
			m |= 1 << (36 + c%28)
		}
	}
	return m
}
