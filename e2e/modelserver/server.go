// Package modelserver is a scripted model provider for tests with real agents:
// it speaks the wire formats the agents speak, plays scenario files, holds a
// stream half-way until told, answers errors and drops connections, and records
// what it was asked. It listens on loopback only.
package modelserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is one scripted provider. Safe for concurrent use.
type Server struct {
	scenarios map[string]*Scenario
	listener  net.Listener
	http      *http.Server
	closing   chan struct{}

	mu       sync.Mutex
	asked    []Request
	counters map[string]int // how often a failing step was asked
	messages int
	holds    map[string]*hold
	changed  chan struct{} // closed and replaced when asked or held changes
}

// Request is what one model call asked, for assertions.
type Request struct {
	Path      string          `json:"path"`
	UserAgent string          `json:"userAgent"`
	Wire      string          `json:"wire"`
	Model     string          `json:"model"`
	Side      bool            `json:"side"` // a title, count or probe, not a turn
	Scenario  string          `json:"scenario"`
	Step      int             `json:"step"`
	Tools     []string        `json:"tools"`
	Thinking  string          `json:"thinking"` // how reasoning is to be shown
	Prompt    string          `json:"prompt"`   // the newest text of the user
	System    string          `json:"system"`
	Raw       json.RawMessage `json:"-"`
	At        time.Time       `json:"at"`
}

type hold struct {
	held     int // streams that stand here now
	released bool
	open     chan struct{}
}

// New loads the built-in scenarios and starts to listen on a random loopback
// port. extra replaces or adds scenarios.
func New(extra ...*Scenario) (*Server, error) {
	return NewAt("127.0.0.1:0", extra...)
}

// NewAt listens on addr, which must be a loopback address.
func NewAt(addr string, extra ...*Scenario) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s is not a loopback address", addr)
	}
	builtin, err := Builtin()
	if err != nil {
		return nil, err
	}
	s := &Server{
		scenarios: builtin, counters: map[string]int{}, holds: map[string]*hold{},
		closing: make(chan struct{}), changed: make(chan struct{}),
	}
	for _, sc := range extra {
		s.scenarios[sc.Name] = sc
	}
	if s.listener, err = net.Listen("tcp", addr); err != nil {
		return nil, err
	}
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(s.listener) }()
	return s, nil
}

// URL is the base address, without a slash at the end.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close ends all streams and the listener.
func (s *Server) Close() error {
	close(s.closing)
	return s.http.Close()
}

// Handler serves the model APIs and the control paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, anthropic{}) })
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reply(w, map[string]any{"input_tokens": 100})
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		reply(w, map[string]any{"data": []any{}, "has_more": false})
	})
	mux.HandleFunc("POST /_control/release", func(w http.ResponseWriter, r *http.Request) {
		s.Release(r.FormValue("hold"))
		reply(w, map[string]any{})
	})
	mux.HandleFunc("GET /_control/held", func(w http.ResponseWriter, r *http.Request) {
		if err := s.WaitHeld(r.Context(), r.FormValue("hold")); err != nil {
			http.Error(w, err.Error(), http.StatusGone)
			return
		}
		reply(w, map[string]any{})
	})
	mux.HandleFunc("GET /_control/requests", func(w http.ResponseWriter, r *http.Request) { reply(w, s.Requests()) })
	mux.HandleFunc("POST /_control/reset", func(w http.ResponseWriter, r *http.Request) {
		s.Reset()
		reply(w, map[string]any{})
	})
	return mux
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// Requests returns what was asked so far, side calls included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.asked...)
}

// Turns returns what was asked without the side calls.
func (s *Server) Turns() []Request {
	var turns []Request
	for _, r := range s.Requests() {
		if !r.Side {
			turns = append(turns, r)
		}
	}
	return turns
}

// Reset forgets requests, counters and holds.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = nil
	clear(s.counters)
	for _, h := range s.holds {
		if !h.released {
			h.released = true
			close(h.open)
		}
	}
	clear(s.holds)
}

// Release lets the streams go on that stand at the named hold, and all later
// ones; with a name never held it is released in advance.
func (s *Server) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hold(name); !h.released {
		h.released = true
		close(h.open)
	}
}

// WaitHeld returns once a stream stands at the named hold.
func (s *Server) WaitHeld(ctx context.Context, name string) error {
	for {
		s.mu.Lock()
		held, changed := s.hold(name).held > 0, s.changed
		s.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.closing:
			return errors.New("the server ends")
		}
	}
}

// WaitTurns returns once n turns (no side calls) were asked.
func (s *Server) WaitTurns(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if len(s.Turns()) >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.closing:
			return errors.New("the server ends")
		}
	}
}

func (s *Server) hold(name string) *hold {
	h := s.holds[name]
	if h == nil {
		h = &hold{open: make(chan struct{})}
		s.holds[name] = h
	}
	return h
}

func (s *Server) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// stand waits at a hold; false means that the client or the server is gone.
func (s *Server) stand(ctx context.Context, name string) bool {
	s.mu.Lock()
	h := s.hold(name)
	h.held++
	s.tell()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		h.held--
		s.mu.Unlock()
	}()
	select {
	case <-h.open:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

// wire is one provider format.
type wire interface {
	name() string
	// decode reads what is asked. Text is the newest text of the user that
	// counts, Step how many answers were given since.
	decode(body []byte) (Request, error)
	// open begins a streamed answer.
	open(w http.ResponseWriter, id string, req Request) stream
	// fail answers with an error in the format's own shape.
	fail(w http.ResponseWriter, status int, message string)
}

// stream writes one answer, block by block. All calls flush.
type stream interface {
	think(pieces func(yield func(string) bool), signature string) error
	text(pieces func(yield func(string) bool)) error
	tool(id, name string, input json.RawMessage) error
	end(stop string) error
}

var errDropped = errors.New("dropped on purpose")

func (s *Server) serve(w http.ResponseWriter, r *http.Request, format wire) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	req, err := format.decode(body)
	if err != nil {
		format.fail(w, http.StatusBadRequest, err.Error())
		return
	}
	req.Wire, req.Path, req.UserAgent, req.Raw, req.At = format.name(), r.URL.Path, r.UserAgent(), body, time.Now()
	sc, args := s.pick(req.Prompt)
	req.Scenario = sc.Name
	step := sc.step(req.Step)
	s.mu.Lock()
	s.asked = append(s.asked, req)
	s.messages++
	id := fmt.Sprintf("%06d", s.messages)
	key := sc.Name + "/" + strconv.Itoa(req.Step)
	s.counters[key]++
	times := s.counters[key]
	s.tell()
	s.mu.Unlock()

	for name, value := range step.Headers {
		w.Header().Set(name, value)
	}
	if req.Side {
		step = &Step{Blocks: []Block{{Text: `{"title": "Scripted session"}`}}}
	} else if step.Status != 0 && (step.Times == 0 || times <= step.Times) {
		if step.RetryAfter != "" {
			w.Header().Set("Retry-After", step.RetryAfter)
		}
		w.Header().Set("Request-Id", "req_"+id)
		format.fail(w, step.Status, step.Message)
		return
	}
	w.Header().Set("Request-Id", "req_"+id)
	out := format.open(w, id, req)
	if err := s.play(r.Context(), out, step, args, id, times); errors.Is(err, errDropped) {
		s.drop(w)
	}
}

// drop closes the connection in the middle of the answer.
func (s *Server) drop(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if c, _, err := h.Hijack(); err == nil {
			c.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

func (s *Server) play(ctx context.Context, out stream, step *Step, args map[string]string, id string, times int) error {
	stop := "end_turn"
	for i, b := range step.Blocks {
		var err error
		pieces := s.pieces(ctx, step, fill(b.Text+b.Thinking, args), times, &err)
		switch {
		case b.Thinking != "":
			if e := out.think(pieces, "c2lnbmF0dXJl"); e != nil {
				return e
			}
		case b.Tool != "":
			stop = "tool_use"
			if e := out.tool(fmt.Sprintf("toolu_%s_%d", id, i), b.Tool, fillJSON(b.Input, args)); e != nil {
				return e
			}
		default:
			if e := out.text(pieces); e != nil {
				return e
			}
		}
		if err != nil {
			return err
		}
	}
	return out.end(cmp.Or(step.Stop, stop))
}

// pieces cuts a text into deltas, standing at holds and ending at a drop.
func (s *Server) pieces(ctx context.Context, step *Step, text string, times int, err *error) func(yield func(string) bool) {
	size := step.Chunk
	if size <= 0 {
		size = 12
	}
	return func(yield func(string) bool) {
		for text != "" {
			at := strings.Index(text, "<<")
			if at == 0 {
				mark, rest, _ := strings.Cut(text[2:], ">>")
				text = rest
				name, arg, _ := strings.Cut(mark, ":")
				switch name {
				case "hold":
					if !s.stand(ctx, arg) {
						*err = errDropped
						return
					}
				case "drop": // drop:N drops the first N answers only
					if n, _ := strconv.Atoi(arg); n == 0 || times <= n {
						*err = errDropped
						return
					}
				}
				continue
			}
			n := min(size, len(text))
			if at > 0 {
				n = min(n, at)
			}
			for n < len(text) && text[n]&0xC0 == 0x80 { // keep characters whole
				n++
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
			if step.DelayMs > 0 {
				select {
				case <-time.After(time.Duration(step.DelayMs) * time.Millisecond):
				case <-ctx.Done():
					*err = errDropped
					return
				case <-s.closing:
					*err = errDropped
					return
				}
			}
		}
	}
}
