package chats

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// A message that the agent took and then gave up unread, because it was stopped,
// is back in the queue with its words; one that it had read is not.
func TestAStopDiscardsOnlyWhatTheAgentHadNotRead(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.steer = func(agent.Prompt) error { return nil }
	for _, client := range []string{"read", "unread"} {
		if sent := s.send(id, client, "words of "+client, "steer"); sent.State != model.QueueAccepted {
			t.Fatal(sent)
		}
	}
	sc.Delivery("read", agent.DeliveryStarted)
	s.send(id, "mine", "queued by us")
	_, _ = s.m.StopTurn(ctx, id)
	s.cancelled(sc) <- nil
	for _, client := range []string{"read", "unread", "never sent"} {
		sc.Delivery(client, agent.DeliveryDiscarded)
	}
	sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCanceled}}
	s.ends(id, 1)
	s.settled(id)
	q := s.get(id).Queue
	if len(q) != 2 || q[0].ClientID != "mine" || q[0].State != model.QueueQueued {
		t.Fatalf("queue = %+v", q)
	}
	if e := q[1]; e.ClientID != "unread" || e.Text != "words of unread" || e.State != model.QueueFailed || !strings.Contains(e.Error, "before it read") {
		t.Fatalf("%+v", e)
	}
	stored, err := s.st.Queue(ctx, id)
	if err != nil || len(stored) != 2 || stored[1].Text != "words of unread" && stored[0].Text != "words of unread" {
		t.Fatal(stored, err)
	}
	// Nothing of it is sent by itself; a person's word sends it once more.
	if len(sc.prompts) != 0 {
		t.Fatal("sent by itself")
	}
	if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: id, ClientID: "mine", Remove: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: id, ClientID: "unread", Retry: true}); err != nil {
		t.Fatal(err)
	}
	if p := s.prompt(sc); p.Text != "words of unread" {
		t.Fatal(p)
	}
	sc.done()
	s.ends(id, 2)
}

// A delivery report may come before the call returns: the message has its row.
func TestAnEarlyDeliveryReportShowsTheMessage(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.steer = func(p agent.Prompt) error {
		sc.Delivery(p.ClientID, agent.DeliveryAccepted)
		_, _ = s.m.Get(ctx, id)
		return nil
	}
	if sent := s.send(id, "c2", "left", "steer"); sent.State != model.QueueAccepted {
		t.Fatal(sent)
	}
	sc.Item(agent.Item{ID: "n2", Type: agent.ItemUser, ClientID: "c2", NativeID: "n2", Text: "left"})
	sc.done()
	s.ends(id, 1)
	if c := s.get(id); len(c.Items) != 2 || c.Items[1].ClientID != "c2" || c.Items[1].NativeID != "n2" || c.Items[1].Text != "left" {
		t.Fatalf("%+v", c.Items)
	}
}

// An agent that dies before it said whether it took a message: unknown, shown.
func TestASteerWithoutAnAnswerIsUnknown(t *testing.T) {
	s := newStage(t, func(o *Options) { o.CloseBound = 200 * time.Millisecond })
	find := finding{make(chan string, 10)}
	s.m.SetGuard(find)
	id, sc := s.running()
	inside, out := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(out) })
	sc.steer = func(agent.Prompt) error { close(inside); <-out; return nil }
	got := make(chan Sent, 1)
	go func() {
		sent, _ := s.m.Send(ctx, SendRequest{ChatID: id, ClientID: "c2", Text: "left", How: "steer"})
		got <- sent
	}()
	<-inside
	sc.Exit(agent.Exit{Code: 1})
	s.ends(id, 1)
	if sent := <-got; sent.State != model.QueueUnknown || sent.Note == "" {
		t.Fatal(sent)
	}
	if q := s.get(id).Queue; len(q) != 1 || q[0].State != model.QueueUnknown {
		t.Fatalf("%+v", q)
	}
	if got := within(t, find.asked); got != id {
		t.Fatal("the transcript of another chat is read:", got)
	}
	// It comes too late: a turn runs again, whose rows are its own.
	s.send(id, "c3", "go on")
	next := s.scene()
	s.prompt(next)
	seen := Mirrored{Items: []agent.Item{{ID: "n2", Type: agent.ItemUser, Text: "left", ClientID: "c2", NativeID: "n2"}}}
	if _, err := s.m.ApplyMirror(ctx, id, seen); !errors.Is(err, ErrBusy) {
		t.Fatal("the transcript was read into a running turn:", err)
	}
	next.done()
	s.ends(id, 2)
	within(t, find.asked)
	if _, err := s.m.ApplyMirror(ctx, id, seen); err != nil {
		t.Fatal(err)
	}
	if c := s.get(id); len(c.Queue) != 0 || c.Items[len(c.Items)-1].Text != "left" {
		t.Fatalf("%+v %+v", c.Queue, c.Items)
	}
}

// finding is a guard that only reads transcripts.
type finding struct{ asked chan string }

func (finding) MayWrite(context.Context, Claim) error { return nil }
func (finding) LetGo(Claim)                           {}
func (f finding) LookUp(chatID string)                { f.asked <- chatID }

func within[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}
