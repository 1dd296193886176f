package sessions

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Whatever sources, switches, chats and acknowledgements do in whatever order:
// the changes told, applied one by one, give the list; a row is there exactly
// when something holds it; nothing is left behind at the end.
func TestAnyOrderOfCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exits := processes.NewExitWatcher()
		defer exits.Close()
		told := map[model.SessionKey]model.Session{}
		r, err := New(Options{Exits: exits, OnChange: func(c Change) {
			if c.Removed {
				delete(told, c.Session.Key)
			} else {
				told[c.Session.Key] = c.Session
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		ctx := context.Background()
		harnesses := []string{"h", "g"}
		pubs := map[string]agent.Publisher{}
		held := map[string]map[model.SessionKey]bool{} // by source
		for _, s := range []string{"one", "two"} {
			pubs[s], held[s] = r.Publisher(ctx, s, harnesses), map[model.SessionKey]bool{}
		}
		on := map[string]bool{}
		chats := map[string]model.SessionKey{}
		ids := rapid.SampledFrom([]string{"a", "b", "c"})
		snap := func() agent.Snapshot {
			return agent.Snapshot{ID: ids.Draw(t, "id"), Harness: rapid.SampledFrom(harnesses).Draw(t, "h"), Cwd: "/",
				Status:     rapid.SampledFrom([]agent.Status{"", "running", "idle", "waiting", "blocked"}).Draw(t, "status"),
				LastTurn:   rapid.SampledFrom([]string{"", "failed", "completed"}).Draw(t, "turn"),
				Supersedes: ""}
		}
		keyOf := func(s agent.Snapshot) model.SessionKey { return model.SessionKey{Harness: s.Harness, ID: s.ID} }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			src := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "source")
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0, 1:
				s := snap()
				pubs[src].Upsert(s)
				if on[s.Harness] {
					held[src][keyOf(s)] = true
				}
			case 2:
				s := snap()
				pubs[src].Remove(s.Harness, s.ID)
				delete(held[src], keyOf(s))
			case 3:
				list := rapid.SliceOfNDistinct(rapid.Custom(func(*rapid.T) agent.Snapshot { return snap() }), 0, 4, func(s agent.Snapshot) model.SessionKey { return keyOf(s) }).Draw(t, "reset")
				pubs[src].Reset(list)
				clear(held[src])
				for _, s := range list {
					if on[s.Harness] {
						held[src][keyOf(s)] = true
					}
				}
			case 4:
				h := rapid.SampledFrom(harnesses).Draw(t, "switch")
				on[h] = !on[h]
				r.SetEnabled(h, on[h])
				for _, keys := range held {
					for k := range keys {
						if k.Harness == h && !on[h] {
							delete(keys, k)
						}
					}
				}
			case 5:
				_ = r.Acknowledge(ctx, keyOf(snap()))
			case 6:
				id := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "chat")
				if _, ok := chats[id]; ok {
					r.RemoveChat(id)
					delete(chats, id)
				} else {
					c := model.ChatSummary{ID: id, Harness: "h", Cwd: "/", State: model.SessionRunning, Hand: model.Hand{State: model.HandApp}}
					if rapid.Bool().Draw(t, "named") {
						c.Handle = &agent.Handle{Harness: "h", NativeID: "chat-" + id}
					}
					r.SetChat(c, 0)
					chats[id] = chatKey(c)
				}
			}
			want := map[model.SessionKey]bool{}
			for _, keys := range held {
				for k := range keys {
					want[k] = true
				}
			}
			for _, k := range chats {
				want[k] = true
			}
			list := map[model.SessionKey]model.Session{}
			for _, s := range r.List() {
				list[s.Key] = s
				if !want[s.Key] {
					t.Fatalf("%v is there and nothing holds it", s.Key)
				}
			}
			if len(list) != len(want) {
				t.Fatalf("%d rows, %d are held: %v %v", len(list), len(want), fmt.Sprint(list), want)
			}
			if !reflect.DeepEqual(list, told) {
				t.Fatalf("the changes gave\n%v\nthe list is\n%v", told, list)
			}
		}
		for _, p := range pubs {
			p.Reset(nil)
		}
		for id := range chats {
			r.RemoveChat(id)
		}
		if len(r.rows) != 0 || len(r.folders) != 0 {
			t.Fatalf("left: %d rows, %d folders", len(r.rows), len(r.folders))
		}
	})
}
