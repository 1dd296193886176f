package host

import (
	"maps"
	"slices"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// launches are the starts that a person set for a built-in agent and for those
// made of it. One that cannot be used now is left out: its chats say why.
func (h *Host) launches(harness string) []agent.Launch {
	values := h.settings.Values()
	var list []agent.Launch
	for _, id := range slices.Sorted(maps.Keys(values.Harnesses)) {
		if id != harness && values.Harnesses[id].Extends != harness {
			continue
		}
		if l, err := h.launch(id); err == nil {
			list = append(list, l)
		}
	}
	return list
}

// listeners are told when the starts may have changed.
type listeners struct {
	mu   sync.Mutex
	next int
	list map[int]func()
}

func (l *listeners) add(f func()) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[int]func(){}
	}
	n := l.next
	l.next++
	l.list[n] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.list, n)
	}
}

func (l *listeners) tell() {
	l.mu.Lock()
	list := slices.Collect(maps.Values(l.list))
	l.mu.Unlock()
	for _, f := range list {
		f()
	}
}
