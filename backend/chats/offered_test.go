package chats

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

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

// The same for how deep it thinks and for its own settings.
func TestThinkingAndFeaturesFallBackToo(t *testing.T) {
	var mu sync.Mutex
	offer := func(deep, slow bool) agent.Catalog {
		k := agent.Catalog{Models: []agent.Model{{ID: "m1", Default: true, Thinking: []agent.Thinking{{ID: "brief"}}}},
			Features: []agent.Feature{{ID: "search", Kind: "toggle"}, {ID: "speed", Kind: "select", Choices: []agent.QuestionOption{{ID: "fast"}}}}}
		if deep {
			k.Models[0].Thinking = append(k.Models[0].Thinking, agent.Thinking{ID: "deep"})
		}
		if slow {
			k.Features[1].Choices = append(k.Features[1].Choices, agent.QuestionOption{ID: "slow"})
		}
		return k
	}
	known := offer(true, true)
	s := newStage(t, func(o *Options) {
		o.IdleAfter = 20 * time.Millisecond
		o.Offers = func(string, string) (agent.Catalog, bool) {
			mu.Lock()
			defer mu.Unlock()
			return known, true
		}
	})
	id := s.chat()
	for name, v := range map[string]any{"thinking": "deep", "feature:speed": "slow", "feature:search": true, "feature:mine": 1} {
		if _, _, err := s.m.Set(ctx, person, id, name, raw(v)); err != nil {
			t.Fatal(err)
		}
	}
	s.send(id, "c1", "one")
	sc := s.scene()
	s.prompt(sc)
	if sc.req.Thinking != "deep" || len(sc.req.Features) != 3 {
		t.Fatalf("%+v", sc.req)
	}
	sc.done()
	s.ends(id, 1)
	<-sc.shut
	mu.Lock()
	known = offer(false, false)
	mu.Unlock()
	s.send(id, "c2", "two")
	sc = s.scene()
	s.prompt(sc)
	if _, there := sc.req.Features["speed"]; sc.req.Thinking != "" || there || string(sc.req.Features["search"]) != "true" || string(sc.req.Features["mine"]) != "1" {
		t.Errorf("%q %s", sc.req.Thinking, sc.req.Features)
	}
	told := ""
	for _, r := range s.get(id).Items {
		if r.Type == agent.ItemNotice {
			told += r.Text
		}
	}
	if !strings.Contains(told, "deep") || !strings.Contains(told, "speed") || strings.Contains(told, "search") {
		t.Errorf("told was %q", told)
	}
	sc.done()
	s.ends(id, 2)
}

// checking is a provider with a strict schema of its own.
type checking struct{ *actor }

func (checking) CheckOptions(options json.RawMessage) []agent.Issue {
	if strings.Contains(string(options), "bad") {
		return []agent.Issue{{Path: "$.options.tools[1]", Code: "invalid_string", Message: "is bad"}}
	}
	return nil
}

type checked struct{ *actor }

func (c checked) Harness(id string) (agent.Harness, bool, bool) {
	h, on, ok := c.actor.Harness(id)
	h.Provider = checking(c)
	return h, on, ok
}

func TestOptionsAreCheckedBeforeAChatBegins(t *testing.T) {
	s := newStage(t, func(o *Options) { o.Harnesses = checked{o.Harnesses.(*actor)} })
	_, err := s.m.Create(ctx, CreateRequest{Harness: "actor", Cwd: s.dir, Options: json.RawMessage(`{"tools":["good","bad"]}`)})
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeInvalid || len(e.Issues) != 1 || e.Issues[0].Path != "$.options.tools[1]" || !strings.Contains(e.Message, "$.options.tools[1] is bad") {
		t.Fatal(err)
	}
	if len(s.m.List()) != 0 {
		t.Error("a chat was made all the same")
	}
	if _, err := s.m.Create(ctx, CreateRequest{Harness: "actor", Cwd: s.dir, Options: json.RawMessage(`{"tools":["good"]}`)}); err != nil {
		t.Error(err)
	}
}
