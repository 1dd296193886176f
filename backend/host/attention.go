package host

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
)

// attentionKey is where the store keeps what is muted; windows have other keys.
const attentionKey = "host.attention"

// mostMuted bounds the list; the oldest snoozes end anyway.
const mostMuted = 2000

// attention knows what a person muted or snoozed: for ever, or until a time. It
// belongs to the host because the notifications and every window obey it.
type attention struct {
	host *Host

	mu    sync.Mutex
	muted map[string]int64 // target -> ms since the epoch, 0 for ever
	next  *time.Timer      // the end of the next snooze
	ended bool
}

func newAttention(h *Host) (*attention, error) {
	a := &attention{host: h, muted: map[string]int64{}}
	raw, err := h.store.UIState(h.ctx, attentionKey)
	if err != nil {
		return nil, err
	}
	if len(raw) > 0 && json.Unmarshal(raw, &a.muted) != nil {
		a.muted = map[string]int64{} // only what a person can set again
		h.log.Warn("what was muted cannot be read and is not muted any more")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire()
	return a, nil
}

// Muted is a copy of what is muted now.
func (a *attention) Muted() map[string]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.muted)
}

// covers reports whether any of the targets is muted.
func (a *attention) covers(targets ...string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range targets {
		if _, ok := a.muted[t]; ok {
			return true
		}
	}
	return false
}

// set mutes a target for ever (until 0), until a time, or not any more (until in
// the past).
func (a *attention) set(ctx context.Context, r api.AttentionSet) error {
	kind, rest, ok := strings.Cut(r.Target, ":")
	if !ok || rest == "" || len(r.Target) > 4096 || kind != "project" && kind != "session" && kind != "chat" {
		return &api.Error{Code: api.CodeInvalid, Message: "There is nothing to mute called " + r.Target + ": project:<folder>, session:<harness>/<id> or chat:<id>."}
	}
	a.mu.Lock()
	old := maps.Clone(a.muted)
	delete(a.muted, r.Target)
	if r.Until == 0 || r.Until > a.host.o.Now().UnixMilli() {
		if len(a.muted) >= mostMuted {
			a.muted = old
			a.mu.Unlock()
			return &api.Error{Code: api.CodeInvalid, Message: "Too much is muted already. Unmute something first."}
		}
		a.muted[r.Target] = r.Until
	}
	raw, err := json.Marshal(a.muted)
	if err == nil {
		err = a.host.store.SetUIState(ctx, attentionKey, raw)
	}
	if err != nil {
		a.muted = old
		a.mu.Unlock()
		return err
	}
	a.expire()
	a.mu.Unlock()
	a.changed()
	return nil
}

func (a *attention) changed() {
	a.host.hub.Publish(api.TopicAttention, api.EventValue, api.Attention{Muted: a.Muted()})
	a.host.notices.again()
}

// expire drops the snoozes that are over and waits for the next one. a.mu is held.
func (a *attention) expire() {
	if a.next != nil {
		a.next.Stop()
		a.next = nil
	}
	now := a.host.o.Now().UnixMilli()
	soonest := int64(0)
	for t, until := range a.muted {
		switch {
		case until == 0:
		case until <= now:
			delete(a.muted, t)
		case soonest == 0 || until < soonest:
			soonest = until
		}
	}
	if soonest == 0 || a.ended {
		return
	}
	a.next = time.AfterFunc(time.Duration(soonest-now)*time.Millisecond, func() {
		a.mu.Lock()
		if a.ended {
			a.mu.Unlock()
			return
		}
		a.expire()
		a.mu.Unlock()
		a.changed()
	})
}

func (a *attention) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.next != nil {
		a.next.Stop()
	}
}
