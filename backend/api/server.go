package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Socket path and Host header value of the upgrade request; both are fixed.
const (
	upgradePath = "/ws"
	upgradeHost = "whippletree"
)

// ServerOptions configure a Server. The zero value refuses everybody but the
// user that runs the process.
type ServerOptions struct {
	Hub *Hub
	Log *slog.Logger
	// Explain turns an error of a domain into one of the API; nil when it does
	// not know it.
	Explain func(error) *Error
	// Opened is called after a connection said hello, Closed when it is gone
	// (also when it never said hello). Both from the connection's goroutine.
	Opened func(*Caller)
	Closed func(*Caller)
}

// Server answers the API on a unix socket.
type Server struct {
	opts     ServerOptions
	uid      int
	handlers map[string]handler
	http     *http.Server

	mu     sync.Mutex
	conns  map[*conn]struct{}
	closed bool
	wg     sync.WaitGroup
}

// handler reads params, does the work and returns what to answer.
type handler struct {
	params, result reflect.Type
	concurrent     bool
	call           func(ctx context.Context, c *Caller, params json.RawMessage) (any, error)
}

// NewServer makes a server for the user with this id.
func NewServer(uid int, opts ServerOptions) *Server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, uid: uid, handlers: map[string]handler{}, conns: map[*conn]struct{}{}}
	mux := http.NewServeMux()
	mux.HandleFunc(upgradePath, s.upgrade)
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, netConnKey{}, c)
		},
	}
	return s
}

type netConnKey struct{}

// Handle binds a method. Calls of one connection run one after the other in
// the order they came.
func Handle[P, R any](s *Server, name string, f func(context.Context, *Caller, P) (R, error)) {
	bind(s, name, false, f)
}

// HandleConcurrent binds a method that may take long (it asks an agent, looks
// through a disk, waits for a process): later calls do not wait for it.
func HandleConcurrent[P, R any](s *Server, name string, f func(context.Context, *Caller, P) (R, error)) {
	bind(s, name, true, f)
}

func bind[P, R any](s *Server, name string, concurrent bool, f func(context.Context, *Caller, P) (R, error)) {
	if _, twice := s.handlers[name]; twice {
		panic("api: two handlers for " + name)
	}
	s.handlers[name] = handler{
		params: reflect.TypeFor[P](), result: reflect.TypeFor[R](), concurrent: concurrent,
		call: func(ctx context.Context, c *Caller, raw json.RawMessage) (any, error) {
			var p P
			if len(raw) > 0 {
				if err := Decode(raw, &p); err != nil {
					return nil, &Error{Code: CodeInvalid, Message: "The parameters of " + name + " cannot be read: " + err.Error() + "."}
				}
			}
			return f(ctx, c, p)
		},
	}
}

// Check compares the handlers with the Methods table: every method has one,
// with its shapes, and there is none beside it.
func (s *Server) Check() error {
	var errs []error
	known := map[string]bool{"events.subscribe": true, "events.unsubscribe": true}
	for _, m := range Methods {
		h, ok := s.handlers[m.Name]
		switch {
		case known[m.Name]: // the server's own
		case !ok:
			errs = append(errs, fmt.Errorf("%s has no handler", m.Name))
		case h.params != reflect.TypeOf(m.Params) || h.result != reflect.TypeOf(m.Result):
			errs = append(errs, fmt.Errorf("%s is bound with %v and %v, the table says %T and %T", m.Name, h.params, h.result, m.Params, m.Result))
		}
		known[m.Name] = true
	}
	for name := range s.handlers {
		if !known[name] {
			errs = append(errs, fmt.Errorf("%s is not in the table", name))
		}
	}
	return errors.Join(errs...)
}

// Serve answers on l until Close; it returns http.ErrServerClosed then.
func (s *Server) Serve(l net.Listener) error { return s.http.Serve(l) }

func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	caller, err := s.caller(r)
	if err != nil {
		s.opts.Log.Warn("connection refused", "err", err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	c := newConn(s, ws, caller)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = ws.Close(websocket.StatusGoingAway, "the host is ending")
		return
	}
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	c.run()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	if s.opts.Closed != nil {
		s.opts.Closed(caller)
	}
}

// caller tells who connects. A browser can never reach the socket, so a
// request that has an Origin came through something it should not have.
func (s *Server) caller(r *http.Request) (*Caller, error) {
	if r.Header.Get("Origin") != "" {
		return nil, errors.New("requests with an Origin are not taken on this socket")
	}
	nc, ok := r.Context().Value(netConnKey{}).(*net.UnixConn)
	if !ok {
		return nil, errors.New("only a unix socket tells who is calling")
	}
	pid, uid, err := peer(nc)
	if err != nil {
		return nil, fmt.Errorf("who is calling cannot be told: %w", err)
	}
	if uid != s.uid {
		return nil, fmt.Errorf("user %d may not use the host of user %d", uid, s.uid)
	}
	return &Caller{Pid: pid, UID: uid}, nil
}

// Close ends every connection with the reason and waits until their handlers
// have returned or ctx ends.
func (s *Server) Close(ctx context.Context, reason string) error {
	s.mu.Lock()
	s.closed = true
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	err := s.http.Close() // the listener; hijacked connections are ours to end
	for _, c := range conns {
		go c.end(websocket.StatusGoingAway, reason)
	}
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}
