package api

import (
	"context"
	"encoding/binary"

	"github.com/coder/websocket"
)

// TerminalReader receives a terminal. Calls come from the client's reader in
// order; Replay comes before Output. Closed is called once, when the stream
// ends with its connection.
type TerminalReader struct {
	Replay    func([]byte)
	ReplayEnd func()
	Output    func([]byte)
	Closed    func()
}

// ClientStream is one attached terminal.
type ClientStream struct {
	link  *link
	id    uint32
	to    TerminalReader
	total uint64
	acked uint64
}

// Attach shows a terminal. It does not come back by itself after a lost
// connection: attach again from Closed.
func (c *Client) Attach(ctx context.Context, req AttachTerminal, to TerminalReader) (*ClientStream, Attached, error) {
	l, err := c.current(ctx)
	if err != nil {
		return nil, Attached{}, err
	}
	var got Attached
	if err := l.call(ctx, "terminals.attach", req, &got); err != nil {
		return nil, Attached{}, err
	}
	s := &ClientStream{link: l, id: got.Stream, to: to}
	l.mu.Lock()
	defer l.mu.Unlock() // the reader waits: what came early is delivered first
	if l.broken {
		return nil, Attached{}, ErrLost
	}
	for _, data := range l.early[s.id] {
		s.frame(data)
	}
	delete(l.early, s.id)
	l.streams[s.id] = s
	return s, got, nil
}

// Input sends keys.
func (s *ClientStream) Input(data []byte) error {
	return s.link.ws.Write(s.link.ctx, websocket.MessageBinary, AppendFrame(nil, FrameInput, s.id, data))
}

// Detach ends the attachment.
func (s *ClientStream) Detach(ctx context.Context) error {
	s.link.mu.Lock()
	delete(s.link.streams, s.id)
	s.link.mu.Unlock()
	var none None
	return s.link.call(ctx, "terminals.detach", DetachTerminal{Stream: s.id}, &none)
}

func (s *ClientStream) closed() {
	if s.to.Closed != nil {
		s.to.Closed()
	}
}

// streamAck is after how many bytes a client acknowledges.
const streamAck = 32 << 10

func (s *ClientStream) frame(data []byte) {
	kind, _, payload, _ := ParseFrame(data)
	switch kind {
	case FrameReplay:
		if s.to.Replay != nil {
			s.to.Replay(payload)
		}
	case FrameReplayEnd:
		if s.to.ReplayEnd != nil {
			s.to.ReplayEnd()
		}
	case FrameOutput:
		if s.to.Output != nil {
			s.to.Output(payload)
		}
	}
	s.total += uint64(len(payload))
	if s.total-s.acked >= streamAck {
		s.acked = s.total
		ack := binary.BigEndian.AppendUint64(nil, s.total)
		_ = s.link.ws.Write(s.link.ctx, websocket.MessageBinary, AppendFrame(nil, FrameAck, s.id, ack))
	}
}

func (l *link) binary(data []byte) {
	_, id, _, ok := ParseFrame(data)
	if !ok {
		return
	}
	l.mu.Lock()
	s := l.streams[id]
	if s == nil && len(l.early) < 64 {
		l.early[id] = append(l.early[id], data)
	}
	l.mu.Unlock()
	if s != nil {
		s.frame(data)
	}
}
