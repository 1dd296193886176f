package chats

import (
	"strings"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func TestWhatIsNotOfferedAnyMoreFallsBackWithANotice(t *testing.T) {
	var mu sync.Mutex
	known := agent.Catalog{FetchedAt: 1, Models: []agent.Model{{ID: "m1"}, {ID: "https://old"}}, Modes: []agent.Mode{{ID: "ask"}, {ID: "plan"}}}
	offers := func(o *Options) {
		o.Offers = func(string, string) (agent.Catalog, bool) {
			mu.Lock()
			defer mu.Unlock()
			return known, true
		}
	}
	s := newStage(t, offers)
	id := s.chat()
	for name, v := range map[string]string{"model": "https://old", "mode": "plan"} {
		if _, _, err := s.m.Set(ctx, person, id, name, raw(v)); err != nil {
			t.Fatal(err)
		}
	}
	s.send(id, "c1", "one")
	sc := s.scene()
	s.prompt(sc)
	if sc.req.Model != "https://old" || sc.req.Mode != "plan" {
		t.Fatalf("%q %q", sc.req.Model, sc.req.Mode)
	}
	sc.Settings(agent.Settings{Model: "https://old", Mode: "plan"})
	sc.done()
	s.ends(id, 1)
	s.close() // it is known after a restart, too

	mu.Lock()
	known = agent.Catalog{FetchedAt: 2, Models: []agent.Model{{ID: "m1"}}, Modes: []agent.Mode{{ID: "ask"}}}
	mu.Unlock()
	s.open(offers)
	s.send(id, "c2", "two")
	sc = s.scene()
	s.prompt(sc)
	if sc.req.Model != "" || sc.req.Mode != "" {
		t.Errorf("started with %q and %q", sc.req.Model, sc.req.Mode)
	}
	told := ""
	for _, r := range s.get(id).Items {
		if r.Type == agent.ItemNotice {
			told += r.Text
		}
	}
	if !strings.Contains(told, "https://old") || !strings.Contains(told, "plan") {
		t.Errorf("told was %q", told)
	}
	sc.done()
	s.ends(id, 2)
}

// An agent takes more than it lists: what it never listed is left alone.
func TestAModelThatWasNeverListedIsLeftAlone(t *testing.T) {
	s := newStage(t, func(o *Options) {
		o.Offers = func(string, string) (agent.Catalog, bool) {
			return agent.Catalog{Models: []agent.Model{{ID: "alias"}}}, true
		}
	})
	id := s.chat()
	if _, _, err := s.m.Set(ctx, person, id, "model", raw("the-full-name")); err != nil {
		t.Fatal(err)
	}
	s.send(id, "c1", "one")
	sc := s.scene()
	s.prompt(sc)
	if sc.req.Model != "the-full-name" {
		t.Errorf("%q", sc.req.Model)
	}
	sc.done()
	s.ends(id, 1)
}
