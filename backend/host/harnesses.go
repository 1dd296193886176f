package host

import (
	"context"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// harnesses is the registry of agents: which there are, which are switched on,
// whether they could run now and what they offer.
type harnesses struct {
	host *Host
	list []agent.Harness

	mu      sync.Mutex // also held while publishing, so that snapshots meet
	avail   map[string]*agent.Availability
	on      map[string]bool
	sources map[string]sourceState
}

type sourceState struct{ state, fault string }

func newHarnesses(h *Host, list []agent.Harness) *harnesses {
	r := &harnesses{
		host: h, list: list, avail: map[string]*agent.Availability{}, on: map[string]bool{},
		sources: map[string]sourceState{},
	}
	for _, x := range list {
		r.on[x.Identity.Harness] = h.settings.Values().Harness(x.Identity.Harness).On()
	}
	return r
}

// Harness finds one by id (chats.Harnesses).
func (r *harnesses) Harness(id string) (x agent.Harness, enabled, ok bool) {
	for _, x := range r.list {
		if x.Identity.Harness == id {
			r.mu.Lock()
			defer r.mu.Unlock()
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
		Enabled: r.on[id], Kinds: x.Traits.Kinds, Availability: r.avail[id], CanHandOver: x.Handover != nil,
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
	for _, x := range r.list {
		if x.Identity.Harness == id {
			r.mu.Lock()
			defer r.mu.Unlock()
			f()
			r.host.hub.Publish(api.TopicHarnesses, api.EventUpsert, r.shape(x))
			return
		}
	}
}

// switched reads the switches of the settings; a harness that was switched is
// started or stopped at once.
func (r *harnesses) switched() {
	for _, x := range r.list {
		id := x.Identity.Harness
		on := r.host.settings.Values().Harness(id).On()
		r.mu.Lock()
		same := r.on[id] == on
		r.mu.Unlock()
		if same {
			continue
		}
		r.change(id, func() { r.on[id] = on })
		if r.host.observed != nil {
			r.host.observed.switched(id, on)
		}
		if on {
			r.refresh(id)
		}
	}
}

// refresh looks anew whether agents could run, in the background; "" is all.
func (r *harnesses) refresh(id string) {
	for _, x := range r.list {
		if x.Provider != nil && (id == "" || id == x.Identity.Harness) {
			r.host.wg.Go(func() { r.look(r.host.ctx, x) })
		}
	}
}

// lookBound is how long an agent may take to tell whether it could run.
const lookBound = 20 * time.Second

func (r *harnesses) look(ctx context.Context, x agent.Harness) {
	ctx, cancel := context.WithTimeout(ctx, lookBound)
	defer cancel()
	a, err := x.Provider.Availability(ctx)
	if ctx.Err() != nil && r.host.ctx.Err() != nil {
		return
	}
	if err != nil {
		r.host.log.Warn("availability", "harness", x.Identity.Harness, "err", err)
		a = agent.Availability{Reason: agent.ReasonNotInstalled, Detail: err.Error()}
	}
	r.change(x.Identity.Harness, func() { r.avail[x.Identity.Harness] = &a })
}

// refreshed looks now and answers when done.
func (r *harnesses) refreshed(ctx context.Context, id string) {
	var wg sync.WaitGroup
	for _, x := range r.list {
		if x.Provider != nil && (id == "" || id == x.Identity.Harness) {
			wg.Go(func() { r.look(ctx, x) })
		}
	}
	wg.Wait()
}

func (r *harnesses) setSource(id, state, fault string) {
	r.change(id, func() { r.sources[id] = sourceState{state, fault} })
}

// catalog asks an agent what it offers; unchanged content carries no body.
func (r *harnesses) catalog(ctx context.Context, req api.CatalogRequest) (api.CatalogResult, error) {
	x, enabled, ok := r.Harness(req.Harness)
	if !ok {
		return api.CatalogResult{}, notFound("There is no agent %q.", req.Harness)
	}
	if !enabled {
		return api.CatalogResult{}, &api.Error{Code: api.CodeUnavailable, Message: x.Identity.DisplayName + " is switched off.", Fix: "whippletree settings set harnesses." + req.Harness + ".enabled true"}
	}
	c, ok := x.Provider.(agent.Cataloger)
	if !ok {
		return api.CatalogResult{}, &api.Error{Code: api.CodeUnsupported, Message: x.Identity.DisplayName + " does not tell what it offers before a chat is open."}
	}
	got, err := c.Catalog(ctx, req.Cwd)
	if err != nil {
		return api.CatalogResult{}, err
	}
	if req.Hash != "" && req.Hash == got.Hash {
		return api.CatalogResult{Unchanged: true}, nil
	}
	return api.CatalogResult{Catalog: &got}, nil
}
