package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/api"
)

// asked is an agent that counts how often it is asked.
type asked struct {
	id  string
	kit *agentkit.Host

	mu           sync.Mutex
	looks, reads int
	err          error
}

func (a *asked) Availability(context.Context) (agent.Availability, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks++
	return agent.Availability{Available: true, Version: "1"}, nil
}

func (a *asked) Catalog(context.Context, string) (agent.Catalog, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads++
	return agent.Catalog{Models: []agent.Model{{ID: "m"}}}, a.err
}

func (a *asked) Open(context.Context, agent.OpenRequest, agent.Events) (agent.ChatSession, error) {
	return nil, errors.New("it does not open")
}

func (a *asked) want(t *testing.T, looks, reads int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looks != looks || a.reads != reads {
		t.Errorf("%s was asked %d times whether it can run and %d times what it offers, not %d and %d", a.id, a.looks, a.reads, looks, reads)
	}
}

// startAsked starts a host whose only agent is counted.
func startAsked(t *testing.T) (*Host, *asked) {
	t.Helper()
	h := newTestHost(t)
	a := &asked{id: "counted"}
	h.builtin = func(kit *agentkit.Host) []agent.Harness {
		x := a
		if kit.Launch == nil || a.kit != nil { // only its name is asked for, or another one is made of it
			x = &asked{id: a.id}
		}
		x.kit = kit
		return []agent.Harness{{Identity: agent.Identity{Harness: a.id, DisplayName: "Counted"}, ProviderID: a.id, Provider: x}}
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	h.harnesses.look(t.Context()) // the start's own look, waited for
	return h, a
}

func offer(t *testing.T, h *Host, r api.CatalogRequest) api.CatalogResult {
	t.Helper()
	got, err := h.harnesses.offer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTheHostLooksOnceAndReadsOnlyWhenAsked(t *testing.T) {
	h, a := startAsked(t)
	for range 3 {
		h.harnesses.look(t.Context())
	}
	a.want(t, 1, 0)
	got := offer(t, h, api.CatalogRequest{Harness: "counted"})
	if got.Catalog == nil || got.Catalog.Hash == "" {
		t.Fatalf("%+v", got)
	}
	if again := offer(t, h, api.CatalogRequest{Harness: "counted", Hash: got.Catalog.Hash}); !again.Unchanged || again.Catalog != nil {
		t.Errorf("unchanged content came with a body: %+v", again)
	}
	a.want(t, 2, 1)
}

func TestChangedSettingsStartNoProcess(t *testing.T) {
	h, a := startAsked(t)
	for _, change := range []struct{ path, value string }{
		{"harnesses.counted.binary", `"/opt/other"`}, {"harnesses.counted.args", `["-x"]`}, {"harnesses.counted.env", `{"A":"b"}`},
		{"harnesses.counted.enabled", "false"}, {"harnesses.counted.enabled", "true"}, {"harnesses.more", `{"extends":"counted"}`},
		{"general.theme", `"dark"`},
	} {
		if _, err := h.settings.Set(change.path, json.RawMessage(change.value)); err != nil {
			t.Fatal(change.path, err)
		}
	}
	a.want(t, 1, 0)
}

func TestARefreshAsksOnlyWithoutAFolder(t *testing.T) {
	h, a := startAsked(t)
	offer(t, h, api.CatalogRequest{Harness: "counted", Cwd: t.TempDir()})
	offer(t, h, api.CatalogRequest{Harness: "counted", Cwd: t.TempDir()})
	a.want(t, 3, 2)
	if err := h.harnesses.refreshed(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	a.want(t, 4, 3)
}

func TestAnErrorOfAnAgentIsToldAgainWithoutAskingIt(t *testing.T) {
	h, a := startAsked(t)
	a.err = errors.New("it is confused")
	for range 3 {
		_, err := h.harnesses.offer(t.Context(), api.CatalogRequest{Harness: "counted"})
		var said *api.Error
		if !errors.As(err, &said) || said.Code != api.CodeUnavailable || said.Fix == "" {
			t.Fatalf("%v", err)
		}
	}
	a.want(t, 2, 1)
	_, err := h.harnesses.offer(t.Context(), api.CatalogRequest{Harness: "counted", Cwd: "here"})
	var said *api.Error
	if !errors.As(err, &said) || !slices.ContainsFunc(said.Issues, func(i agent.Issue) bool { return i.Path == "$.cwd" }) {
		t.Errorf("a folder that is not absolute: %v", err)
	}
}

func TestAnAgentMadeOfABuiltInOne(t *testing.T) {
	h, a := startAsked(t)
	set := func(path, value string) {
		t.Helper()
		if _, err := h.settings.Set(path, json.RawMessage(value)); err != nil {
			t.Fatal(err)
		}
	}
	set("harnesses.counted", `{"binary": "/opt/counted", "env": {"A": "base", "B": "base"}}`)
	set("harnesses.mine", `{"extends": "counted", "label": "Mine", "args": ["-m"], "env": {"A": "mine"}}`)
	x, on, ok := h.harnesses.Harness("mine")
	if !ok || !on || x.Identity.DisplayName != "Mine" || x.Extends != "counted" || x.Source != nil || x.Recognizer != nil {
		t.Fatalf("%+v %v %v", x, on, ok)
	}
	made := x.Provider.(*asked)
	l, err := made.kit.LaunchOf("counted") // it asks by the name it knows
	if err != nil || l.Binary != "/opt/counted" || !slices.Equal(l.Args, []string{"-m"}) || l.Env["A"] != "mine" || l.Env["B"] != "base" {
		t.Errorf("%+v %v", l, err)
	}
	if l, err := a.kit.LaunchOf("counted"); err != nil || l.Args != nil || l.Env["A"] != "base" {
		t.Errorf("the built-in one: %+v %v", l, err)
	}
	if o := h.overrides("mine"); o.Binary != "/opt/counted" || o.Env["A"] != "mine" || o.Err != nil {
		t.Errorf("what its chats start with: %+v", o)
	}
	made.want(t, 0, 0)
	h.harnesses.look(t.Context())
	if got := offer(t, h, api.CatalogRequest{Harness: "mine"}); got.Catalog == nil {
		t.Errorf("%+v", got)
	}
	made.want(t, 2, 1)
	a.want(t, 1, 0)

	set("harnesses.mine.enabled", "false")
	if _, on, _ := h.harnesses.Harness("mine"); on {
		t.Error("it is not switched off")
	}
	if _, err := h.settings.Set("harnesses.mine.extends", json.RawMessage(`"gone"`)); err == nil {
		t.Error("it extends what is not there")
	}
	set("harnesses.mine", "null")
	if _, _, ok := h.harnesses.Harness("mine"); ok {
		t.Error("it is still there")
	}
}
