package terminals

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/model"
)

// Bounds of what a program may make us show.
const (
	maxTitle  = 200
	maxNotice = 400
	maxPath   = 4096
)

// signals are what a program tells beside its screen. They are called from
// the terminal's goroutine with text that is already plain and bounded.
type signals interface {
	title(string)
	cwd(string)
	bell()
	notice(string)
	program(p *model.ProgramStatus) // nil clears
	promptStarted()
}

// responder stands between a program and its windows. It follows the state,
// answers queries in the order of asking, and relays the rest.
type responder struct {
	scan   scanner
	state  screenState
	keep   keeper
	colors Colors
	name   string // of XTVERSION
	now    func() int64
	// relay gets what windows receive, reply what the program gets.
	relay func([]byte)
	reply func([]byte)
	tell  signals
}

// write takes the program's output.
func (r *responder) write(p []byte) { r.scan.feed(p, r.token) }

// resize changes the size and marks it in the stream.
func (r *responder) resize(cols, rows int) {
	r.state.cols, r.state.rows = cols, rows
	r.state.region = [2]region{}
	r.keep.resize(&r.state)
	r.relay([]byte(sizeMarker(cols, rows)))
}

func (r *responder) token(t token) {
	switch t.kind {
	case 0x07:
		r.tell.bell()
		return
	case 0x05: // ENQ asks for an answerback that nobody needs
		return
	case 'e':
		if t.final == 'Z' && len(t.inter) == 0 { // DECID, the old DA1
			r.reply([]byte("\x1b[?62;22c"))
			return
		}
	case '[':
		if r.query(t) {
			return
		}
		t = r.bounded(t)
	case ']':
		raw := r.osc(t)
		if raw == nil {
			return
		}
		t.raw = raw
	case 'P':
		r.dcs(t)
		return
	case '_', '^', 'X':
		return
	}
	r.pass(t)
}

// bounded cuts the counts of a control sequence to what has an effect: a
// screen that is told to repeat or insert two billion times would try.
func (r *responder) bounded(t token) token {
	limit := 9999
	switch t.final {
	case 'L', 'M', 'S', 'T':
		limit = r.state.rows
	case '@', 'P', 'X', 'I', 'Z':
		limit = r.state.cols
	case 'b':
		limit = r.state.cols * r.state.rows
	}
	over := false
	for _, n := range numbers(t.par) {
		over = over || n > limit
	}
	if !over && len(t.par) < 4 || t.priv != 0 || len(t.inter) > 0 {
		return t
	}
	raw := []byte("\x1b[")
	for i, p := range strings.Split(string(t.par), ";") {
		if i > 0 {
			raw = append(raw, ';')
		}
		for j, sub := range strings.Split(p, ":") {
			if j > 0 {
				raw = append(raw, ':')
			}
			if n, err := strconv.Atoi(sub); sub != "" && (err != nil || n > limit) {
				sub = strconv.Itoa(limit)
			}
			raw = append(raw, sub...)
		}
	}
	t.raw = append(raw, t.final)
	t.par = t.raw[2 : len(t.raw)-1]
	return t
}

func (r *responder) pass(t token) {
	r.keep.write(t, &r.state)
	r.state.apply(t)
	r.relay(t.raw)
}

// query answers control sequences that ask and drops those that must not
// reach a window. It reports whether t was one.
func (r *responder) query(t token) bool {
	switch t.final {
	case 'c':
		switch t.priv {
		case 0:
			r.reply([]byte("\x1b[?62;22c"))
		case '>':
			r.reply([]byte("\x1b[>1;10;0c"))
		}
		return true
	case 'n':
		if len(t.inter) > 0 || t.priv != 0 && t.priv != '?' {
			return t.priv != '>' // "CSI > n" sets key options, it asks nothing
		}
		switch number(t.par, 0) {
		case 5:
			if t.priv == 0 {
				r.reply([]byte("\x1b[0n"))
			}
		case 6:
			row, col := r.keep.cursor(&r.state)
			if top := r.state.region[r.state.screen()].top; r.state.mode(6) && top > 0 {
				row = max(row-top+1, 1)
			}
			if t.priv == '?' {
				r.reply(fmt.Appendf(nil, "\x1b[?%d;%dR", row, col))
			} else {
				r.reply(fmt.Appendf(nil, "\x1b[%d;%dR", row, col))
			}
		}
		return true
	case 'q':
		if t.priv == '>' && len(t.inter) == 0 {
			if number(t.par, 0) == 0 {
				r.reply([]byte("\x1bP>|" + r.name + "\x1b\\"))
			}
			return true
		}
	case 'p':
		if string(t.inter) == "$" {
			r.requestMode(t)
			return true
		}
	case 'u':
		// The kitty keyboard question stays unanswered: no front end of ours
		// encodes those keys. Setting flags is dropped for the same reason; a
		// plain "CSI u" restores the cursor.
		return t.priv != 0
	case 't':
		// Size questions; titles are never reported and nobody resizes us.
		if t.priv == 0 && len(t.inter) == 0 && number(t.par, 0) == 18 {
			r.reply(fmt.Appendf(nil, "\x1b[8;%d;%dt", r.state.rows, r.state.cols))
		}
		return true
	case 'x': // DECREQTPARM
		return t.priv == 0 && len(t.inter) == 0
	case 'y', 'w', 'v', '|', '}', '~', '{', 'z', 'r':
		// Checksums, presentation and other reports with "*" or "$".
		return t.final != 'r' && len(t.inter) > 0 && (t.inter[0] == '*' || t.inter[0] == '$' && t.final == 'w')
	}
	return false
}

// requestMode answers DECRQM: 1 set, 2 reset, 0 unknown. Grapheme clusters
// (2027) stay unknown: host and window count columns without them.
func (r *responder) requestMode(t token) {
	n := number(t.par, 0)
	value := 0
	if t.priv == '?' {
		if _, known := defaultModes[n]; known {
			value = setAnswer(r.state.mode(n))
		}
		r.reply(fmt.Appendf(nil, "\x1b[?%d;%d$y", n, value))
		return
	}
	switch n {
	case 4:
		value = setAnswer(r.state.insert)
	case 20:
		value = setAnswer(r.state.newline)
	}
	r.reply(fmt.Appendf(nil, "\x1b[%d;%d$y", n, value))
}

func setAnswer(on bool) int {
	if on {
		return 1
	}
	return 2
}

func (r *responder) dcs(t token) {
	switch {
	case strings.HasPrefix(string(t.par), "+q"):
		r.reply([]byte("\x1bP0+r\x1b\\"))
	case strings.HasPrefix(string(t.par), "$q"):
		r.reply([]byte("\x1bP0$r\x1b\\"))
	}
}

// osc handles an operating system command and returns what is relayed of it,
// nil for nothing. Only what draws is relayed.
func (r *responder) osc(t token) []byte {
	num, data, _ := strings.Cut(string(t.par), ";")
	end := "\x1b\\"
	if t.bel {
		end = "\x07"
	}
	switch num {
	case "0", "2":
		r.tell.title(Plain(data, maxTitle))
	case "7":
		if path, ok := pathOf(data); ok {
			r.tell.cwd(path)
		}
	case "8":
		return []byte("\x1b]8;" + data + "\x1b\\")
	case "9":
		// "9;4;..." is progress and "9;<n>;..." are other terminals' commands.
		if sub, _, found := strings.Cut(data, ";"); found && isNumber(sub) {
			return nil
		}
		r.tell.notice(Plain(data, maxNotice))
	case "777":
		if rest, ok := strings.CutPrefix(data, "notify;"); ok {
			r.tell.notice(Plain(strings.Replace(rest, ";", ": ", 1), maxNotice))
		}
	case "133":
		if data == "A" || strings.HasPrefix(data, "A;") {
			r.tell.promptStarted()
		}
		return []byte("\x1b]133;" + data + "\x1b\\")
	case "7501":
		if strings.HasPrefix(data, "?") {
			r.reply([]byte("\x1b]7501;?" + end))
			return nil
		}
		if p, ok := parseProgram(data, r.now()); ok {
			r.tell.program(p)
		}
	case "4":
		return r.paletteOSC(data, end)
	case "10", "11", "12":
		return r.colorOSC(num, data, end)
	case "104", "110", "111", "112":
		r.forgetColors(num, data)
		return []byte("\x1b]" + string(t.par) + "\x1b\\")
	}
	return nil // 52 (clipboard) among them: neither read nor written
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// pathOf reads the folder of OSC 7: a file URL of this machine.
func pathOf(data string) (string, bool) {
	if len(data) > maxPath {
		return "", false
	}
	u, err := url.Parse(data)
	if err != nil || u.Scheme != "file" || !strings.HasPrefix(u.Path, "/") {
		return "", false
	}
	if strings.ContainsFunc(u.Path, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return "", false
	}
	return u.Path, true
}

// colorOSC takes "10;?" and "10;#fff;#000": each further colour belongs to the
// next number.
func (r *responder) colorOSC(num, data, end string) []byte {
	n, _ := strconv.Atoi(num)
	var relay []byte
	for _, spec := range strings.Split(data, ";") {
		if n > 12 {
			break
		}
		key := strconv.Itoa(n)
		if spec == "?" {
			if c, ok := r.color(key); ok {
				r.reply([]byte("\x1b]" + key + ";" + c + end))
			}
		} else if spec != "" && len(spec) <= 64 {
			r.setColor(key, spec)
			relay = append(relay, "\x1b]"+key+";"+spec+"\x1b\\"...)
		}
		n++
	}
	return relay
}

// paletteOSC takes "n;spec" pairs, asked or set.
func (r *responder) paletteOSC(data, end string) []byte {
	var relay []byte
	parts := strings.Split(data, ";")
	for i := 0; i+1 < len(parts); i += 2 {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 || n > 255 || len(parts[i+1]) > 64 {
			continue
		}
		key, spec := "4;"+strconv.Itoa(n), parts[i+1]
		if spec == "?" {
			c, ok := r.state.colors[key]
			if !ok {
				c, ok = r.colors.palette(n)
			}
			if ok {
				r.reply([]byte("\x1b]" + key + ";" + c + end))
			}
			continue
		}
		r.setColor(key, spec)
		relay = append(relay, "\x1b]"+key+";"+spec+"\x1b\\"...)
	}
	return relay
}

func (r *responder) color(key string) (string, bool) {
	if c, ok := r.state.colors[key]; ok {
		return c, true
	}
	switch key {
	case "10":
		return xcolor(r.colors.Foreground)
	case "11":
		return xcolor(r.colors.Background)
	}
	return xcolor(r.colors.Cursor)
}

func (r *responder) setColor(key, spec string) {
	if strings.HasPrefix(spec, "#") {
		if c, ok := xcolor(spec); ok {
			spec = c // what a query is answered with
		}
	}
	next := make(map[string]string, len(r.state.colors)+1)
	for k, v := range r.state.colors { // chunks of the ring share the old one
		next[k] = v
	}
	next[key] = spec
	r.state.colors = next
}

func (r *responder) forgetColors(num, data string) {
	next := map[string]string{}
	for k, v := range r.state.colors {
		keep := true
		switch num {
		case "104":
			if strings.HasPrefix(k, "4;") {
				keep = data != "" && !strings.Contains(";"+data+";", ";"+k[2:]+";")
			}
		default:
			keep = k != num[1:]
		}
		if keep {
			next[k] = v
		}
	}
	r.state.colors = next
}
