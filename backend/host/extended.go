package host

import (
	"maps"
	"slices"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/settings"
)

// An agent that the settings make of a built-in one is the same code with a
// start of its own. It has chats and hand-overs; its sessions are those of the
// built-in one, which observes them and knows their processes.

// extended are all harnesses that the settings ask for, the built-in ones first.
func (r *harnesses) extended(v settings.Values) []agent.Harness {
	list := slices.Clone(r.builtin)
	for _, id := range slices.Sorted(maps.Keys(v.Harnesses)) {
		s := v.Harnesses[id]
		if s.Extends == "" || !slices.Contains(ids(r.builtin), s.Extends) || slices.Contains(ids(r.builtin), id) {
			continue
		}
		kit := *r.host.kit
		kit.Launch = func(string) (agent.Launch, error) { return r.host.launch(id) }
		if x, ok := pick(r.host.builtin(&kit), s.Extends); ok {
			x.Identity.Harness, x.Extends = id, s.Extends
			if x.Identity.DisplayName = s.Label; s.Label == "" {
				x.Identity.DisplayName = id
			}
			x.Source, x.SourceID, x.Recognizer = nil, "", nil
			list = append(list, x)
		}
	}
	return list
}

func pick(list []agent.Harness, id string) (agent.Harness, bool) {
	i := slices.IndexFunc(list, func(x agent.Harness) bool { return x.Identity.Harness == id })
	if i < 0 {
		return agent.Harness{}, false
	}
	return list[i], true
}

func ids(list []agent.Harness) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, x.Identity.Harness)
	}
	return out
}

// extend brings the list to what the settings say and tells what changed. One
// that is gone leaves its chats readable.
func (r *harnesses) extend(v settings.Values) {
	next := r.extended(v)
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.list
	r.list = next
	for _, x := range next {
		id := x.Identity.Harness
		was, known := pick(old, id)
		if known && was.Extends == x.Extends && was.Identity.DisplayName == x.Identity.DisplayName {
			continue
		}
		if was.Extends != x.Extends {
			delete(r.avail, id) // another program
			r.host.offers.Forget(id)
		}
		r.on[id] = v.Harness(id).On()
		r.host.hub.Publish(api.TopicHarnesses, api.EventUpsert, r.shape(x))
	}
	for _, id := range ids(old) {
		if _, stays := pick(next, id); !stays {
			delete(r.avail, id)
			delete(r.on, id)
			r.host.offers.Forget(id)
			r.host.hub.Publish(api.TopicHarnesses, api.EventRemove, api.Removed{IDs: []string{id}})
		}
	}
}

// launch is how a person wants a harness started.
func (h *Host) launch(harness string) (agent.Launch, error) {
	return h.settings.Values().Launch(harness, h.o.UserHome)
}

// builtinIDs names the agents that come with the program, before anything of
// them exists.
func builtinIDs(builtin func(*agentkit.Host) []agent.Harness, home string) []string {
	return ids(builtin(&agentkit.Host{Home: home}))
}
