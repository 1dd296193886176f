package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/whippletree-app/whippletree/backend/model"
)

// ClientOptions configure a Client. Dial is called for every attempt; see
// DialSocket. Hello.Protocol is filled in.
type ClientOptions struct {
	Dial  func(ctx context.Context) (net.Conn, error)
	Hello Hello
	// Reconnect makes the client dial again whenever the connection is lost,
	// until Close; subscriptions go on where they were.
	Reconnect bool
	// Up is called after each successful hello, Down when a connection is lost.
	Up   func(model.HostInfo)
	Down func(error)
}

// DialSocket dials the host's socket.
func DialSocket(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
}

// ErrClosed is what calls return on a closed client, ErrLost what a call
// returns whose connection broke before the answer: whether it was carried out
// is not known.
var (
	ErrClosed = errors.New("the connection to the host is closed")
	ErrLost   = errors.New("the connection to the host was lost")
)

// Client is one connection to a host, restored when it breaks if asked to.
type Client struct {
	opts   ClientOptions
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	link    *link // nil while there is none
	up      chan struct{}
	info    model.HostInfo
	subs    map[string]*ClientSubscription
	err     error
	closeFn sync.Once
}

// link is one WebSocket with the calls that wait on it.
type link struct {
	ws     *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	nextID  uint64
	waiting map[uint64]chan answer
	streams map[uint32]*ClientStream
	early   map[uint32][][]byte // frames before Attach has the stream
	broken  bool
	events  uint64 // event notifications received
	acked   uint64
	bytes   int
}

type answer struct {
	result json.RawMessage
	err    error
}

// NewClient dials, says hello and returns once the host has answered.
func NewClient(ctx context.Context, opts ClientOptions) (*Client, error) {
	opts.Hello.Protocol = Protocol
	c := &Client{opts: opts, done: make(chan struct{}), up: make(chan struct{}), subs: map[string]*ClientSubscription{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	l, err := c.connect(ctx)
	if err != nil {
		c.cancel()
		return nil, err
	}
	go c.supervise(l)
	select {
	case <-c.ready():
		return c, nil
	case <-c.done: // refused, or lost before hello was answered
		c.cancel()
		return nil, c.Err()
	case <-ctx.Done():
		c.Close()
		return nil, ctx.Err()
	}
}

// Err is why the client does not connect any more; nil while it does.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Client) connect(ctx context.Context) (*link, error) {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.opts.Dial(ctx) },
	}
	ws, _, err := websocket.Dial(ctx, "ws://"+upgradeHost+upgradePath, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(maxFrame)
	l := &link{ws: ws, waiting: map[uint64]chan answer{}, streams: map[uint32]*ClientStream{}, early: map[uint32][][]byte{}}
	l.ctx, l.cancel = context.WithCancel(c.ctx)
	return l, nil
}

// supervise owns the connection: reads it, and dials again.
func (c *Client) supervise(l *link) {
	defer close(c.done)
	for {
		err := c.serve(l)
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		if c.opts.Down != nil && c.ctx.Err() == nil {
			c.opts.Down(err)
		}
		var refused *Error // the host's own word: trying again changes nothing
		if !c.opts.Reconnect || c.ctx.Err() != nil || errors.As(err, &refused) {
			return
		}
		if l = c.redial(); l == nil {
			return
		}
		c.mu.Lock()
		c.err = nil
		c.mu.Unlock()
	}
}

// redial tries until it works; nil when the client is closed.
func (c *Client) redial() *link {
	wait := 20 * time.Millisecond
	for c.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
		l, err := c.connect(ctx)
		cancel()
		if err == nil {
			return l
		}
		select {
		case <-time.After(wait):
		case <-c.ctx.Done():
		}
		wait = min(2*wait, time.Second)
	}
	return nil
}

// serve runs one connection to its end.
func (c *Client) serve(l *link) error {
	var wg sync.WaitGroup
	read := make(chan error, 1)
	wg.Go(func() { read <- c.read(l) })
	err := c.begin(l)
	if err == nil {
		err = <-read
	} else {
		l.cancel()
		<-read
	}
	c.mu.Lock()
	if c.link == l {
		c.link, c.up = nil, make(chan struct{})
	}
	c.mu.Unlock()
	l.end()
	wg.Wait()
	return err
}

// begin says hello and subscribes again.
func (c *Client) begin(l *link) error {
	ctx, cancel := context.WithTimeout(l.ctx, 10*time.Second)
	defer cancel()
	var hello HelloResult
	if err := l.call(ctx, helloMethod, c.opts.Hello, &hello); err != nil {
		return err
	}
	c.mu.Lock()
	c.info = hello.Host
	c.link = l
	close(c.up)
	subs := make([]*ClientSubscription, 0, len(c.subs))
	for _, s := range c.subs {
		subs = append(subs, s)
	}
	c.mu.Unlock()
	if c.opts.Up != nil {
		c.opts.Up(hello.Host)
	}
	for _, s := range subs {
		if err := s.again(ctx, l); err != nil && l.ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func (c *Client) ready() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}

// Host is what the last hello answered.
func (c *Client) Host() model.HostInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}

// Done is closed when the client will not connect any more.
func (c *Client) Done() <-chan struct{} { return c.done }

// Close ends the connection. No callback runs after it has returned.
func (c *Client) Close() {
	c.closeFn.Do(func() {
		c.mu.Lock()
		l := c.link
		c.mu.Unlock()
		if l != nil {
			_ = l.ws.Close(websocket.StatusNormalClosure, "")
		}
		c.cancel()
	})
	<-c.done
}

// Call calls a method. With Reconnect it waits for a connection; a call that
// is under way when the connection breaks returns ErrLost.
func Call[R any](ctx context.Context, c *Client, method string, params any) (R, error) {
	var result R
	l, err := c.current(ctx)
	if err != nil {
		return result, err
	}
	err = l.call(ctx, method, params, &result)
	return result, err
}

func (c *Client) current(ctx context.Context) (*link, error) {
	for {
		c.mu.Lock()
		l, up := c.link, c.up
		c.mu.Unlock()
		if l != nil {
			return l, nil
		}
		select {
		case <-up:
		case <-c.done:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *link) call(ctx context.Context, method string, params, result any) error {
	ch := make(chan answer, 1)
	l.mu.Lock()
	if l.broken {
		l.mu.Unlock()
		return ErrLost
	}
	l.nextID++
	id := l.nextID
	l.waiting[id] = ch
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
	}()
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	// A cancelled write would tear the connection down; the link's own end is
	// what stops it.
	if err := l.ws.Write(l.ctx, websocket.MessageText, data); err != nil {
		return ErrLost
	}
	select {
	case a := <-ch:
		if a.err != nil {
			return a.err
		}
		return json.Unmarshal(a.result, result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end makes every waiting call return.
func (l *link) end() {
	l.cancel()
	_ = l.ws.CloseNow()
	l.mu.Lock()
	l.broken = true
	for id, ch := range l.waiting {
		ch <- answer{err: ErrLost}
		delete(l.waiting, id)
	}
	streams := l.streams
	l.streams = map[uint32]*ClientStream{}
	l.mu.Unlock()
	for _, s := range streams {
		s.closed()
	}
}

// message is anything the host sends as text.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

func (c *Client) read(l *link) error {
	for {
		typ, data, err := l.ws.Read(l.ctx)
		if err != nil {
			l.end()
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
		if typ == websocket.MessageBinary {
			l.binary(data)
			continue
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			continue
		}
		if m.Method == "event" {
			c.event(l, m.Params, len(data))
			continue
		}
		id, err := strconv.ParseUint(string(m.ID), 10, 64)
		if err != nil {
			continue
		}
		a := answer{result: m.Result}
		switch {
		case m.Error != nil && m.Error.Data != nil:
			a.err = m.Error.Data
		case m.Error != nil:
			a.err = &Error{Code: CodeInternal, Message: m.Error.Message}
		}
		l.mu.Lock()
		ch := l.waiting[id]
		delete(l.waiting, id)
		l.mu.Unlock()
		if ch != nil {
			ch <- a
		}
	}
}
