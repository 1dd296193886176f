package native

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// xWait bounds the whole conversation with an X server.
const xWait = 3 * time.Second

// Codes of the X protocol that are used here.
const (
	xChangeAttributes      = 2
	xMapWindow             = 8
	xConfigureWindow       = 12
	xQueryTree             = 15
	xInternAtom            = 16
	xGetProperty           = 20
	xSendEvent             = 25
	xSetInputFocus         = 42
	xGetInputFocus         = 43
	xClientMessage         = 33
	xPropertyNotify        = 28
	xEventPropertyChange   = 1 << 22
	xEventSubstructure     = 1<<19 | 1<<20
	xSourcePager           = 2 // a window manager must not refuse a pager
	xAttributeEventMask    = 1 << 11
	xConfigureStackMode    = 1 << 6
	xRevertToParent        = 2
	xMaxWindows            = 4096
	xMaxReply              = 1 << 20
	xAtomWindow, xCardinal = 33, 6
)

// xConn speaks just enough of the X protocol to activate a window, so that no
// tool has to be installed for it. Little-endian, one request at a time.
type xConn struct {
	c    net.Conn
	r    *bufio.Reader
	seq  uint16
	root uint32
}

func dialX(ctx context.Context, display, authority string) (*xConn, error) {
	host, number, err := parseDisplay(display)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: xWait}
	var c net.Conn
	if host == "" || host == "unix" {
		c, err = d.DialContext(ctx, "unix", "/tmp/.X11-unix/X"+number)
		if err != nil {
			c, err = d.DialContext(ctx, "unix", "@/tmp/.X11-unix/X"+number)
		}
	} else {
		n, _ := strconv.Atoi(number)
		c, err = d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(6000+n)))
	}
	if err != nil {
		return nil, fmt.Errorf("the display %s cannot be reached: %w", display, err)
	}
	x := &xConn{c: c, r: bufio.NewReader(c)}
	_ = c.SetDeadline(time.Now().Add(xWait))
	if err := x.setup(cookie(authority, number)); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

func (x *xConn) close() { _ = x.c.Close() }

// parseDisplay reads "host:number.screen".
func parseDisplay(s string) (host, number string, err error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", "", fmt.Errorf("%q is not a display", s)
	}
	host = s[:i]
	number, _, _ = strings.Cut(s[i+1:], ".")
	if !isDigits(number) {
		return "", "", fmt.Errorf("%q is not a display", s)
	}
	return host, number, nil
}

// cookie finds the MIT-MAGIC-COOKIE-1 of a display; none is no error, the
// server then decides by the user.
func cookie(path, number string) []byte {
	if path == "" || !filepath.IsAbs(path) {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return cookieIn(b, number)
}

// cookieIn finds the cookie of a display's number in the bytes of an authority
// file; one without a number counts for all.
func cookieIn(b []byte, number string) []byte {
	var any []byte
	for len(b) > 2 {
		b = b[2:]
		var f [4][]byte // address, number, name, data
		for i := range f {
			if len(b) < 2 {
				return any
			}
			n := int(binary.BigEndian.Uint16(b))
			if len(b) < 2+n {
				return any
			}
			f[i], b = b[2:2+n], b[2+n:]
		}
		if string(f[2]) != "MIT-MAGIC-COOKIE-1" {
			continue
		}
		if string(f[1]) == number {
			return f[3]
		}
		if len(f[1]) == 0 {
			any = f[3]
		}
	}
	return any
}

func pad4(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

var le = binary.LittleEndian

func (x *xConn) setup(key []byte) error {
	name := ""
	if len(key) > 0 {
		name = "MIT-MAGIC-COOKIE-1"
	}
	req := []byte{'l', 0}
	req = le.AppendUint16(req, 11)
	req = le.AppendUint16(req, 0)
	req = le.AppendUint16(req, uint16(len(name)))
	req = le.AppendUint16(req, uint16(len(key)))
	req = append(req, 0, 0)
	req = pad4(append(req, name...))
	req = pad4(append(req, key...))
	if _, err := x.c.Write(req); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(x.r, head[:]); err != nil {
		return err
	}
	body := make([]byte, 4*int(le.Uint16(head[6:])))
	if _, err := io.ReadFull(x.r, body); err != nil {
		return err
	}
	if head[0] != 1 {
		return errors.New("the X server refuses the connection (XAUTHORITY)")
	}
	// Fixed part of 32 bytes, vendor, formats of 8 bytes each, then the first screen.
	if len(body) < 32 {
		return errors.New("the X server's answer is too short")
	}
	at := 32 + (int(le.Uint16(body[16:]))+3)&^3 + 8*int(body[21])
	if len(body) < at+4 {
		return errors.New("the X server's answer is too short")
	}
	x.root = le.Uint32(body[at:])
	return nil
}

// send writes a request; data is padded.
func (x *xConn) send(op, arg byte, data []byte) error {
	data = pad4(data)
	req := []byte{op, arg}
	req = le.AppendUint16(req, uint16(1+len(data)/4))
	x.seq++
	_, err := x.c.Write(append(req, data...))
	return err
}

// errX is an error event, of a window that is gone for example.
var errX = errors.New("the X server refuses the request")

// reply waits for the answer to the last request; events before it are left out.
func (x *xConn) reply() ([]byte, error) {
	for {
		b, err := x.next()
		if err != nil {
			return nil, err
		}
		if b[0] > 1 || le.Uint16(b[2:]) != x.seq {
			continue
		}
		if b[0] == 0 {
			return nil, errX
		}
		return b, nil
	}
}

// next reads one reply, event or error whole.
func (x *xConn) next() ([]byte, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(x.r, b); err != nil {
		return nil, err
	}
	if b[0] == 1 {
		n := int(le.Uint32(b[4:])) * 4
		if n > xMaxReply {
			return nil, errors.New("the X server's answer is too long")
		}
		rest := make([]byte, n)
		if _, err := io.ReadFull(x.r, rest); err != nil {
			return nil, err
		}
		b = append(b, rest...)
	}
	return b, nil
}

func (x *xConn) atom(name string) (uint32, error) {
	data := le.AppendUint16(nil, uint16(len(name)))
	data = append(data, 0, 0)
	if err := x.send(xInternAtom, 0, append(data, name...)); err != nil {
		return 0, err
	}
	b, err := x.reply()
	if err != nil {
		return 0, err
	}
	return le.Uint32(b[8:]), nil
}

// property reads a list of 32-bit values; none is no error.
func (x *xConn) property(window uint32, name string, kind uint32) ([]uint32, error) {
	a, err := x.atom(name)
	if err != nil {
		return nil, err
	}
	var data []byte
	for _, v := range []uint32{window, a, kind, 0, xMaxWindows} {
		data = le.AppendUint32(data, v)
	}
	if err := x.send(xGetProperty, 0, data); err != nil {
		return nil, err
	}
	b, err := x.reply()
	if err != nil {
		return nil, err
	}
	if b[1] != 32 {
		return nil, nil
	}
	n := int(le.Uint32(b[16:]))
	var out []uint32
	for i := range n {
		if 32+4*i+4 > len(b) {
			break
		}
		out = append(out, le.Uint32(b[32+4*i:]))
	}
	return out, nil
}
