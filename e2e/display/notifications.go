//go:build linux

package display

import (
	"fmt"
	"sync"

	"github.com/godbus/dbus/v5"
)

const (
	notifyName = "org.freedesktop.Notifications"
	notifyPath = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// Notification is one that a program had shown.
type Notification struct {
	ID, Replaces uint32
	App          string
	Title, Body  string
	Actions      []string
	Hints        map[string]dbus.Variant
}

// Notifications is a notification service of a desktop, without a screen.
type Notifications struct {
	// Shown and Closed tell in order; who does not read loses nothing up to 256.
	Shown  chan Notification
	Closed chan uint32

	conn  *dbus.Conn
	mu    sync.Mutex
	last  uint32
	eager bool
}

// ServeNotifications takes the service's name on a bus; Stop gives it back.
func ServeNotifications(address string) (*Notifications, error) {
	conn, err := dbus.Connect(address)
	if err != nil {
		return nil, fmt.Errorf("the bus: %w", err)
	}
	n := &Notifications{conn: conn, Shown: make(chan Notification, 256), Closed: make(chan uint32, 256)}
	if err := conn.Export(methods{n}, notifyPath, notifyName); err != nil {
		conn.Close()
		return nil, err
	}
	if got, err := conn.RequestName(notifyName, dbus.NameFlagDoNotQueue); err != nil || got != dbus.RequestNameReplyPrimaryOwner {
		conn.Close()
		return nil, fmt.Errorf("the name of the notification service: %v %w", got, err)
	}
	return n, nil
}

// Bus is the address of the display's session bus.
func (s *Session) Bus() string { return s.bus }

// Say emits a signal of the service: ActionInvoked, NotificationClosed ...
func (n *Notifications) Say(signal string, values ...any) error {
	return n.conn.Emit(notifyPath, notifyName+"."+signal, values...)
}

// ClickAtOnce clicks each one before the caller knows its id.
func (n *Notifications) ClickAtOnce() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.eager = true
}

// Stop leaves the bus.
func (n *Notifications) Stop() { n.conn.Close() }

// methods are what the bus may call.
type methods struct{ n *Notifications }

func (m methods) Notify(app string, replaces uint32, _, title, body string, actions []string, hints map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	m.n.mu.Lock()
	id := replaces
	if id == 0 {
		m.n.last++
		id = m.n.last
	}
	eager := m.n.eager
	m.n.mu.Unlock()
	if eager {
		if err := m.n.Say("ActionInvoked", id, "default"); err != nil {
			return 0, dbus.MakeFailedError(err)
		}
	}
	m.n.Shown <- Notification{id, replaces, app, title, body, actions, hints}
	return id, nil
}

func (m methods) CloseNotification(id uint32) *dbus.Error {
	m.n.Closed <- id
	return nil
}

func (m methods) GetCapabilities() ([]string, *dbus.Error) {
	return []string{"actions", "body", "body-markup"}, nil
}
