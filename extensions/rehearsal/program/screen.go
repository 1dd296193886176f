package program

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"github.com/charmbracelet/x/term"
	"github.com/mattn/go-runewidth"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	italic = "\x1b[3m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
)

// pageKept is how much of the output a full screen keeps to paint it again.
const pageKept = 64 << 10

// screen writes to the terminal: lines of text that scroll, and one line at
// the bottom in which a person types. It also tells the terminal the program's
// title and status (OSC 0 and, when the terminal answers the query, OSC 7501).
type screen struct {
	mu     sync.Mutex
	out    io.Writer
	fd     uintptr
	full   bool
	page   []byte // only with full
	column int    // 0: at the start of a line
	typing bool   // the bottom line is shown
	prompt string
	line   string

	status   string // last report, without app
	reported bool   // the terminal takes reports
}

func (s *screen) raw(text string) { io.WriteString(s.out, text) }

// open asks what the terminal can do. The query comes before the one that
// every terminal answers.
func (s *screen) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		s.raw("\x1b[?1049h\x1b[H\x1b[2J")
	}
	s.raw("\x1b[?2004h\x1b]7501;?\x1b\\\x1b[c")
}

func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide()
	if s.reported {
		s.raw("\x1b]7501;state=clear\x1b\\")
	}
	s.raw("\x1b[?2004l\x1b]0;\a")
	if s.full {
		s.raw("\x1b[?1049l")
	}
}

// write shows text after what is there.
func (s *screen) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide()
	s.emit(text)
}

func (s *screen) emit(text string) {
	if text == "" {
		return
	}
	text = strings.ReplaceAll(text, "\n", "\r\n")
	if s.full {
		s.page = append(s.page, text...)
		if n := len(s.page) - pageKept; n > 0 {
			s.page = s.page[n:]
		}
	}
	s.raw(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		s.column, text = 0, text[i+1:]
	}
	s.column += visible(text)
}

// visible counts what a text puts on the line; colours put nothing.
func visible(text string) (n int) {
	for {
		esc := strings.Index(text, "\x1b[")
		if esc < 0 {
			return n + len(text)
		}
		n += esc
		end := strings.IndexFunc(text[esc+2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
		if end < 0 {
			return n
		}
		text = text[esc+2+end+1:]
	}
}

// fresh begins a new line unless one has just begun.
func (s *screen) fresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide()
	if s.column > 0 {
		s.emit("\n")
	}
}

// ask shows the bottom line.
func (s *screen) ask(prompt string, l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.column > 0 && !s.typing {
		s.emit("\n")
	}
	s.typing, s.prompt, s.line = true, prompt, string(l.text)
	s.paintLine()
}

func (s *screen) paintLine() {
	width, _, err := term.GetSize(s.fd)
	if err != nil || width < 10 {
		width = 80
	}
	room := width - runewidth.StringWidth(s.prompt) - 1
	shown := clean(s.line)
	for runewidth.StringWidth(shown) > room && shown != "" {
		_, rest, _ := strings.Cut(shown, string([]rune(shown)[:1]))
		shown = rest
	}
	s.raw("\r\x1b[K" + bold + s.prompt + reset + shown)
}

// hide takes the bottom line away.
func (s *screen) hide() {
	if s.typing {
		s.typing = false
		s.raw("\r\x1b[K")
	}
}

// entered leaves what was typed in the scrolled text.
func (s *screen) entered(prompt, text string) {
	s.write(bold + prompt + reset + clean(text) + "\n")
}

// repaint draws a full screen again, after its size changed or on Ctrl-L.
func (s *screen) repaint() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		_, rows, err := term.GetSize(s.fd)
		if err != nil || rows < 2 {
			rows = 24
		}
		lines := strings.SplitAfter(string(s.page), "\n")
		lines = lines[max(0, len(lines)-rows+1):]
		s.raw("\x1b[H\x1b[2J" + reset + strings.Join(lines, ""))
	}
	if s.typing {
		s.paintLine()
	}
}

func (s *screen) title(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw("\x1b]0;" + clean(text) + "\a")
}

// report tells the status: idle, working, blocked, done or error. kind is
// permission or question, message what is asked.
func (s *screen) report(state, kind, message string) {
	status := "state=" + state
	if kind != "" {
		status += ":kind=" + kind
	}
	if message != "" {
		status += ":msg=" + base64.StdEncoding.EncodeToString([]byte(clean(message)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
	s.sendStatus()
}

func (s *screen) sendStatus() {
	if s.reported {
		s.raw("\x1b]7501;" + s.status + ":app=rehearsal\x1b\\")
	}
}

// answered takes an OSC answer of the terminal.
func (s *screen) answered(body string) {
	if !strings.HasPrefix(body, "7501;?") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reported {
		s.reported = true
		s.sendStatus()
	}
}

// clean takes control characters and direction overrides out of a text that
// is shown in one line.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// body is clean for texts of several lines.
func body(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(body(text), "\n"), "\n", "\n"+by) + "\n"
}

// colored paints a unified diff.
func colored(diff string) string {
	var b strings.Builder
	for l := range strings.Lines(diff) {
		l = clean(strings.TrimRight(l, "\n"))
		color := ""
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"):
			color = dim
		case strings.HasPrefix(l, "+"):
			color = green
		case strings.HasPrefix(l, "-"):
			color = red
		case strings.HasPrefix(l, "@"):
			color = cyan
		}
		fmt.Fprintf(&b, "  %s%s%s\n", color, l, reset)
	}
	return b.String()
}

// toolHead is the line that says what a tool does.
func toolHead(b wire.Block) string {
	mark := map[string]string{
		wire.StateRunning: yellow + "●", wire.StateDone: green + "●", wire.StateFailed: red + "✗",
		wire.StateStopped: dim + "■", wire.StateDeclined: dim + "–",
	}[b.State]
	return mark + reset + " " + bold + clean(b.Title) + reset
}

// makeRaw switches line editing and echo of the kernel off.
func makeRaw(in *os.File) (restore func(), err error) {
	old, err := term.MakeRaw(in.Fd())
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(in.Fd(), old) }, nil
}
