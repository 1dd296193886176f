package api

import (
	"encoding/binary"
	"sync"

	"github.com/coder/websocket"
)

// StreamEnd is what the owner of a terminal does with what a client sends on a
// stream. Calls come from the connection's reader and must not block for long;
// nothing is called after Closed.
type StreamEnd interface {
	Input(data []byte)
	// Acked tells how many bytes of replay and output the client has consumed
	// since the stream began.
	Acked(total uint64)
	Closed()
}

// Stream is one attachment of a connection to a terminal.
type Stream struct {
	conn *conn
	id   uint32
	end  StreamEnd
	once sync.Once

	mu      sync.Mutex
	started bool
	held    [][]byte // frames from before the answer that tells the id
}

// OpenStream gives the connection a stream. Its frames leave after the answer
// Attached that names it. nil when the connection has ended.
func (c *Caller) OpenStream(end StreamEnd) *Stream {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if c.conn.gone {
		return nil
	}
	c.conn.lastID++
	s := &Stream{conn: c.conn, id: c.conn.lastID, end: end}
	c.conn.streams[s.id] = s
	return s
}

// Stream finds a stream of this connection; nil when there is none.
func (c *Caller) Stream(id uint32) *Stream {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	return c.conn.streams[id]
}

// ID is what Attached answers.
func (s *Stream) ID() uint32 { return s.id }

// Replay queues bytes that rebuild the screen, ReplayEnd says that they are
// complete, Output queues what the terminal printed. None blocks: the owner
// counts what Acked tells.
func (s *Stream) Replay(data []byte) { s.send(FrameReplay, data) }
func (s *Stream) ReplayEnd()         { s.send(FrameReplayEnd, nil) }
func (s *Stream) Output(data []byte) { s.send(FrameOutput, data) }

// maxChunk is the most bytes in one binary frame outwards.
const maxChunk = 64 << 10

func (s *Stream) send(kind byte, data []byte) {
	for {
		n := min(len(data), maxChunk)
		b := AppendFrame(make([]byte, 0, FrameHeader+n), kind, s.id, data[:n])
		s.put(b)
		if data = data[n:]; len(data) == 0 {
			return
		}
	}
}

func (s *Stream) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.held = append(s.held, b)
		return
	}
	s.conn.out.put(websocket.MessageBinary, b)
}

// startStream lets the frames of a stream go: its id is on the way.
func (c *conn) startStream(id uint32) {
	c.mu.Lock()
	s := c.streams[id]
	c.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	for _, b := range s.held {
		c.out.put(websocket.MessageBinary, b)
	}
	s.held = nil
}

// Close ends the attachment; the owner's Closed is called once.
func (s *Stream) Close() {
	s.once.Do(func() {
		s.conn.mu.Lock()
		delete(s.conn.streams, s.id)
		s.conn.mu.Unlock()
		s.end.Closed()
	})
}

func (c *conn) binary(data []byte) {
	kind, id, payload, ok := ParseFrame(data)
	if !ok {
		return
	}
	c.mu.Lock()
	s := c.streams[id]
	c.mu.Unlock()
	if s == nil {
		return // detached meanwhile
	}
	switch kind {
	case FrameInput:
		s.end.Input(payload)
	case FrameAck:
		if len(payload) == 8 {
			s.end.Acked(binary.BigEndian.Uint64(payload))
		}
	}
}
