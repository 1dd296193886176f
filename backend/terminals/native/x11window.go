package native

import (
	"errors"
	"slices"
)

// activate raises and focuses a window: the given one if it belongs to the
// process, else the process's own. certain is false when it was one of
// several. It asks the window manager and waits for what it did.
func (x *xConn) activate(window uint64, pid int) (certain bool, err error) {
	clients, err := x.property(x.root, "_NET_CLIENT_LIST", xAtomWindow)
	if err != nil {
		return false, err
	}
	target := uint32(0)
	if window != 0 {
		target = x.topLevel(uint32(window), clients)
		// WINDOWID may be inherited from another terminal.
		if owner := x.ownerOf(target); target != 0 && owner != 0 && pid != 0 && owner != pid {
			target = 0
		}
	}
	certain = target != 0
	if target == 0 {
		var own []uint32
		for _, w := range clients {
			if x.ownerOf(w) == pid {
				own = append(own, w)
			}
		}
		if len(own) == 0 {
			return false, errors.New("its window is not on this display")
		}
		target, certain = own[len(own)-1], len(own) == 1
	}
	return certain, x.raise(target)
}

// topLevel is the window the manager knows that window is in, 0 for none.
func (x *xConn) topLevel(window uint32, clients []uint32) uint32 {
	for range 32 {
		if len(clients) == 0 || slices.Contains(clients, window) {
			return window
		}
		if err := x.send(xQueryTree, 0, le.AppendUint32(nil, window)); err != nil {
			return 0
		}
		b, err := x.reply()
		if err != nil {
			return 0
		}
		parent := le.Uint32(b[12:])
		if parent == 0 || parent == x.root {
			return 0
		}
		window = parent
	}
	return 0
}

func (x *xConn) ownerOf(window uint32) int {
	if window == 0 {
		return 0
	}
	v, err := x.property(window, "_NET_WM_PID", xCardinal)
	if err != nil || len(v) == 0 {
		return 0
	}
	return int(v[0])
}

// raise asks for the window to become the active one and waits until it is.
func (x *xConn) raise(target uint32) error {
	supported, err := x.property(x.root, "_NET_SUPPORTED", 4)
	if err != nil {
		return err
	}
	active, err := x.atom("_NET_ACTIVE_WINDOW")
	if err != nil {
		return err
	}
	if !slices.Contains(supported, active) {
		return x.raiseAlone(target)
	}
	// Watch the root before asking, so that the answer is not missed.
	data := le.AppendUint32(nil, x.root)
	data = le.AppendUint32(data, xAttributeEventMask)
	data = le.AppendUint32(data, xEventPropertyChange)
	if err := x.send(xChangeAttributes, 0, data); err != nil {
		return err
	}
	event := []byte{xClientMessage, 32, 0, 0}
	event = le.AppendUint32(event, target)
	event = le.AppendUint32(event, active)
	for _, v := range []uint32{xSourcePager, 0, 0, 0, 0} {
		event = le.AppendUint32(event, v)
	}
	data = le.AppendUint32(nil, x.root)
	data = le.AppendUint32(data, xEventSubstructure)
	if err := x.send(xSendEvent, 0, append(data, event...)); err != nil {
		return err
	}
	for {
		now, err := x.property(x.root, "_NET_ACTIVE_WINDOW", xAtomWindow)
		if err != nil {
			return errors.New("the window manager did not raise the window")
		}
		if len(now) > 0 && now[0] == target {
			return nil
		}
		for { // until the property changes, or the conversation's deadline
			b, err := x.next()
			if err != nil {
				return errors.New("the window manager did not raise the window")
			}
			if b[0]&0x7f == xPropertyNotify {
				break
			}
		}
	}
}

// raiseAlone is for displays without a modern window manager.
func (x *xConn) raiseAlone(target uint32) error {
	if err := x.send(xMapWindow, 0, le.AppendUint32(nil, target)); err != nil {
		return err
	}
	data := le.AppendUint32(nil, target)
	data = le.AppendUint16(data, xConfigureStackMode)
	data = append(data, 0, 0)
	data = le.AppendUint32(data, 0) // above
	if err := x.send(xConfigureWindow, 0, data); err != nil {
		return err
	}
	data = le.AppendUint32(nil, target)
	data = le.AppendUint32(data, 0) // now
	if err := x.send(xSetInputFocus, xRevertToParent, data); err != nil {
		return err
	}
	if err := x.send(xGetInputFocus, 0, nil); err != nil {
		return err
	}
	b, err := x.reply()
	if err != nil {
		return err
	}
	if le.Uint32(b[8:]) != target {
		return errors.New("the display did not focus the window")
	}
	return nil
}
