package processes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers of <linux/cn_proc.h> and <linux/connector.h>.
const (
	cnIdxProc         = 1
	cnValProc         = 1
	cnMcastListen     = 1
	procEventNone     = 0
	procEventExec     = 2
	cnHeader          = 20
	eventWhat         = unix.NLMSG_HDRLEN + cnHeader // offset of proc_event.what
	eventData         = eventWhat + 16               // after what, cpu, timestamp
	subscribeTimeout  = time.Second
	connectorReadSize = 64 << 10
)

// connector is the proc connector: a netlink multicast of fork, exec and exit.
// Kernels before 6.6 want CAP_NET_ADMIN for it.
type connector struct {
	f   *os.File
	buf []byte
}

func openEventStream() (eventStream, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, err
	}
	c := &connector{buf: make([]byte, connectorReadSize)}
	if err := c.subscribe(fd); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	c.f = os.NewFile(uintptr(fd), "proc connector")
	if err := c.confirm(); err != nil {
		_ = c.f.Close()
		return nil, err
	}
	return c, nil
}

func (c *connector) subscribe(fd int) error {
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: cnIdxProc}); err != nil {
		return err
	}
	if err := filterExec(fd); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	msg := make([]byte, 0, unix.NLMSG_HDRLEN+cnHeader+4)
	ne := binary.NativeEndian
	msg = ne.AppendUint32(msg, uint32(cap(msg)))
	msg = ne.AppendUint16(msg, unix.NLMSG_DONE)
	msg = ne.AppendUint16(msg, 0)
	msg = ne.AppendUint32(msg, 0)
	msg = ne.AppendUint32(msg, uint32(os.Getpid()))
	msg = ne.AppendUint32(msg, cnIdxProc)
	msg = ne.AppendUint32(msg, cnValProc)
	msg = ne.AppendUint32(msg, 0) // seq
	msg = ne.AppendUint32(msg, 0) // ack
	msg = ne.AppendUint16(msg, 4)
	msg = ne.AppendUint16(msg, 0)
	msg = ne.AppendUint32(msg, cnMcastListen)
	return unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// filterExec lets only exec events (and the answer to the subscription)
// through, so that forks and exits elsewhere do not wake the host.
func filterExec(fd int) error {
	// A classic filter loads in network order, the kernel writes in its own.
	what := func(v uint32) uint32 {
		if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
			return bits.ReverseBytes32(v)
		}
		return v
	}
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: eventWhat},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: what(procEventExec), Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: what(procEventNone), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(prog)), Filter: (*unix.SockFilter)(unsafe.Pointer(&prog[0]))})
}

// confirm waits for the kernel's answer: a subscription that is not allowed
// is answered with an error or, by old kernels, not at all.
func (c *connector) confirm() error {
	_ = c.f.SetReadDeadline(time.Now().Add(subscribeTimeout))
	defer c.f.SetReadDeadline(time.Time{})
	for {
		n, err := c.f.Read(c.buf)
		if err != nil {
			return err
		}
		if n < eventData+4 {
			continue
		}
		switch binary.NativeEndian.Uint32(c.buf[eventWhat:]) {
		case procEventExec:
			return nil
		case procEventNone:
			if code := binary.NativeEndian.Uint32(c.buf[eventData:]); code != 0 {
				return unix.Errno(code)
			}
			return nil
		}
	}
}

func (c *connector) next() ([]int, bool, error) {
	n, err := c.f.Read(c.buf)
	if errors.Is(err, unix.ENOBUFS) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return execPids(c.buf[:n]), false, nil
}

func (c *connector) Close() error { return c.f.Close() }

// execPids reads the process ids (thread groups) of the exec events in b.
func execPids(b []byte) []int {
	var pids []int
	for len(b) >= unix.NLMSG_HDRLEN {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			break
		}
		if size >= eventData+8 &&
			binary.NativeEndian.Uint32(b[unix.NLMSG_HDRLEN:]) == cnIdxProc &&
			binary.NativeEndian.Uint32(b[eventWhat:]) == procEventExec {
			pids = append(pids, int(binary.NativeEndian.Uint32(b[eventData+4:])))
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return pids
}
