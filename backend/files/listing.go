package files

import (
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
// (with a slash at the end). All paths stand in one string; those that have other
// letters in lower case stand so in a second one.
type listing struct {
	at      time.Time
	paths   string
	lower   string
	ends    []uint32    // of path i in paths
	lows    [][2]uint32 // of path i in lower; zero: it is lower case already
	masks   []uint64    // which letters path i has
	limited bool
	how     string // git or walk
}

func (l *listing) len() int { return len(l.ends) }

func (l *listing) path(i int) string {
	from := uint32(0)
	if i > 0 {
		from = l.ends[i-1]
	}
	return l.paths[from:l.ends[i]]
}

func (l *listing) low(i int) string {
	if at := l.lows[i]; at[1] > 0 {
		return l.lower[at[0]:at[1]]
	}
	return l.path(i)
}

// builder collects paths into a listing.
type builder struct {
	paths, lower strings.Builder
	l            listing
	folders      map[string]struct{}
	last         string // the folder of the last path
}

func newBuilder() *builder { return &builder{folders: map[string]struct{}{}} }

// like makes room for about as much as an earlier listing held.
func (b *builder) like(l *listing) *builder {
	if l != nil {
		b.paths.Grow(len(l.paths) + len(l.paths)/16)
		b.lower.Grow(len(l.lower) + len(l.lower)/16)
		n := l.len() + l.len()/16
		b.l.ends, b.l.lows, b.l.masks = make([]uint32, 0, n), make([][2]uint32, 0, n), make([]uint64, 0, n)
	}
	return b
}

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
	var at [2]uint32
	if low != path {
		at[0] = uint32(b.lower.Len())
		b.lower.WriteString(low)
		at[1] = uint32(b.lower.Len())
	}
	b.l.ends = append(b.l.ends, uint32(b.paths.Len()))
	b.l.lows = append(b.l.lows, at)
	b.l.masks = append(b.l.masks, mask(low))
	return true
}

func (b *builder) done(how string, at time.Time) *listing {
	b.l.paths, b.l.lower, b.l.how, b.l.at = b.paths.String(), b.lower.String(), how, at
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
