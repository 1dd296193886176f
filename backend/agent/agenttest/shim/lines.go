package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// noise is what shells, launchers and loggers print between messages (case
// S02). The ids are those of the first requests of many protocols.
var noise = []string{
	"Welcome to the development shell!",
	"\x1b[1;35m* menu\x1b[0m  1) dev  2) test",
	`"ready"`,
	"42",
	"null",
	"[]",
	`{"level":"info","id":1,"msg":"x"}`,
	`{"level":"info","id":"1","request_id":"1","type":"log"}`,
	"",
	"windows line\r",
	`{"half of an object":`,
	"{",
}

// script turns the lines of the agent into those that are written.
type script struct {
	*plan
	said  int          // messages so far
	later func([]byte) // writes a line between two others
}

// line takes one line with its end, and returns what to write for it.
func (s *script) line(l []byte) (out []byte) {
	for i := range s.Moves {
		if m := &s.Moves[i]; !m.done && m.held == nil && m.line.Match(l) {
			m.held = bytes.Clone(l)
			return nil
		}
	}
	out = s.message(l)
	for i := range s.Moves {
		if m := &s.Moves[i]; m.held != nil && m.after.Match(l) {
			out = append(out, s.message(m.held)...)
			m.held, m.done = nil, true
		}
	}
	for i := range s.Repeats {
		switch m := &s.Repeats[i]; {
		case m.done:
		case m.held != nil && m.after.Match(l):
			out = append(out, m.held...)
			m.done = true
		case m.held == nil && m.line.Match(l):
			m.held = bytes.Clone(l)
		}
	}
	for i := range s.Inserts {
		in := &s.Inserts[i]
		if at := in.after.FindSubmatchIndex(l); at != nil && !in.done {
			in.done = true
			text := append(in.after.Expand(nil, []byte(in.Text), l, at), '\n')
			if in.DelayMs > 0 {
				time.AfterFunc(time.Duration(in.DelayMs)*time.Millisecond, func() { s.later(text) })
			} else {
				out = append(out, text...)
			}
		}
	}
	return out
}

// message is one line of the agent with the noise around it.
func (s *script) message(l []byte) (out []byte) {
	s.said++
	switch {
	case s.Noise && s.said == 1:
		out = append(out, strings.Join(noise, "\n")+"\n"...)
	case s.Noise:
		out = append(out, noise[s.said%len(noise)]+"\n"...)
	}
	if s.Pretty && s.said == 1 {
		var b bytes.Buffer
		if json.Indent(&b, bytes.TrimSpace(l), "", "  ") == nil {
			l = append(b.Bytes(), '\n')
		}
	}
	out = append(out, l...)
	if s.Giant > 0 && s.said == 1 {
		out = append(out, bytes.Repeat([]byte("x"), s.Giant)...)
		out = append(out, "\n{\"giant\":\""...)
		out = append(out, bytes.Repeat([]byte("y"), s.Giant)...)
		out = append(out, '\n')
	}
	return out
}

// rest is what is still kept back at the end.
func (s *script) rest() (out []byte) {
	for i := range s.Moves {
		out = append(out, s.Moves[i].held...)
		s.Moves[i].held = nil
	}
	return out
}

// cutter writes in pieces of the sizes of a plan.
type cutter struct {
	mu    sync.Mutex
	cuts  []int
	at    int // of the next piece
	left  int // of the piece that was begun
	write func([]byte) error
}

func (c *cutter) put(p []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cuts) == 0 {
		return c.write(p)
	}
	for len(p) > 0 {
		if c.left == 0 {
			c.left = max(1, c.cuts[c.at%len(c.cuts)])
			c.at++
		}
		n := min(c.left, len(p))
		if err := c.write(p[:n]); err != nil {
			return err
		}
		c.left -= n
		p = p[n:]
	}
	return nil
}
