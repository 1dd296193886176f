package chats

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// stopping waits until the stop of a chat has got to a step.
func (s *stage) stopStep(id string, step model.StopStep) *model.Stopping {
	s.Helper()
	ev := s.log.wait(s.T, "the stop to be "+string(step), func(e event) bool {
		d, ok := e.data.(detail)
		return ok && d.ID == id && d.Stopping != nil && d.Stopping.Step == step
	})
	return ev.data.(detail).Stopping
}

func TestEveryStepOfAStopIsShown(t *testing.T) {
	s := newStage(t, func(o *Options) { o.StopBound = time.Second })
	id, sc := s.running()
	sc.mu.Lock()
	sc.closeErr = errors.New("not permitted")
	sc.mu.Unlock()
	_, _ = s.m.StopTurn(ctx, id)
	if st := s.stopStep(id, model.StopAsked); st.EndsAt <= st.At || st.EndsAt > st.At+2000 || st.At == 0 {
		t.Errorf("asked: %+v", st)
	}
	s.cancelled(sc) <- errors.New("busy")
	if st := s.stopStep(id, model.StopOwed); st.EndsAt == 0 || st.Error == "" {
		t.Errorf("owed: %+v", st)
	}
	s.stopStep(id, model.StopEnding)
	if st := s.stopStep(id, model.StopStuck); st.EndsAt != 0 || st.Error == "" {
		t.Errorf("stuck: %+v", st)
	}
	if st := s.get(id).Stopping; st == nil || st.Step != model.StopStuck {
		t.Errorf("the snapshot says %+v", st)
	}
	sc.mu.Lock()
	sc.closeErr = nil
	sc.mu.Unlock()
	_, _ = s.m.StopTurn(ctx, id)
	s.settled(id)
	if st := s.get(id).Stopping; st != nil {
		t.Errorf("nothing is being stopped any more: %+v", st)
	}
}

// A process that cannot be ended keeps its chat, and the host ends all the same.
func TestARemovalThatCannotEndTheAgentSaysSo(t *testing.T) {
	s := newStage(t, func(o *Options) { o.StopBound = 100 * time.Millisecond })
	id, sc := s.running()
	sc.mu.Lock()
	sc.closeErr = errors.New("not permitted")
	sc.mu.Unlock()
	if err := s.m.Remove(ctx, id); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	if _, err := s.m.Get(ctx, id); err != nil {
		t.Fatal("the chat is gone:", err)
	}
	s.close()
	sc.once.Do(func() { close(sc.shut) })
}

// sharing is a session on a server that others use too.
type sharing struct {
	*scene
	mu      sync.Mutex
	uses    []string
	restart func() error
}

func (s *sharing) Shared() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses
}

func (s *sharing) RestartServer(context.Context) error { return s.restart() }

func sharingStage(t *testing.T) (*stage, chan *sharing) {
	s := newStage(t, func(o *Options) { o.StopBound = 100 * time.Millisecond })
	made := make(chan *sharing, 10)
	s.agent.wrap = func(sc *scene) agent.ChatSession {
		x := &sharing{scene: sc, uses: []string{"the chat “other”", "a terminal"}, restart: func() error { return nil }}
		made <- x
		return x
	}
	return s, made
}

func TestASharedServerIsSpared(t *testing.T) {
	s, made := sharingStage(t)
	id, sc := s.running()
	<-made
	_, _ = s.m.StopTurn(ctx, id)
	hangs := s.cancelled(sc)
	if end := s.ends(id, 1); end.Outcome != agent.OutcomeCanceled || end.Text == "" {
		t.Fatalf("end = %+v", end)
	}
	if st := s.stopStep(id, model.StopShared); len(st.Ends) != 2 || st.EndsAt != 0 {
		t.Fatalf("%+v", st)
	}
	sc.mu.Lock()
	closes := sc.closes
	sc.mu.Unlock()
	if closes != 0 {
		t.Fatal("the server was ended for one chat")
	}
	// New turns are refused until the agent stopped; each cancel is awaited, and
	// only the newest may keep the gate closed.
	if sent := s.send(id, "c2", "next"); sent.State != model.QueueQueued || sent.Note == "" {
		t.Fatal(sent)
	}
	_, _ = s.m.StopTurn(ctx, id)
	again := s.cancelled(sc)
	hangs <- errors.New("too late")
	_ = s.m.with(ctx, id, func(c *chat) error {
		if c.phase != phShared {
			t.Errorf("phase %d after an older cancel failed", c.phase)
		}
		return nil
	})
	again <- nil
	s.settled(id)
	if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: id, ClientID: "c2", Retry: true}); err != nil { // Stop had kept it
		t.Fatal(err)
	}
	next := s.scene() // let go of, and attached anew
	if p := s.prompt(next); p.ClientID != "c2" {
		t.Fatal(p)
	}
	next.done()
	s.ends(id, 2)
}

func TestASharedServerIsRestartedByAPersonOnly(t *testing.T) {
	s, made := sharingStage(t)
	id, sc := s.running()
	x := <-made
	restarted := 0
	fail := errors.New("it does not end")
	x.restart = func() error { restarted++; return fail }
	if _, err := s.m.RestartServer(ctx, person, id); !errors.Is(err, ErrConflict) {
		t.Fatal("a server that stops well was restarted:", err)
	}
	_, _ = s.m.StopTurn(ctx, id)
	s.stopStep(id, model.StopShared)
	if _, err := s.m.RestartServer(ctx, Caller{By: "agent"}, id); !errors.Is(err, ErrNotAllowed) || restarted != 0 {
		t.Fatal("an agent restarted it:", err)
	}
	if _, err := s.m.RestartServer(ctx, person, id); err != nil {
		t.Fatal(err)
	}
	s.stopStep(id, model.StopStuck)
	_, _ = s.m.StopTurn(ctx, id) // the session is closed then
	s.settled(id)
	s.send(id, "c2", "next")
	next := s.scene()
	s.prompt(next)
	next.done()
	s.ends(id, 2)
	_ = sc
}

// A server that only this chat uses is ended like any other agent.
func TestAServerOfOneChatIsEnded(t *testing.T) {
	s, made := sharingStage(t)
	id, sc := s.running()
	x := <-made
	x.mu.Lock()
	x.uses = nil
	x.mu.Unlock()
	_, _ = s.m.StopTurn(ctx, id)
	s.ends(id, 1)
	<-sc.shut
	s.settled(id)
}

// A failed start was never a running turn: nobody is shown one.
func TestAFailedStartIsNeverShownAsRunning(t *testing.T) {
	s := newStage(t)
	s.agent.open = func(context.Context, *scene) error { return errors.New("no") }
	id := s.chat()
	s.send(id, "c1", "go")
	s.ends(id, 1)
	s.settled(id)
	var states []model.SessionState
	for _, e := range s.log.all() {
		if sum, ok := e.data.(model.ChatSummary); ok && e.topic == topicChats {
			states = append(states, sum.State)
		}
	}
	if slices.Contains(states, model.SessionRunning) {
		t.Errorf("states %v", states)
	}
}
