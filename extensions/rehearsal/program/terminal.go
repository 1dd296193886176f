package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

const mainPrompt = "› "

// terminal is the agent's face for a person: it prints what happens and reads
// keys. The main loop owns keys and line; a turn plays in its own goroutine and
// prints through the screen.
type terminal struct {
	opt  Options
	eng  *engine
	scr  *screen
	keys keyReader
	line line
	next []string // entered while a turn ended

	mu     sync.Mutex
	asking *asking // a question on the screen
	typed  bool    // the turn's prompt stands on the screen already
	shown  map[string]*shownBlock
}

// asking gets keys until it has its answer.
type asking struct {
	answer chan wire.Answer
	key    func(key) (wire.Answer, bool)
}

func runTerminal(opt Options, home string, in *os.File, stdout, stderr io.Writer) int {
	opt.die("start")
	restore, err := makeRaw(in)
	if err != nil {
		fmt.Fprintln(stderr, "rehearsal: the terminal cannot be used:", err)
		return 1
	}
	defer restore()
	t := &terminal{
		opt: opt, shown: map[string]*shownBlock{},
		scr: &screen{out: stdout, fd: in.Fd(), full: opt.Full},
	}
	eng, err := newEngine(opt, home, t, stderr)
	if err != nil {
		restore()
		fmt.Fprintln(stderr, "rehearsal:", err)
		return 1
	}
	t.eng = eng
	defer eng.close()
	t.scr.open()
	defer t.scr.close()
	t.welcome()
	return t.loop(in)
}

func (t *terminal) welcome() {
	t.scr.write(bold + "Rehearsal " + wire.Release + reset + dim + "  a demonstration: offline, from a script" + reset + "\n" +
		dim + clean(t.opt.Cwd) + "  session " + t.eng.session + reset + "\n")
	if p := t.eng.past; p != nil {
		t.scr.write(dim + "Continuing: " + clean(p.title) + reset + "\n\n")
		for _, b := range p.tail {
			t.recall(b)
		}
	} else {
		t.scr.write(dim + "Type a message, or help. Esc stops, /clear begins anew, /exit leaves." + reset + "\n")
	}
	t.scr.write("\n")
	t.retitle()
	t.scr.report("idle", "", "")
}

func (t *terminal) retitle() {
	title := t.eng.currentTitle()
	if title == "" {
		title = "new session"
	}
	t.scr.title("Rehearsal: " + title)
}

// loop runs until the person leaves, the terminal goes away or a signal comes.
func (t *terminal) loop(in io.Reader) int {
	input := make(chan []byte)
	quit := make(chan struct{})
	defer close(quit)
	go readBytes(in, input, quit)
	signals := make(chan os.Signal, 4)
	if t.opt.IgnoreTerm {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		signal.Notify(signals, syscall.SIGWINCH)
	} else {
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGWINCH)
	}
	defer signal.Stop(signals)
	ended := make(chan string, 1)
	var due, escape <-chan time.Time
	running := false
	play := func(p prompt) {
		turn, ctx := t.eng.begin()
		if turn == nil {
			return
		}
		running, due = true, nil
		t.mu.Lock()
		t.typed = p.origin == wire.OriginPrompt
		t.mu.Unlock()
		go func() { ended <- t.eng.play(ctx, turn, p) }()
	}
	if t.opt.Prompt != "" {
		t.enter(t.opt.Prompt)
		play(prompt{text: t.opt.Prompt, origin: wire.OriginPrompt})
	} else {
		t.scr.ask(mainPrompt, &t.line)
	}
	for {
		var keys []key
		select {
		case p, ok := <-input:
			if !ok {
				return t.opt.ExitCode
			}
			keys = t.keys.feed(p)
			escape = nil
			if t.keys.pending() {
				escape = time.After(40 * time.Millisecond)
			}
		case <-escape:
			escape = nil
			keys = t.keys.flush()
		case sig := <-signals:
			if sig == syscall.SIGWINCH {
				t.scr.repaint()
				continue
			}
			return 143
		case wake := <-ended:
			running = false
			if wake != "" {
				due = time.After(2 * time.Second)
			}
			t.scr.fresh()
			t.scr.write("\n")
			for len(t.next) > 0 && !running {
				text, leave := t.submit(t.next[0])
				t.next = t.next[1:]
				if leave {
					return t.opt.ExitCode
				}
				if text != "" {
					play(prompt{text: text, origin: wire.OriginPrompt})
				}
			}
			if !running {
				t.scr.ask(mainPrompt, &t.line)
			}
			continue
		case <-due:
			due = nil
			play(prompt{origin: wire.OriginAgent})
			continue
		}
		for _, k := range keys {
			if k.kind == keyOSC {
				t.scr.answered(k.text)
				continue
			}
			if running {
				t.keyWhileRunning(k)
				continue
			}
			text, leave := t.keyWhileIdle(k)
			if leave {
				return t.opt.ExitCode
			}
			if text != "" {
				play(prompt{text: text, origin: wire.OriginPrompt})
			}
		}
	}
}

func readBytes(in io.Reader, input chan<- []byte, quit <-chan struct{}) {
	defer close(input)
	for {
		p := make([]byte, 4096)
		n, err := in.Read(p)
		if n > 0 {
			select {
			case input <- p[:n]:
			case <-quit:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// keyWhileIdle edits the line; text is a prompt that was entered.
func (t *terminal) keyWhileIdle(k key) (text string, leave bool) {
	switch k.kind {
	case keyRedraw:
		t.scr.repaint()
		return "", false
	case keyEnd:
		if len(t.line.text) == 0 {
			return "", true
		}
	case keyInterrupt:
		if len(t.line.text) == 0 {
			t.scr.write(dim + "Ctrl-D or /exit leaves." + reset + "\n")
		}
		t.line.text = nil
	case keyEscape:
		t.line.text = nil
	}
	if !t.line.key(k) {
		t.scr.ask(mainPrompt, &t.line)
		return "", false
	}
	text = t.line.take()
	if text == "" {
		t.scr.ask(mainPrompt, &t.line)
		return "", false
	}
	return t.submit(text)
}

// submit takes an entered line: a command, or a prompt to play.
func (t *terminal) submit(text string) (prompt string, leave bool) {
	t.enter(text)
	if !strings.HasPrefix(text, "/") {
		return text, false
	}
	return t.command(text)
}

func (t *terminal) enter(text string) {
	t.scr.entered(mainPrompt, text)
}

// command runs what begins with a slash; an unknown one is a prompt.
func (t *terminal) command(text string) (prompt string, leave bool) {
	name, arg, _ := strings.Cut(text, " ")
	arg = strings.TrimSpace(arg)
	switch name {
	case "/exit", "/quit":
		return "", true
	case "/clear":
		if err := t.eng.clear(); err != nil {
			t.scr.write(red + clean(err.Error()) + reset + "\n")
		} else {
			t.scr.write(dim + "A new session: " + t.eng.session + reset + "\n")
			t.retitle()
			t.scr.report("idle", "", "")
		}
	case "/model":
		t.choose(arg, models, wire.Settings{Model: arg})
	case "/mode":
		t.choose(arg, modes, wire.Settings{Mode: arg})
	case "/thinking":
		t.choose(arg, thinking, wire.Settings{Thinking: arg})
	default:
		return strings.TrimPrefix(text, "/"), false
	}
	t.scr.ask(mainPrompt, &t.line)
	return "", false
}

func (t *terminal) choose(id string, list []wire.Selectable, s wire.Settings) {
	if id == "" || !t.eng.set(s) {
		t.scr.write("There is: " + ids(list) + "\n")
	}
}

// keyWhileRunning stops the turn, answers what it asks, or hands it a message.
func (t *terminal) keyWhileRunning(k key) {
	t.mu.Lock()
	a := t.asking
	t.mu.Unlock()
	if k.kind == keyEscape || k.kind == keyInterrupt {
		t.eng.stopTurn()
		return
	}
	if a != nil {
		if ans, done := a.key(k); done {
			t.mu.Lock()
			t.asking = nil
			t.mu.Unlock()
			a.answer <- ans
		}
		return
	}
	if t.line.key(k) {
		if text := t.line.take(); text != "" && !t.eng.steer(prompt{text: text, origin: wire.OriginPrompt}) {
			t.next = append(t.next, text) // the turn is just ending
		}
	}
}

// Ask implements face.
func (t *terminal) Ask(ctx context.Context, a wire.Ask, posed func()) (wire.Answer, error) {
	q := t.pose(a)
	kind := "permission"
	if a.Kind == wire.AskQuestion {
		kind = "question"
	}
	t.mu.Lock()
	t.asking = q
	t.mu.Unlock()
	posed()
	t.scr.report("blocked", kind, a.Title)
	t.opt.die("ask")
	select {
	case ans := <-q.answer:
		t.scr.report("working", "", "")
		return ans, nil
	case <-ctx.Done():
		t.mu.Lock()
		t.asking = nil
		t.mu.Unlock()
		t.scr.fresh()
		return wire.Answer{}, ctx.Err()
	}
}
