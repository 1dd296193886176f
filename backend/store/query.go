package store

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is searched for.
const (
	queryRunes = 256
	queryWords = 16
)

// QueryError says what is wrong with what was searched for.
type QueryError struct{ Reason string }

func (e *QueryError) Error() string { return e.Reason }

// query is what is searched for: every word must occur, anywhere in the same
// item, also inside other words.
type query struct {
	words []string // folded
	match string   // of the index; "" when every word is shorter than three characters
}

// parseQuery takes words apart at spaces; what stands in double quotes is one.
func parseQuery(text string) (query, error) {
	text = strings.TrimSpace(plain(text))
	if utf8.RuneCountInString(text) > queryRunes {
		return query{}, &QueryError{"The search text is longer than 256 characters."}
	}
	var q query
	for i, piece := range strings.Split(text, `"`) {
		if i%2 == 1 {
			q.add(strings.TrimSpace(piece))
			continue
		}
		for _, w := range strings.FieldsFunc(piece, unicode.IsSpace) {
			q.add(w)
		}
	}
	if len(q.words) == 0 {
		return query{}, &QueryError{"There is nothing to search for."}
	}
	if len(q.words) > queryWords {
		return query{}, &QueryError{"The search text has more than 16 words."}
	}
	q.match = expression(q.words)
	return q, nil
}

func (q *query) add(w string) {
	w = folded(w)
	for _, old := range q.words {
		if old == w {
			return
		}
	}
	if w != "" {
		q.words = append(q.words, w)
	}
}

// expression asks the index for items that hold pieces of three characters of
// every word. The pieces of a long word need not touch: what the index returns is
// looked at. That is several times faster than to ask for all of them.
func expression(words []string) string {
	var list []string
	seen := map[string]bool{}
	for _, w := range words {
		for _, p := range pieces([]rune(w)) {
			if !seen[p] {
				seen[p] = true
				list = append(list, `"`+strings.ReplaceAll(p, `"`, `""`)+`"`)
			}
		}
	}
	return strings.Join(list, " AND ")
}

func pieces(w []rune) []string {
	var list []string
	step := 3
	if len(w) <= 8 {
		step = 1
	}
	for i := 0; i+3 <= len(w); i += step {
		list = append(list, string(w[i:i+3]))
	}
	if len(w) > 8 {
		list = append(list, string(w[len(w)-3:]))
	}
	return list
}

// Bounds of a snippet in characters.
const (
	snippetRunes  = 240
	snippetBefore = 60
	snippetMarks  = 32
)

// look returns the surroundings of the first place of the words in text, in one
// line, with the places in it; ok is false when a word is missing.
func (q query) look(text string) (line string, marks [][2]int, ok bool) {
	low := folded(text)
	first := len(low)
	for _, w := range q.words {
		i := strings.Index(low, w)
		if i < 0 {
			return "", nil, false
		}
		first = min(first, i)
	}
	at := utf8.RuneCountInString(low[:first])
	runes := []rune(text)
	from := max(0, at-snippetBefore)
	to := min(len(runes), from+snippetRunes)
	from = max(0, to-snippetRunes)
	// Folding keeps the number of characters: both windows are the same place.
	lowRunes := []rune(low)
	if len(lowRunes) != len(runes) {
		return string(runes[from:to]), nil, true
	}
	line, place := oneLine(runes[from:to])
	return line, q.marks(string(lowRunes[from:to]), place), true
}

// oneLine puts a space for every run of white space and control characters.
// place[i] is where the character i went, in UTF-16 units; its last is the end.
func oneLine(runes []rune) (string, []int) {
	var b strings.Builder
	place := make([]int, 0, len(runes)+1)
	n, space := 0, true
	for _, r := range runes {
		place = append(place, n)
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			if !space {
				b.WriteByte(' ')
				n++
			}
			space = true
			continue
		}
		space = false
		b.WriteRune(r)
		if n++; r > 0xFFFF {
			n++
		}
	}
	return strings.TrimRight(b.String(), " "), append(place, n)
}

// marks finds all places of the words in the folded window, in order, without
// overlaps.
func (q query) marks(low string, place []int) [][2]int {
	hit := make([]bool, len(place))
	for _, w := range q.words {
		n := utf8.RuneCountInString(w)
		for from, at := 0, 0; ; {
			i := strings.Index(low[from:], w)
			if i < 0 {
				break
			}
			at += utf8.RuneCountInString(low[from : from+i])
			for k := range n {
				hit[at+k] = true
			}
			from, at = from+i+len(w), at+n
		}
	}
	list := [][2]int{}
	for i := 0; i < len(hit) && len(list) < snippetMarks; i++ {
		if !hit[i] {
			continue
		}
		begin := i
		for i < len(hit) && hit[i] {
			i++
		}
		if place[begin] < place[i] {
			list = append(list, [2]int{place[begin], place[i]})
		}
	}
	return list
}
