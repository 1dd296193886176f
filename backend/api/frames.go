package api

import "encoding/binary"

// Protocol is the version of this API; hello refuses another major.
const Protocol = 1

// Kinds of binary frames.
const (
	FrameOutput    = 1 // host -> client: bytes of the terminal
	FrameInput     = 2 // client -> host: keys
	FrameAck       = 3 // client -> host: u64 count of output and replay bytes consumed so far
	FrameReplay    = 4 // host -> client: bytes that rebuild the screen, before any output
	FrameReplayEnd = 5 // host -> client: the screen is rebuilt, output follows
)

// FrameHeader is the length of the head of a binary frame.
const FrameHeader = 5

// AppendFrame appends a binary frame to dst.
func AppendFrame(dst []byte, kind byte, stream uint32, payload []byte) []byte {
	dst = append(dst, kind)
	dst = binary.BigEndian.AppendUint32(dst, stream)
	return append(dst, payload...)
}

// ParseFrame splits a binary frame; ok is false when it is too short.
func ParseFrame(b []byte) (kind byte, stream uint32, payload []byte, ok bool) {
	if len(b) < FrameHeader {
		return 0, 0, nil, false
	}
	return b[0], binary.BigEndian.Uint32(b[1:5]), b[5:], true
}
