package files

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Points of a match. A letter at the beginning of a word is worth more than one
// that follows the last, and that more than one somewhere.
const (
	pointLetter  = 10
	pointFollows = 14
	pointWord    = 16
	pointName    = 6  // a letter in the file's name
	pointBegins  = 30 // the name begins with the query
	pointIs      = 60 // the name without its ending is the query
	costGap      = 1
	costFolder   = 2 // a folder comes after a file of the same worth
)

// hit is a path that matches: the more points the better, then the shorter path.
type hit struct {
	at     int
	points int
}

// find returns the best paths of a listing for a query, at most limit. The letters
// of the query stand in the path in order; case does not count.
func (l *listing) find(query string, limit int) []int {
	q := strings.ToLower(query)
	want := mask(q)
	runes := make([]string, 0, len(q))
	for i, r := range q {
		runes = append(runes, q[i:i+utf8.RuneLen(r)])
	}
	if l.len() < parallelFrom {
		return places(l.best(q, want, runes, limit, 0, l.len()), limit)
	}
	// Two halves beside each other: what is typed is answered before the next key.
	var first []hit
	half := l.len() / 2
	done := make(chan struct{})
	go func() {
		defer close(done)
		first = l.best(q, want, runes, limit, 0, half)
	}()
	all := l.best(q, want, runes, limit, half, l.len())
	<-done
	all = append(all, first...)
	slices.SortFunc(all, l.compare)
	return places(all, limit)
}

// parallelFrom is how many paths are worth a second goroutine.
const parallelFrom = 20_000

func places(hits []hit, limit int) []int {
	out := make([]int, min(limit, len(hits)))
	for i := range out {
		out[i] = hits[i].at
	}
	return out
}

// best are the best hits among the paths from one place to another, in order.
func (l *listing) best(q string, want uint64, runes []string, limit, from, to int) []hit {
	top := make([]hit, 0, limit+1)
	for i := from; i < to; i++ {
		if l.masks[i]&want != want {
			continue
		}
		points, ok := score(l.low(i), q, runes)
		if !ok {
			continue
		}
		h := hit{i, points}
		if len(top) == limit && l.compare(h, top[limit-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, h, l.compare)
		top = slices.Insert(top, at, h)
		if len(top) > limit {
			top = top[:limit]
		}
	}
	return top
}

func (l *listing) compare(a, b hit) int {
	if a.points != b.points {
		return b.points - a.points
	}
	pa, pb := l.path(a.at), l.path(b.at)
	if c := cmp.Compare(strings.Count(pa, "/"), strings.Count(pb, "/")); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(len(pa), len(pb)), strings.Compare(pa, pb))
}

// score tells how well a path (in lower case) matches. All of the query in the
// file's name is better than letters spread over its folders.
func score(path, query string, runes []string) (int, bool) {
	if query == "" {
		return -strings.Count(path, "/"), true
	}
	folder := strings.HasSuffix(path, "/")
	whole := strings.TrimSuffix(path, "/")
	from := strings.LastIndexByte(whole, '/') + 1
	name := whole[from:]
	best, ok := letters(name, runes, 0)
	if ok {
		best = max(best, initials(name, runes)) + pointName*len(runes)
		if strings.HasPrefix(name, query) {
			best += pointBegins
			if rest := name[len(query):]; rest == "" || rest[0] == '.' {
				best += pointIs
			}
		}
	} else if best, ok = letters(whole, runes, from); !ok {
		if folder && strings.HasSuffix(query, "/") {
			best, ok = letters(path, runes, from)
		}
		if !ok {
			return 0, false
		}
	}
	if folder {
		best -= costFolder
	}
	return best, true
}

// letters finds the query's letters in order, first as they come, then drawn
// together from the end, and counts points; those from name on are in the name.
func letters(s string, runes []string, name int) (int, bool) {
	at := forward(s, runes)
	if at < 0 {
		return 0, false
	}
	points, last := 0, -1
	end := at
	for i := len(runes) - 1; i >= 0; i-- {
		r := runes[i]
		p := backward(s[:end], r)
		points += pointLetter
		switch {
		case p == 0 || word(s[p-1]):
			points += pointWord
		case last == p+len(r):
			points += pointFollows
		}
		if last > p+len(r) {
			points -= min(costGap*(last-p-len(r)), 8)
		}
		if name > 0 && p >= name {
			points += pointName
		}
		last, end = p, p
	}
	return points, true
}

// forward is the end of the first place where the letters stand in order; -1 when
// they do not.
func forward(s string, runes []string) int {
	at := 0
	for _, r := range runes {
		if len(r) == 1 { // most are, and a loop is cheaper than a call here
			c := r[0]
			for at < len(s) && s[at] != c {
				at++
			}
			if at == len(s) {
				return -1
			}
			at++
			continue
		}
		i := strings.Index(s[at:], r)
		if i < 0 {
			return -1
		}
		at += i + len(r)
	}
	return at
}

func backward(s, r string) int {
	if len(r) > 1 {
		return strings.LastIndex(s, r)
	}
	i := len(s) - 1
	for s[i] != r[0] {
		i--
	}
	return i
}

// initials counts points when each letter begins a word; 0 when they do not.
func initials(s string, runes []string) int {
	at := 0
	for _, r := range runes {
		for {
			i := forward(s[at:], []string{r})
			if i < 0 {
				return 0
			}
			at += i - len(r)
			if at == 0 || word(s[at-1]) {
				break
			}
			at += len(r)
		}
		at += len(r)
	}
	return len(runes) * (pointLetter + pointWord)
}

func word(c byte) bool {
	switch c {
	case '/', '_', '-', '.', ' ', '(', '[', '@', '+':
		return true
	}
	return false
}
