package processes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
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

// firstPidNamespace is that of the machine (PROC_PID_INIT_INO of
// <linux/proc_ns.h>). The events carry its pids: in a container they name others.
const firstPidNamespace = "pid:[4026531836]"

// linger is how long the connector lets starts gather before it looks. Most
// processes of a busy machine (a build) are gone by then: a storm of them costs
// a few wake-ups a second and no look at each. It is part of the second within
// which a session has to appear.
const linger = 150 * time.Millisecond

// connector is the proc connector: a netlink multicast of fork, exec and exit.
// Kernels before 6.6 want CAP_NET_ADMIN for it. It waits in poll on a thread of
// its own: the runtime's poller would wake for each event that arrives while
// they gather.
type connector struct {
	fd, wake int // the socket and an eventfd that ends the wait
	buf      []byte
	closed   chan struct{}
	mu       sync.Mutex // a descriptor that is released is nobody's to write to
	released bool
}

func openEventStream() (eventStream, error) {
	if ns, err := os.Readlink("/proc/self/ns/pid"); err != nil || ns != firstPidNamespace {
		return nil, errors.New("process events name the pids of another namespace")
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	c := &connector{fd: fd, wake: wake, buf: make([]byte, connectorReadSize), closed: make(chan struct{})}
	err = c.subscribe(fd)
	if err == nil {
		err = c.confirm()
	}
	if err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

func (c *connector) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.released {
		c.released = true
		_ = unix.Close(c.fd)
		_ = unix.Close(c.wake)
	}
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
	deadline := time.Now().Add(subscribeTimeout)
	for {
		if err := c.wait(time.Until(deadline)); err != nil {
			return err
		}
		n, err := c.read()
		if err != nil {
			return err
		}
		if n < eventData+4 {
			continue
		}
		// An event proves nothing: with another listener on the machine they come
		// also where this subscription was ignored.
		if binary.NativeEndian.Uint32(c.buf[eventWhat:]) == procEventNone {
			if code := binary.NativeEndian.Uint32(c.buf[eventData:]); code != 0 {
				return unix.Errno(code)
			}
			return nil
		}
	}
}

// wait blocks until there is something to read; a limit below 0 is none.
func (c *connector) wait(limit time.Duration) error {
	ms := -1
	if limit >= 0 {
		ms = int(limit/time.Millisecond) + 1
	}
	for {
		fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}, {Fd: int32(c.wake), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, ms)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case fds[1].Revents != 0:
			return os.ErrClosed
		case n == 0:
			return os.ErrDeadlineExceeded
		}
		return nil
	}
}

// read takes one message; 0 and no error when there is none.
func (c *connector) read() (int, error) {
	for {
		n, _, err := unix.Recvfrom(c.fd, c.buf, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		}
		return n, err
	}
}

// next waits for a start, lets more gather and returns them, each once.
func (c *connector) next() ([]int, bool, error) {
	if err := c.wait(-1); err != nil {
		c.release() // only this goroutine reads
		return nil, false, err
	}
	gather := time.NewTimer(linger)
	defer gather.Stop()
	select {
	case <-gather.C:
	case <-c.closed:
	}
	var pids []int
	lost, told := false, map[int]bool{}
	for {
		n, err := c.read()
		if errors.Is(err, unix.ENOBUFS) {
			lost = true
			continue
		}
		if err != nil {
			c.release()
			return nil, false, err
		}
		if n == 0 {
			return pids, lost, nil
		}
		for _, pid := range execPids(c.buf[:n]) {
			if !told[pid] {
				told[pid] = true
				pids = append(pids, pid)
			}
		}
	}
}

// Close ends the wait; next releases what it waited on.
func (c *connector) Close() error {
	close(c.closed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return nil
	}
	_, err := unix.Write(c.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return err
}

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
