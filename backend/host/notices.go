package host

import (
	"context"
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/notify"
	"github.com/whippletree-app/whippletree/backend/settings"
)

// notices feeds the notifications: what is published about sessions, chats and
// cards becomes subjects of the center. Where the host cannot show them (macOS)
// center is nil and a window does.
type notices struct {
	host   *Host
	center *notify.Center
	bus    *notify.Bus

	mu       sync.Mutex
	sessions map[model.SessionKey]model.Session
	chats    map[string]model.ChatSummary
	cards    map[string]model.ApprovalCard // open ones by id
	unshown  bool                          // said once that nothing can be shown
}

func newNotices(h *Host) *notices {
	n := &notices{host: h, sessions: map[model.SessionKey]model.Session{}, chats: map[string]model.ChatSummary{}, cards: map[string]model.ApprovalCard{}}
	if runtime.GOOS != "linux" {
		return n
	}
	n.bus = notify.NewBus(busAddress(h.o.Env), n.clicked)
	n.center = notify.New(n.bus, noticeSettings(h.settings.Values()), n.failed)
	return n
}

// busAddress is where the session bus of the person is. A bus is never started
// for this: one that nobody listens on shows nothing.
func busAddress(env []string) string {
	var address, run string
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "DBUS_SESSION_BUS_ADDRESS="); ok {
			address = v
		}
		if v, ok := strings.CutPrefix(kv, "XDG_RUNTIME_DIR="); ok && filepath.IsAbs(v) {
			run = v
		}
	}
	if address == "" && run != "" {
		address = "unix:path=" + filepath.Join(run, "bus")
	}
	return address
}

func noticeSettings(v settings.Values) notify.Settings {
	s := v.Notifications
	return notify.Settings{Enabled: s.Enabled, Waiting: s.Waiting, Finished: s.Finished, Failed: s.Failed, Text: s.ShowText, Sound: s.Sound}
}

// shows reports whether the host shows notifications itself.
func (n *notices) shows() bool { return n != nil && n.center != nil }

func (n *notices) configure() {
	if n.shows() {
		n.center.Configure(noticeSettings(n.host.settings.Values()))
	}
}

// learn ends the first look when the sources had theirs.
func (n *notices) learn(ctx context.Context) {
	if !n.shows() {
		return
	}
	n.host.observed.looked(ctx)
	n.center.Learned()
}

func (n *notices) stop() {
	if n.shows() {
		n.center.Close()
		n.bus.End()
	}
}

// failed is told once: a machine without a notification service is no fault.
func (n *notices) failed(err error) {
	n.mu.Lock()
	again := n.unshown
	n.unshown = true
	n.mu.Unlock()
	if !again && !errors.Is(err, context.Canceled) {
		n.host.log.Warn("notifications", "err", err)
	}
}

// session takes a row of the registry.
func (n *notices) session(s model.Session, removed bool) {
	if !n.shows() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if removed {
		delete(n.sessions, s.Key)
		n.center.Remove("session:" + keyText(s.Key))
	} else {
		n.sessions[s.Key] = s
		if s.ChatID != "" {
			n.center.Remove("session:" + keyText(s.Key)) // it is the chat's from now on
		}
	}
	n.tell(s)
}

// published takes what the chats publish.
func (n *notices) published(topic string, data any) {
	if !n.shows() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch x := data.(type) {
	case model.ChatSummary:
		n.chats[x.ID] = x
		n.chat(x.ID)
	case model.ApprovalCard:
		n.cards[x.ID] = x
		n.chat(x.ChatID)
	case chats.Removed:
		for _, id := range x.IDs {
			switch topic {
			case api.TopicApprovals:
				chat := n.cards[id].ChatID
				delete(n.cards, id)
				n.chat(chat)
			case api.TopicChats:
				delete(n.chats, id)
				maps.DeleteFunc(n.cards, func(_ string, c model.ApprovalCard) bool { return c.ChatID == id })
				n.center.Remove("chat:" + id)
			}
		}
	}
}

// again passes everything on anew: something was muted or is no more.
func (n *notices) again() {
	if !n.shows() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range n.chats {
		n.chat(id)
	}
	for _, s := range n.sessions {
		n.tell(s)
	}
}

// set passes a subject on; what is muted wants nobody. n.mu is held.
func (n *notices) set(x notify.Subject, root string, also ...string) {
	if n.host.attention.covers(append(also, x.ID, "project:"+root)...) {
		x.Kind, x.Request = notify.None, ""
	}
	n.center.Set(x)
}

// tell passes a row on, as its chat where it has one. n.mu is held.
func (n *notices) tell(s model.Session) {
	if s.ChatID != "" {
		n.chat(s.ChatID)
		return
	}
	if _, known := n.sessions[s.Key]; known {
		n.set(n.ofSession("session:"+keyText(s.Key), s), s.Project.Root)
	}
}

// chat passes a chat on: by what it says itself while the app drives it, by its
// session's row while a terminal does. n.mu is held.
func (n *notices) chat(id string) {
	c, ok := n.chats[id]
	if !ok {
		return
	}
	if c.Hand.State != "" && c.Hand.State != model.HandApp {
		for _, s := range n.sessions {
			if s.ChatID == id {
				n.set(n.ofSession("chat:"+id, s), s.Project.Root, "session:"+keyText(s.Key))
				return
			}
		}
	}
	x := notify.Subject{ID: "chat:" + id, Agent: n.agent(c.Harness), Project: c.Project.Name, Title: c.Title}
	var open []string
	for _, card := range n.cards {
		if card.ChatID == id && card.State == model.CardOpen {
			open = append(open, card.ID)
			x.Detail = card.Title
		}
	}
	slices.Sort(open)
	switch {
	case len(open) > 0:
		x.Kind, x.Request = notify.Waiting, strings.Join(open, " ")
	case c.State == model.SessionFailed && c.Unread:
		x.Kind = notify.Failed
	case c.Unread:
		x.Kind = notify.Finished
	}
	native := []string{}
	if c.Handle != nil {
		native = append(native, "session:"+c.Harness+"/"+c.Handle.NativeID)
	}
	n.set(x, c.Project.Root, native...)
}

func (n *notices) ofSession(id string, s model.Session) notify.Subject {
	x := notify.Subject{ID: id, Agent: n.agent(s.Key.Harness), Project: s.Project.Name, Title: s.Title}
	switch s.State {
	case model.SessionWaiting, model.SessionBlocked:
		x.Kind, x.Detail = notify.Waiting, s.WaitingFor
		x.Request = string(s.WaitingKind) + " " + s.WaitingFor
	case model.SessionFailed:
		if s.NeedsYou || s.Unread {
			x.Kind, x.Detail = notify.Failed, s.Error
		}
	case model.SessionDone, model.SessionIdle:
		if s.Unread {
			x.Kind = notify.Finished
		}
	}
	return x
}

func (n *notices) agent(harness string) string {
	if x, _, ok := n.host.harnesses.Harness(harness); ok && x.Identity.DisplayName != "" {
		return x.Identity.DisplayName
	}
	return harness
}

// looks takes what a window shows: chat:<id>, session:<harness>/<id> or
// terminal:<id>.
func (n *notices) looks(c *api.Caller, r api.WindowLook) {
	if !n.shows() {
		return
	}
	at := r.At
	if id, ok := strings.CutPrefix(at, "terminal:"); ok {
		n.mu.Lock()
		for _, key := range slices.SortedFunc(maps.Keys(n.sessions), func(a, b model.SessionKey) int { return strings.Compare(keyText(a), keyText(b)) }) {
			s := n.sessions[key]
			if s.Place.TerminalID != id {
				continue
			}
			if at = "session:" + keyText(key); s.ChatID != "" {
				at = "chat:" + s.ChatID
			}
		}
		n.mu.Unlock()
	}
	n.center.Looks(c, r.Focused, at)
}

func (n *notices) left(c *api.Caller) {
	if n.shows() {
		n.center.Left(c)
	}
}

// clicked brings a window up at what the notification was about, and starts one
// where none is; token is the window system's permission to come to the front,
// which only a new process can take.
func (n *notices) clicked(open, token string) {
	h := n.host
	if h.windows.count() > 0 {
		h.hub.Publish(api.TopicHost, api.EventRaise, api.Raise{Open: open})
		return
	}
	desktop := filepath.Join(filepath.Dir(h.o.Executable), "whippletree-desktop")
	var argv []string
	if kind, id, ok := strings.Cut(open, ":"); ok {
		argv = append(argv, "whippletree://"+kind+"/"+id)
	}
	cmd := exec.Command(desktop, argv...)
	cmd.Env = append(slices.Clone(h.o.Env), "XDG_ACTIVATION_TOKEN="+token, "DESKTOP_STARTUP_ID="+token)
	cmd.Dir = h.o.UserHome
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		h.log.Error("no window could be opened for a notification", "err", err)
		return
	}
	go func() { _ = cmd.Wait() }() // a window outlives this host
}
