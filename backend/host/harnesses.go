package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// harnesses is the registry of agents: which there are, which are switched on,
// whether they could run now and what they offer.
type harnesses struct {
	host    *Host
	builtin []agent.Harness

	mu      sync.Mutex      // also held while publishing, so that snapshots meet
	list    []agent.Harness // the built-in ones, and what the settings made of them
	avail   map[string]*agent.Availability
	on      map[string]bool
	sources map[string]sourceState
	looking map[string]chan struct{} // closed when the first look is done
}

type sourceState struct{ state, fault string }

func newHarnesses(h *Host, list []agent.Harness) *harnesses {
	r := &harnesses{
		host: h, builtin: list, avail: map[string]*agent.Availability{}, on: map[string]bool{},
		sources: map[string]sourceState{}, looking: map[string]chan struct{}{},
	}
	values := h.settings.Values()
	r.list = r.extended(values)
	for _, x := range r.list {
		r.on[x.Identity.Harness] = values.Harness(x.Identity.Harness).On()
	}
	return r
}

// Harness finds one by id (chats.Harnesses).
func (r *harnesses) Harness(id string) (x agent.Harness, enabled, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.Identity.Harness == id {
			return x, r.on[id], true
		}
	}
	return agent.Harness{}, false, false
}

// shape is a harness as the API shows it; the caller holds the lock.
func (r *harnesses) shape(x agent.Harness) model.Harness {
	id := x.Identity.Harness
	m := model.Harness{
		Identity: x.Identity, Extension: x.Manifest.ID, Provider: x.ProviderID, Source: x.SourceID,
		Extends: x.Extends, Enabled: r.on[id], Kinds: x.Traits.Kinds, Availability: r.avail[id], CanHandOver: x.Handover != nil,
		SourceState: r.sources[id].state, SourceError: r.sources[id].fault,
	}
	if m.Kinds == nil {
		m.Kinds = []agent.Kind{}
	}
	if a := r.avail[id]; a != nil && a.Version != "" {
		m.Version = a.Version
	}
	if !m.Enabled {
		m.Availability = &agent.Availability{Reason: agent.ReasonSwitchedOff}
	}
	return m
}

func (r *harnesses) all() []model.Harness {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shapes()
}

func (r *harnesses) shapes() []model.Harness {
	out := make([]model.Harness, 0, len(r.list))
	for _, x := range r.list {
		out = append(out, r.shape(x))
	}
	return out
}

func (r *harnesses) snapshot(_ context.Context, mark func()) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mark()
	return r.shapes(), nil
}

// change applies f to one harness's state and publishes it.
func (r *harnesses) change(id string, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.Identity.Harness == id {
			f()
			r.host.hub.Publish(api.TopicHarnesses, api.EventUpsert, r.shape(x))
			return
		}
	}
}

// changed applies the settings: which agents a person made of built-in ones, and
// the switches. What was switched is observed or left alone at once. No agent is
// started for any of it.
func (r *harnesses) changed() {
	values := r.host.settings.Values()
	r.extend(values)
	for _, x := range r.builtinAndMade() {
		id := x.Identity.Harness
		on := values.Harness(id).On()
		r.mu.Lock()
		same := r.on[id] == on
		r.mu.Unlock()
		if same {
			continue
		}
		r.change(id, func() { r.on[id] = on })
		if r.host.observed != nil && x.Extends == "" {
			r.host.observed.switched(id, on)
		}
	}
}

func (r *harnesses) builtinAndMade() []agent.Harness {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// lookBound is how long an agent may take to tell whether it could run.
const lookBound = 20 * time.Second

// look asks the agents of which nothing is known whether they could run, and
// waits for them. Who is known is not asked again: that is a person's refresh.
func (r *harnesses) look(ctx context.Context) {
	var wg sync.WaitGroup
	for _, x := range r.enabled("") {
		id := x.Identity.Harness
		r.mu.Lock()
		wait := r.looking[id]
		if wait == nil && r.avail[id] == nil && r.host.ctx.Err() == nil {
			done := make(chan struct{})
			r.looking[id], wait = done, done
			r.host.wg.Go(func() {
				defer close(done)
				r.ask(r.host.ctx, x)
				r.mu.Lock()
				delete(r.looking, id)
				r.mu.Unlock()
			})
		}
		r.mu.Unlock()
		if wait == nil {
			continue
		}
		wg.Go(func() {
			select {
			case <-wait:
			case <-ctx.Done():
			}
		})
	}
	wg.Wait()
}

// lookAgain asks all of them, for a person who looks for what is wrong.
func (r *harnesses) lookAgain(ctx context.Context) {
	var wg sync.WaitGroup
	for _, x := range r.enabled("") {
		wg.Go(func() { r.ask(ctx, x) })
	}
	wg.Wait()
}

func (r *harnesses) ask(ctx context.Context, x agent.Harness) {
	id := x.Identity.Harness
	ctx, cancel := context.WithTimeout(ctx, lookBound)
	defer cancel()
	a, err := x.Provider.Availability(ctx)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return // who asked is gone, or the host ends
	}
	if err != nil {
		a = r.unknown(id, err)
	}
	r.learned(id, a)
}

// unknown is what is shown of an agent that did not even tell whether it can run.
func (r *harnesses) unknown(id string, err error) agent.Availability {
	r.host.log.Warn("availability", "harness", id, "err", err)
	return agent.Availability{Reason: agent.ReasonNotInstalled, Detail: err.Error()}
}

func (r *harnesses) learned(id string, a agent.Availability) {
	r.change(id, func() { r.avail[id] = &a })
}

// enabled are the harnesses that have a provider and are on; "" is all.
func (r *harnesses) enabled(id string) []agent.Harness {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []agent.Harness
	for _, x := range r.list {
		if own := x.Identity.Harness; x.Provider != nil && r.on[own] && (id == "" || id == own) {
			list = append(list, x)
		}
	}
	return list
}

func (r *harnesses) setSource(id, state, fault string) {
	r.change(id, func() { r.sources[id] = sourceState{state, fault} })
}
