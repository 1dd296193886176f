package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// maxLine bounds a request; a longer one ends the process with a message.
const maxLine = 8 << 20

// structured speaks the protocol of FORMAT.md on stdin and stdout.
type structured struct {
	opt Options
	eng *engine

	wmu sync.Mutex // one line at a time
	out io.Writer

	mu   sync.Mutex
	asks map[string]chan wire.Answer
}

func runStructured(opt Options, home string, stdin io.Reader, stdout, stderr io.Writer) int {
	signal.Ignore(syscall.SIGPIPE) // a host that went away is seen at stdin
	term := make(chan os.Signal, 1)
	if opt.IgnoreTerm {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	} else {
		signal.Notify(term, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		defer signal.Stop(term)
	}
	if opt.Chat {
		opt.NoSession = true
	}
	opt.die("start")
	if opt.Grandchild {
		holdOutput(stdout)
	}
	if opt.Noise {
		for _, l := range noiseLines {
			fmt.Fprintln(stdout, l)
		}
	}
	if opt.Flood > 0 {
		flood(stderr, opt.Flood)
	}
	s := &structured{opt: opt, out: stdout, asks: map[string]chan wire.Answer{}}
	reqs := make(chan wire.Request)
	quit := make(chan struct{})
	defer close(quit)
	go s.read(stdin, stderr, reqs, quit)

	ended := make(chan string, 1)
	var comeBack *time.Timer
	var due <-chan time.Time
	code := opt.ExitCode
loop:
	for {
		select {
		case req, ok := <-reqs:
			if !ok {
				s.linger()
				break loop
			}
			if s.eng == nil && req.Do != wire.DoInitialize {
				s.fail(req, wire.CodeBadRequest, "The first request must be initialize.")
				continue
			}
			switch req.Do {
			case wire.DoInitialize:
				if !s.initialize(req, home, stderr) {
					code = 1
					break loop
				}
			case wire.DoPrompt:
				t, ctx := s.eng.begin()
				if t == nil {
					s.fail(req, wire.CodeBusy, "A turn is running; steer it or interrupt it.")
					continue
				}
				due = nil
				s.reply(req, wire.Message{})
				go func() {
					ended <- s.eng.play(ctx, t, prompt{text: req.Text, clientID: req.ClientID, files: req.Files, origin: wire.OriginPrompt})
				}()
			case wire.DoInterrupt:
				if opt.IgnoreStop {
					continue
				}
				due = nil
				s.eng.interrupt()
				s.reply(req, wire.Message{})
			case wire.DoShutdown:
				s.reply(req, wire.Message{})
				s.linger()
				break loop
			default:
				s.serve(req)
			}
		case wake := <-ended:
			if wake != "" {
				comeBack = time.NewTimer(s.wakeDelay())
				due = comeBack.C
			}
		case <-due:
			due = nil
			if t, ctx := s.eng.begin(); t != nil {
				go func() { ended <- s.eng.play(ctx, t, prompt{origin: wire.OriginAgent}) }()
			}
		case <-term:
			code = 143
			break loop
		}
	}
	if s.eng != nil {
		s.eng.close()
	}
	return code
}

func (s *structured) wakeDelay() time.Duration {
	if s.opt.Pace == "none" {
		return 20 * time.Millisecond
	}
	return 2 * time.Second
}

func (s *structured) linger() {
	if s.opt.Linger {
		select {}
	}
}

func (s *structured) initialize(req wire.Request, home string, stderr io.Writer) bool {
	if s.eng != nil {
		s.fail(req, wire.CodeBadRequest, "initialize was asked already.")
		return true
	}
	if req.Version != wire.ProtocolVersion {
		s.fail(req, wire.CodeBadRequest, fmt.Sprintf("Protocol %d is not known; this rehearsal speaks %d.", req.Version, wire.ProtocolVersion))
		return false
	}
	eng, err := newEngine(s.opt, home, s, stderr)
	if err != nil {
		s.fail(req, wire.CodeSession, err.Error())
		return false
	}
	s.eng = eng
	s.reply(req, wire.Message{Hello: eng.hello()})
	if eng.title != "" {
		s.Title(eng.title)
	}
	return true
}

// serve answers the requests that neither begin nor end anything.
func (s *structured) serve(req wire.Request) {
	switch req.Do {
	case wire.DoSteer:
		if !s.eng.steer(prompt{text: req.Text, clientID: req.ClientID, origin: wire.OriginPrompt}) {
			s.fail(req, wire.CodeNoTurn, "No turn is running.")
			return
		}
		s.reply(req, wire.Message{})
	case wire.DoAnswer:
		s.mu.Lock()
		ch := s.asks[req.AskID]
		delete(s.asks, req.AskID)
		s.mu.Unlock()
		if ch == nil {
			s.fail(req, wire.CodeUnknown, "This request is not open any more.")
			return
		}
		if !s.opt.NoAck {
			s.reply(req, wire.Message{})
		}
		ch <- wire.Answer{OptionID: req.OptionID, Comment: req.Comment, Choices: req.Answers, Canceled: req.Canceled}
	case wire.DoSet:
		if req.Settings == nil || !s.eng.set(*req.Settings) {
			s.fail(req, wire.CodeUnknown, "This model, mode or thinking level is not offered.")
			return
		}
		s.reply(req, wire.Message{})
	case wire.DoUsage:
		u := s.eng.currentUsage()
		s.reply(req, wire.Message{Usage: &u})
	case wire.DoRelease:
		select {
		case <-s.eng.told:
		default:
			close(s.eng.told)
		}
		s.reply(req, wire.Message{})
	default:
		s.fail(req, wire.CodeBadRequest, "Unknown request "+req.Do+".")
	}
}

// read turns lines into requests until stdin ends.
func (s *structured) read(stdin io.Reader, stderr io.Writer, reqs chan<- wire.Request, quit <-chan struct{}) {
	defer close(reqs)
	in := bufio.NewReaderSize(stdin, 64<<10)
	for {
		line, err := readLine(in)
		if errors.Is(err, errLineTooLong) {
			fmt.Fprintln(stderr, "rehearsal: a request is longer than 8 MiB")
			return
		}
		var req wire.Request
		if len(line) > 0 {
			if json.Unmarshal(line, &req) != nil || req.ID <= 0 || req.Do == "" {
				fmt.Fprintln(stderr, "rehearsal: a line on stdin is no request and is skipped")
			} else {
				select {
				case reqs <- req:
				case <-quit:
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

var errLineTooLong = errors.New("line too long")

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, errLineTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (s *structured) send(m wire.Message) {
	line, err := json.Marshal(m)
	if err != nil {
		return
	}
	s.wmu.Lock()
	defer s.wmu.Unlock()
	s.out.Write(append(line, '\n'))
}

func (s *structured) reply(req wire.Request, m wire.Message) {
	m.Reply, m.ID = req.Do, req.ID
	s.send(m)
}

func (s *structured) fail(req wire.Request, code, text string) {
	s.reply(req, wire.Message{Error: &wire.Error{Code: code, Text: text}})
}

func (s *structured) Block(b wire.Block) { s.send(wire.Message{Event: wire.EventBlock, Block: &b}) }
func (s *structured) Append(id, text string) {
	s.send(wire.Message{Event: wire.EventAppend, BlockID: id, Text: text})
}
func (s *structured) Turn(t wire.Turn) {
	if s.opt.Noise {
		s.wmu.Lock()
		fmt.Fprintln(s.out, "[dev] 200 GET /assets  id=1")
		s.wmu.Unlock()
	}
	s.send(wire.Message{Event: wire.EventTurn, Turn: &t})
}
func (s *structured) Title(t string) { s.send(wire.Message{Event: wire.EventTitle, Text: t}) }
func (s *structured) Settings(in wire.Settings) {
	s.send(wire.Message{Event: wire.EventSettings, Settings: &in})
}
func (s *structured) Usage(u wire.Usage) { s.send(wire.Message{Event: wire.EventUsage, Usage: &u}) }
func (s *structured) Delivery(clientID, state string) {
	s.send(wire.Message{Event: wire.EventDelivery, ClientID: clientID, Delivery: state})
}

func (s *structured) Ask(ctx context.Context, a wire.Ask, posed func()) (wire.Answer, error) {
	ch := make(chan wire.Answer, 1)
	s.mu.Lock()
	s.asks[a.ID] = ch
	s.mu.Unlock()
	posed()
	s.send(wire.Message{Event: wire.EventAsk, Ask: &a})
	s.opt.die("ask")
	select {
	case ans := <-ch:
		return ans, nil
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.asks, a.ID)
		s.mu.Unlock()
		s.send(wire.Message{Event: wire.EventWithdraw, AskID: a.ID})
		return wire.Answer{}, ctx.Err()
	}
}
