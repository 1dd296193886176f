package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
)

const (
	busName  = "org.freedesktop.Notifications"
	busPath  = dbus.ObjectPath("/org/freedesktop/Notifications")
	desktopE = "whippletree-desktop"
	appName  = "Whippletree"
)

// ErrNoBus says that there is no session bus to show notifications on.
var ErrNoBus = errors.New("there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set)")

// Bus shows notes through the desktop's notification service
// (Desktop Notifications Specification 1.2). It connects with the first note
// and again when the bus was lost.
type Bus struct {
	address string
	opened  func(open, token string)

	// showing is held while a note is being shown: what the service tells of it
	// meanwhile waits until its id is known.
	showing sync.Mutex

	mu     sync.Mutex
	conn   *dbus.Conn
	markup bool
	shown  map[string]uint32 // key -> id of the service
	open   map[uint32]string
	tokens map[uint32]string // for the window system, told just before the click
	closed bool
	wg     sync.WaitGroup
}

// NewBus takes the address of the session bus, "" for none. opened is called
// with a clicked note's Open and the activation token, which may be "".
func NewBus(address string, opened func(open, token string)) *Bus {
	return &Bus{address: address, opened: opened, shown: map[string]uint32{}, open: map[uint32]string{}, tokens: map[uint32]string{}}
}

// Show shows a note; the same key again replaces it.
func (b *Bus) Show(ctx context.Context, key string, n Note) error {
	b.showing.Lock()
	defer b.showing.Unlock()
	conn, err := b.connect(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	replaces, markup := b.shown[key], b.markup
	b.mu.Unlock()
	body := n.Body
	if markup {
		body = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(body)
	}
	urgency := byte(1)
	hints := map[string]dbus.Variant{"desktop-entry": dbus.MakeVariant(desktopE), "urgency": dbus.MakeVariant(urgency),
		"category": dbus.MakeVariant("im.received")}
	if n.Sound {
		hints["sound-name"] = dbus.MakeVariant("message-new-instant")
	} else {
		hints["suppress-sound"] = dbus.MakeVariant(true)
	}
	// What waits stays until it is settled; the rest goes when the desktop likes.
	expires := int32(-1)
	if n.Urgent {
		expires = 0
	}
	var id uint32
	err = conn.Object(busName, busPath).CallWithContext(ctx, busName+".Notify", 0,
		appName, replaces, desktopE, n.Title, body, []string{"default", "Show"}, hints, expires).Store(&id)
	if err != nil {
		return fmt.Errorf("the desktop showed no notification: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, replaces)
	b.shown[key], b.open[id] = id, n.Open
	return nil
}

// Close takes a note back.
func (b *Bus) Close(ctx context.Context, key string) error {
	b.mu.Lock()
	id, ok := b.shown[key]
	conn := b.conn
	b.forget(id)
	b.mu.Unlock()
	if !ok || conn == nil {
		return nil
	}
	if err := conn.Object(busName, busPath).CallWithContext(ctx, busName+".CloseNotification", 0, id).Err; err != nil {
		return fmt.Errorf("the desktop did not take a notification back: %w", err)
	}
	return nil
}

// Badge tells the docks that know launcher entries (Ubuntu's dock, KDE's task
// bar, Plank); others do not listen.
func (b *Bus) Badge(ctx context.Context, n int) error {
	conn, err := b.connect(ctx)
	if err != nil {
		return err
	}
	return conn.Emit("/com/canonical/unity/launcherentry/whippletree", "com.canonical.Unity.LauncherEntry.Update",
		"application://"+desktopE+".desktop", map[string]dbus.Variant{
			"count": dbus.MakeVariant(int64(n)), "count-visible": dbus.MakeVariant(n > 0),
		})
}

// End closes the connection.
func (b *Bus) End() {
	b.mu.Lock()
	b.closed = true
	if b.conn != nil {
		b.conn.Close()
	}
	b.mu.Unlock()
	b.wg.Wait()
}

// forget drops an id of the service. b.mu is held.
func (b *Bus) forget(id uint32) {
	delete(b.open, id)
	delete(b.tokens, id)
	for key, v := range b.shown {
		if v == id {
			delete(b.shown, key)
		}
	}
}

func (b *Bus) connect(ctx context.Context) (*dbus.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, dbus.ErrClosed
	case b.conn != nil && b.conn.Connected():
		return b.conn, nil
	case b.address == "":
		return nil, ErrNoBus
	}
	conn, err := dbus.Dial(b.address)
	if err != nil {
		return nil, fmt.Errorf("the session bus does not answer: %w", err)
	}
	if err := b.meet(ctx, conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("no notification service on the session bus: %w", err)
	}
	b.conn = conn
	// The ids belong to the service that gave them.
	b.shown, b.open, b.tokens = map[string]uint32{}, map[uint32]string{}, map[uint32]string{}
	return conn, nil
}

// meet signs in and asks the service what it can.
func (b *Bus) meet(ctx context.Context, conn *dbus.Conn) error {
	if err := conn.Auth(nil); err != nil {
		return err
	}
	if err := conn.Hello(); err != nil {
		return err
	}
	match := dbus.WithMatchInterface(busName)
	if err := conn.AddMatchSignalContext(ctx, match, dbus.WithMatchObjectPath(busPath)); err != nil {
		return err
	}
	var can []string
	if err := conn.Object(busName, busPath).CallWithContext(ctx, busName+".GetCapabilities", 0).Store(&can); err != nil {
		return err
	}
	b.markup = slices.Contains(can, "body-markup")
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	b.wg.Go(func() {
		for s := range signals { // closed with the connection
			b.heard(s)
		}
	})
	return nil
}

// heard takes a signal of the service.
func (b *Bus) heard(s *dbus.Signal) {
	if len(s.Body) < 2 {
		return
	}
	id, ok := s.Body[0].(uint32)
	if !ok {
		return
	}
	b.showing.Lock()
	defer b.showing.Unlock()
	b.mu.Lock()
	open, ours := b.open[id]
	if !ours {
		b.mu.Unlock()
		return
	}
	switch s.Name {
	case busName + ".ActivationToken":
		b.tokens[id], _ = s.Body[1].(string)
		b.mu.Unlock()
	case busName + ".NotificationClosed":
		b.forget(id)
		b.mu.Unlock()
	case busName + ".ActionInvoked":
		token := b.tokens[id]
		b.mu.Unlock()
		b.opened(open, token)
	default:
		b.mu.Unlock()
	}
}
