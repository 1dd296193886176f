package chats

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// Any interleaving of prompts, stops, answers, events of the agent, deaths and
// ends keeps the rules: one end per turn, nothing of a turn after it, no prompt
// twice, never stuck.
func TestAnyInterleavingKeepsTheRules(t *testing.T) {
	s := newStage(t, func(o *Options) {
		o.StopBound, o.CloseBound, o.SilentAfter = 40*time.Millisecond, time.Second, time.Hour
		o.Frame = time.Nanosecond
	})
	s.agent.setup = steers
	chats := 0
	rapid.Check(t, func(rt *rapid.T) {
		chats++
		s.log.clear()
		for len(s.agent.scenes) > 0 {
			<-s.agent.scenes
		}
		sum, err := s.m.Create(ctx, CreateRequest{ClientID: fmt.Sprintf("r%d", chats), Harness: "actor", Cwd: s.dir})
		if err != nil {
			rt.Fatal(err)
		}
		p := &play{s: s, id: sum.ID}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			p.step(rapid.SampledFrom(kinds).Draw(rt, "what"))
		}
		p.finish(rt)
		p.works(rt)
		p.check(rt)
	})
}

// steers makes every other agent take messages in its turns.
func steers(sc *scene) {
	if sc.a.taken.Add(1)%2 == 0 {
		sc.steer = func(p agent.Prompt) error {
			sc.mu.Lock()
			defer sc.mu.Unlock()
			sc.steered = append(sc.steered, p.ClientID)
			return nil
		}
	}
}

// The same with a host that is killed at any moment and started again.
func TestAnyInterleavingWithKilledHosts(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			fast := func(o *Options) {
				o.StopBound, o.CloseBound, o.SilentAfter = 40*time.Millisecond, time.Second, time.Hour
			}
			s := newStage(t, fast)
			s.agent.setup = steers
			p := &play{s: s, id: s.chat()}
			sent := map[string]int{}
			for range 3 {
				for range 1 + r.IntN(12) {
					p.step(kinds[r.IntN(len(kinds))])
				}
				_, _ = s.m.Get(ctx, p.id)
				old := p.all
				s.crash()
				for _, sc := range old { // what reached the agent before the kill
					for len(sc.prompts) > 0 {
						sent[(<-sc.prompts).ClientID]++
					}
				}
				p.all, p.scene = nil, nil
				c := s.get(p.id)
				for _, row := range c.Items {
					if row.Open() || row.Provisional {
						t.Fatalf("row %s is open after the restart", row.ID)
					}
				}
				for _, e := range c.Queue {
					if e.State == model.QueueUnknown { // a person decides, here: not again
						if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: p.id, ClientID: e.ClientID, Remove: true}); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			p.finish(t)
			for _, sc := range p.all {
				for len(sc.prompts) > 0 {
					sent[(<-sc.prompts).ClientID]++
				}
			}
			for client, n := range sent {
				if n != 1 {
					t.Errorf("prompt %s reached the agent %d times", client, n)
				}
			}
			turns, err := s.st.Turns(ctx, p.id)
			if err != nil {
				t.Fatal(err)
			}
			for i, turn := range turns {
				if turn.End == nil || (i > 0 && turn.Turn <= turns[i-1].Turn) {
					t.Errorf("turn %+v", turn)
				}
			}
		})
	}
}
