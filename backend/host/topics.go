package host

import (
	"context"
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// topics declares what can be subscribed to.
func (h *Host) topics() {
	h.hub.Topic(api.TopicHost, func(context.Context, func()) (any, error) { return h.info(), nil })
	h.hub.Topic(api.TopicSettings, func(context.Context, func()) (any, error) { return h.settings.Get(), nil })
	h.hub.Topic(api.TopicAttention, func(context.Context, func()) (any, error) { return api.Attention{Muted: h.attention.Muted()}, nil })
	h.hub.Topic(api.TopicHarnesses, h.harnesses.snapshot)
	h.hub.Topic(api.TopicTerminals, func(context.Context, func()) (any, error) { return h.terminals.List(), nil })
	h.hub.Topic(api.TopicChats, func(context.Context, func()) (any, error) { return fit(h.chats.List()), nil })
	h.hub.Topic(api.TopicApprovals, func(context.Context, func()) (any, error) { return fit(h.chats.Approvals()), nil })
	h.hub.Topic(api.TopicSessions, func(_ context.Context, mark func()) (any, error) { return fit(h.observed.registry.Snapshot(mark)), nil })
	h.hub.Family(api.TopicChat, func(ctx context.Context, id string, mark func()) (any, error) {
		c, err := h.chats.Get(ctx, id, mark)
		if err != nil {
			return nil, err
		}
		return fitChat(c), nil
	})
}

// room is what of a payload a value may fill.
const room = agent.LimitPayloadBytes - 8<<10

// fit cuts a list where it would not fit one payload: its first elements are
// the most recent or urgent ones; chats and sessions are paged (see page).
func fit[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	size := 2
	for i, x := range list {
		raw, err := json.Marshal(x)
		if err != nil {
			return list[:i]
		}
		if size += len(raw) + 1; size > room {
			return list[:i]
		}
	}
	return list
}

// fitChat drops the oldest rows of the tail until the chat fits.
func fitChat(c model.Chat) model.Chat {
	items := c.Items
	c.Items = nil
	head, err := json.Marshal(c)
	if err != nil {
		c.Items = items
		return c
	}
	size, from := len(head), len(items)
	for from > 0 {
		raw, err := json.Marshal(items[from-1])
		if err != nil || size+len(raw)+1 > room {
			break
		}
		size += len(raw) + 1
		from--
	}
	c.Items = items[from:]
	if c.Items == nil {
		c.Items = []model.Row{}
	}
	if len(c.Items) > 0 {
		c.First = c.Items[0].Seq
	}
	return c
}

// info describes this host.
func (h *Host) info() model.HostInfo {
	return model.HostInfo{
		Version: h.o.Version, Protocol: api.Protocol, Pid: pid(), Home: h.o.Home, UserHome: h.o.UserHome, StartedAt: h.started.UnixMilli(),
		Epoch: h.epoch, KeepRunning: h.keeps(), RunningTurns: h.chats.RunningTurns(), Terminals: h.terminals.BusyCount(),
		Windows: h.windows.count(), Notifies: h.notices.shows(),
	}
}

func (h *Host) infoChanged() {
	if h.windows != nil {
		h.hub.Publish(api.TopicHost, api.EventValue, h.info())
	}
}

func (h *Host) terminalChanged(t model.Terminal, removed bool) {
	if h.tabs.changed(t, removed) && h.observed != nil {
		h.observed.registry.Rebind()
	}
	if removed {
		h.hub.Publish(api.TopicTerminals, api.EventRemove, api.Removed{IDs: []string{t.ID}})
		return
	}
	h.hub.Publish(api.TopicTerminals, api.EventUpsert, t)
}

func (h *Host) opened(c *api.Caller) {
	if c.Hello.Lease {
		h.leases.take(c)
	}
	h.windows.opened(c)
	h.infoChanged()
}

func (h *Host) closed(c *api.Caller) {
	h.notices.left(c)
	h.windows.lost(c)
	h.leases.lost(c)
	h.infoChanged()
}
