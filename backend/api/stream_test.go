package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/coder/websocket"

	"github.com/whippletree-app/whippletree/backend/api"
)

// echo is the owner of a terminal that prints what is typed.
type echo struct {
	stream *api.Stream
	acked  chan uint64
	closed chan struct{}
}

func (e *echo) Input(b []byte) { e.stream.Output(b) }
func (e *echo) Acked(n uint64) { e.acked <- n }
func (e *echo) Closed()        { close(e.closed) }
func newEcho() *echo           { return &echo{acked: make(chan uint64, 64), closed: make(chan struct{})} }
func (e *echo) bind(h *host) {
	api.Handle(h.server, "terminals.attach", func(_ context.Context, c *api.Caller, _ api.AttachTerminal) (api.Attached, error) {
		e.stream = c.OpenStream(e)
		// Before the answer: the client cannot know the stream yet.
		e.stream.Replay(bytes.Repeat([]byte("r"), 100<<10))
		e.stream.ReplayEnd()
		return api.Attached{Stream: e.stream.ID()}, nil
	})
	api.Handle(h.server, "terminals.detach", func(_ context.Context, c *api.Caller, r api.DetachTerminal) (api.None, error) {
		c.Stream(r.Stream).Close()
		return api.None{}, nil
	})
}

func TestTerminalStream(t *testing.T) {
	e := newEcho()
	h := newHost(t, "e", e.bind)
	c := h.client(api.ClientOptions{})
	var replayed int
	order, output := make(chan string, 8), make(chan string, 8)
	st, _, err := c.Attach(t.Context(), api.AttachTerminal{ID: "t"}, api.TerminalReader{
		Replay:    func(b []byte) { replayed += len(b) },
		ReplayEnd: func() { order <- "end" },
		Output:    func(b []byte) { output <- string(b) },
	})
	if err != nil {
		t.Fatal(err)
	}
	within(t, order)
	if replayed != 100<<10 {
		t.Errorf("%d bytes of replay", replayed)
	}
	for n := uint64(0); n < 100<<10; n = within(t, e.acked) { // what was consumed is told
	}
	if err := st.Input([]byte("typed")); err != nil {
		t.Fatal(err)
	}
	if got := within(t, output); got != "typed" {
		t.Error(got)
	}
	if err := st.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	within(t, e.closed)
}

// The answer that names a stream leaves before its first frame, and a lost
// connection closes the stream.
func TestStreamBeginsAfterItsAnswer(t *testing.T) {
	e := newEcho()
	h := newHost(t, "e", e.bind)
	ws := dialRaw(t, h.socket, nil)
	hello(t, ws)
	send(t, ws, `{"jsonrpc":"2.0","id":1,"method":"terminals.attach","params":{"id":"t","cols":1,"rows":1}}`)
	r := receive(t, ws)
	var a api.Attached
	if err := json.Unmarshal(r.Result, &a); err != nil || a.Stream == 0 {
		t.Fatalf("%s %v", r.Result, err)
	}
	typ, data, err := ws.Read(t.Context())
	if err != nil || typ != websocket.MessageBinary {
		t.Fatal(typ, err)
	}
	if kind, stream, _, ok := api.ParseFrame(data); !ok || kind != api.FrameReplay || stream != a.Stream {
		t.Errorf("%d %d %v", kind, stream, ok)
	}
	_ = ws.CloseNow()
	within(t, e.closed)
}
