package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Bounds of what comes in. Only what carries attachments may be larger than a
// payload.
const (
	maxFrame    = 24 << 20
	maxAtOnce   = 256
	helloMethod = "host.hello"
)

var largeMethods = map[string]bool{"chats.send": true, "attachments.add": true}

// Caller is the other end of a connection: Pid and UID as the kernel tells
// them (who connected: for a page that is its shell), the rest as it said in
// its hello.
type Caller struct {
	Pid, UID int
	Hello    Hello
	conn     *conn
}

// Client is window, cli, browser, bench or test; "" before hello.
func (c *Caller) Client() string { return c.Hello.Client }

// Close ends the connection; the client sees the reason.
func (c *Caller) Close(reason string) { c.conn.end(websocket.StatusGoingAway, reason) }

// Afterwards runs f once the answer of the call that is being handled is queued;
// used by what ends the host. Only for calls that are handled in order.
func (c *Caller) Afterwards(f func()) {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	c.conn.after = append(c.conn.after, f)
}

// conn is one connection: a reader, a worker for calls in order, a writer.
type conn struct {
	server *Server
	ws     *websocket.Conn
	caller *Caller
	out    *outgoing
	ctx    context.Context
	cancel context.CancelFunc
	calls  chan request
	slots  chan struct{}  // bounds concurrent calls
	wg     sync.WaitGroup // worker, writer, concurrent calls

	mu      sync.Mutex
	gone    bool
	topics  map[*topic]struct{}
	streams map[uint32]*Stream
	lastID  uint32
	after   []func()
}

func newConn(s *Server, ws *websocket.Conn, caller *Caller) *conn {
	ctx, cancel := context.WithCancel(context.Background())
	ws.SetReadLimit(maxFrame)
	c := &conn{
		server: s, ws: ws, caller: caller, out: newOutgoing(), ctx: ctx, cancel: cancel,
		calls: make(chan request, maxAtOnce), slots: make(chan struct{}, maxAtOnce),
		topics: map[*topic]struct{}{}, streams: map[uint32]*Stream{},
	}
	caller.conn = c
	return c
}

// run reads until the connection ends and waits for all that it started.
func (c *conn) run() {
	c.wg.Add(2)
	go c.write()
	go c.work()
	for {
		typ, data, err := c.ws.Read(c.ctx)
		if err != nil {
			break
		}
		if typ == websocket.MessageBinary {
			c.binary(data)
		} else {
			c.text(data)
		}
	}
	c.cancel()
	close(c.calls)
	c.out.close()
	_ = c.ws.CloseNow()
	c.mu.Lock()
	c.gone = true
	topics := slices.Collect(maps.Keys(c.topics))
	streams := slices.Collect(maps.Values(c.streams))
	c.mu.Unlock()
	for _, t := range topics {
		t.leave(c)
	}
	for _, s := range streams {
		s.Close()
	}
	c.wg.Wait()
}

// end closes the connection after what was answered has been written; a client
// that does not read is not waited for.
func (c *conn) end(code websocket.StatusCode, reason string) {
	late := time.AfterFunc(time.Second, c.cancel)
	c.out.drain()
	late.Stop()
	_ = c.ws.Close(code, reason)
	c.cancel()
}

func (c *conn) write() {
	defer c.wg.Done()
	for {
		f, ok := c.out.next()
		if !ok {
			select {
			case <-c.out.wake:
				continue
			case <-c.ctx.Done():
				return
			}
		}
		if err := c.ws.Write(c.ctx, f.typ, f.data); err != nil {
			c.cancel()
			return
		}
	}
}

func (c *conn) text(data []byte) {
	var r request
	if err := Decode(data, &r); err != nil || r.JSONRPC != "2.0" || r.Method == "" {
		code := rpcInvalid
		if !json.Valid(data) {
			code = rpcParse
		}
		e := &Error{Code: CodeInvalid, Message: "That is not a JSON-RPC 2.0 request."}
		if err != nil {
			e.Message = "That is not a JSON-RPC 2.0 request: " + err.Error() + "."
		}
		var id struct{ ID json.RawMessage }
		_ = json.Unmarshal(data, &id) // so that the one who asked learns it
		c.fail(id.ID, code, e)
		return
	}
	if r.Method == "ack" {
		var a Ack
		if err := Decode(r.Params, &a); err == nil {
			c.out.ack(a.Seq)
		}
		return
	}
	if len(r.ID) == 0 {
		return // no other notifications are known
	}
	if len(data) > agent.LimitPayloadBytes && !largeMethods[r.Method] {
		c.fail(r.ID, rpcFailed, &Error{Code: CodeInvalid, Message: "The request is larger than 256 KiB."})
		return
	}
	c.out.wait()
	h, ok := c.server.handlers[r.Method]
	if ok && h.concurrent && c.ready() {
		select {
		case c.slots <- struct{}{}:
		case <-c.ctx.Done():
			return
		}
		c.wg.Add(1)
		go func() {
			defer c.wg.Done()
			defer func() { <-c.slots }()
			c.call(r, h)
		}()
		return
	}
	select {
	case c.calls <- r:
	case <-c.ctx.Done():
	}
}

// ready tells whether hello was said; before it nothing runs beside it.
func (c *conn) ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caller.Hello.Protocol != 0
}

func (c *conn) work() {
	defer c.wg.Done()
	for r := range c.calls {
		if c.ctx.Err() != nil {
			continue
		}
		h, ok := c.server.handlers[r.Method]
		switch {
		case r.Method == helloMethod && ok:
			c.hello(r, h)
		case !c.ready():
			c.fail(r.ID, rpcFailed, &Error{Code: CodeInvalid, Message: "The first call must be host.hello."})
		case r.Method == "events.subscribe":
			c.subscribe(r)
		case r.Method == "events.unsubscribe":
			c.unsubscribe(r)
		case ok:
			c.call(r, h)
		default:
			c.fail(r.ID, rpcUnknown, &Error{Code: CodeNotFound, Message: "There is no method " + r.Method + "."})
		}
	}
}

func (c *conn) hello(r request, h handler) {
	var hello Hello
	if err := Decode(r.Params, &hello); err != nil {
		c.fail(r.ID, rpcFailed, &Error{Code: CodeInvalid, Message: "The hello cannot be read: " + err.Error() + "."})
		return
	}
	if hello.Protocol != Protocol {
		c.fail(r.ID, rpcFailed, &Error{
			Code:    CodeVersion,
			Message: fmt.Sprintf("The host speaks version %d of the API and this program version %d.", Protocol, hello.Protocol),
			Fix:     "whippletree host stop",
		})
		return
	}
	if c.ready() {
		c.fail(r.ID, rpcFailed, &Error{Code: CodeInvalid, Message: "host.hello was said before."})
		return
	}
	c.mu.Lock()
	c.caller.Hello = hello
	c.mu.Unlock()
	if c.server.opts.Opened != nil {
		c.server.opts.Opened(c.caller)
	}
	c.call(r, h)
}

// call runs one handler; a panic in it is that call's failure.
func (c *conn) call(r request, h handler) {
	result, err := func() (result any, err error) {
		defer func() {
			if p := recover(); p != nil {
				c.server.opts.Log.Error("handler panicked", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
				err = &Error{Code: CodeInternal, Message: "The host failed inside; its log says where.", Fix: "whippletree doctor"}
			}
		}()
		return h.call(c.ctx, c.caller, r.Params)
	}()
	if err != nil {
		c.fail(r.ID, rpcFailed, err)
		return
	}
	c.reply(r.ID, result)
	if a, ok := result.(Attached); ok {
		c.startStream(a.Stream)
	}
	c.mu.Lock()
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
}

func (c *conn) subscribe(r request) {
	var req Subscribe
	if err := Decode(r.Params, &req); err != nil {
		c.fail(r.ID, rpcFailed, &Error{Code: CodeInvalid, Message: "The subscription cannot be read: " + err.Error() + "."})
		return
	}
	t := c.server.opts.Hub.topic(req.Topic)
	if t == nil {
		c.fail(r.ID, rpcFailed, &Error{Code: CodeNotFound, Message: "There is no topic " + req.Topic + "."})
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	if err := t.subscribe(ctx, c, req, func(v any) { c.reply(r.ID, v) }); err != nil {
		c.server.opts.Hub.release(t)
		c.fail(r.ID, rpcFailed, err)
	}
}

func (c *conn) unsubscribe(r request) {
	var req Topic
	if err := Decode(r.Params, &req); err != nil {
		c.fail(r.ID, rpcFailed, &Error{Code: CodeInvalid, Message: "The topic cannot be read: " + err.Error() + "."})
		return
	}
	if t := c.server.opts.Hub.topic(req.Topic); t != nil {
		t.leave(c)
		c.server.opts.Hub.release(t)
	}
	c.reply(r.ID, None{})
}

// remember notes a topic for the end of the connection; false: it has ended.
func (c *conn) remember(t *topic) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false
	}
	c.topics[t] = struct{}{}
	return true
}

func (c *conn) forget(t *topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.topics, t)
}

// gapAll gives up on everything this connection has not read.
func (c *conn) gapAll() {
	c.mu.Lock()
	topics := slices.Collect(maps.Keys(c.topics))
	clear(c.topics)
	c.mu.Unlock()
	var events [][]byte
	for _, t := range topics {
		events = append(events, t.gapFor(c))
	}
	c.out.gap(events)
}
