package chats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// S07: queued prompts survive the end of the host, none is sent twice; what was
// being sent is unknown.
func TestCaseS07_QueueSurvivesAKilledHost(t *testing.T) {
	s := newStage(t)
	id := s.chat()
	s.send(id, "c1", "one")
	sc := s.scene()
	s.prompt(sc) // "sending": the agent said nothing yet
	s.send(id, "c2", "two")
	s.send(id, "c3", "three")
	st2 := s.crash()
	c := s.get(id)
	if len(c.Queue) != 3 || c.Queue[0].State != model.QueueUnknown || c.Queue[1].State != model.QueueQueued {
		t.Fatalf("queue = %+v", c.Queue)
	}
	if c.LastEnd == nil || c.LastEnd.Outcome != agent.OutcomeInterrupted || c.Turn != model.TurnIdle {
		t.Fatalf("chat = %+v", c.ChatSummary)
	}
	if len(s.agent.scenes) != 0 {
		t.Fatal("something was sent by itself")
	}
	// The transcript shows it: known now.
	if _, err := s.m.ApplyMirror(ctx, id, Mirrored{Items: []agent.Item{{ID: "n1", Type: agent.ItemUser, Text: "one", ClientID: "c1", NativeID: "n1"}}}); err != nil {
		t.Fatal(err)
	}
	if q := s.get(id).Queue; len(q) != 2 || q[0].ClientID != "c2" {
		t.Fatalf("queue = %+v", q)
	}
	if n := s.get(id).Items; n[0].NativeID != "n1" || len(n) != 2 {
		t.Fatalf("items = %+v", n)
	}
	if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: id, ClientID: "c3", Retry: true}); err != nil {
		t.Fatal(err)
	}
	sc = s.scene()
	for i, want := range []string{"c2", "c3"} {
		if p := s.prompt(sc); p.ClientID != want {
			t.Fatal(p)
		}
		sc.done()
		s.ends(id, int64(i+2))
	}
	_ = st2
}

// namer is a hand-over that knows its prompts' native ids beforehand.
type namer struct{ agent.Handover }

func (namer) PromptID(h agent.Handle, client string) string { return h.NativeID + "/" + client }

// The same where the transcript knows no client id, but the harness can tell
// under which id it stored the prompt.
func TestCaseS07_UnknownDeliveryIsFoundByItsNativeID(t *testing.T) {
	s := newStage(t)
	s.agent.handover = namer{}
	id := s.chat()
	s.send(id, "c1", "one")
	s.prompt(s.scene())
	s.crash()
	native := s.get(id).Handle.NativeID + "/c1"
	item := agent.Item{ID: native, Type: agent.ItemUser, Text: "one", NativeID: native}
	if _, err := s.m.ApplyMirror(ctx, id, Mirrored{Items: []agent.Item{item}}); err != nil {
		t.Fatal(err)
	}
	if c := s.get(id); len(c.Queue) != 0 || len(c.Items) != 2 || c.Items[0].NativeID != native {
		t.Fatalf("queue %+v items %+v", c.Queue, c.Items)
	}
}

// crash leaves the host's data as kill -9 would, and starts a new host on it.
func (s *stage) crash() *store.Store {
	s.Helper()
	old := s.m
	// Nothing of the old manager reaches the store or the log any more.
	if err := s.st.Close(); err != nil {
		s.Fatal(err)
	}
	st := s.st
	s.log = newRecord()
	for len(s.agent.scenes) > 0 {
		<-s.agent.scenes
	}
	s.Cleanup(func() {
		c, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if err := old.Stop(c); err != nil {
			s.Error(err)
		}
	})
	s.open()
	return st
}

func TestAKilledHostLosesNoSettledRow(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.say("t1", "settled", true)
	sc.Item(agent.Item{ID: "x1", Type: agent.ItemTool, CallID: "x1", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateRunning})
	sc.say("t2", "streaming", false)
	askFor(sc, ctx, runTool("7"))
	s.card("7", model.CardOpen, 1)
	s.get(id) // stores the provisional rows, as the next 250 ms would
	s.crash()
	c := s.get(id)
	var texts []string
	for _, r := range c.Items {
		texts = append(texts, r.ID+":"+string(r.State))
		if r.Provisional || r.Open() {
			t.Errorf("row %s is still open", r.ID)
		}
	}
	if got := strings.Join(texts, " "); got != "user-c1: t1: x1:canceled t2: end-1:" {
		t.Fatal(got)
	}
	if c.Items[3].Text != "streaming" || len(c.Approvals) != 0 {
		t.Fatal(c.Items[3].Text, c.Approvals)
	}
	s.send(id, "c2", "go on")
	sc = s.scene()
	s.prompt(sc)
	sc.done()
	s.ends(id, 2)
}

func TestQueueEditMoveRemove(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	for _, c := range []string{"q1", "q2", "q3"} {
		s.send(id, c, c)
	}
	edit := func(q QueueEdit) string {
		q.ChatID = id
		list, err := s.m.EditQueue(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range list {
			if e.State == model.QueueQueued {
				out = append(out, e.Text)
			}
		}
		return strings.Join(out, " ")
	}
	if got := edit(QueueEdit{ClientID: "q3", Move: true, Before: "q1"}); got != "q3 q1 q2" {
		t.Fatal(got)
	}
	if got := edit(QueueEdit{ClientID: "q1", Text: "new"}); got != "q3 new q2" {
		t.Fatal(got)
	}
	if got := edit(QueueEdit{ClientID: "q2", Remove: true}); got != "q3 new" {
		t.Fatal(got)
	}
	if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: id, ClientID: "c1", Text: "x"}); err == nil {
		t.Fatal("a prompt that is being sent was changed")
	}
	sc.done()
	if p := s.prompt(sc); p.Text != "q3" {
		t.Fatal(p)
	}
	_, _ = s.m.StopTurn(ctx, id)
	s.cancelled(sc) <- nil
	sc.ends <- turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCanceled}}
	s.ends(id, 2)
	s.settled(id)
	if len(sc.prompts) != 0 {
		t.Fatal("a stop sent the next prompt")
	}
	s.send(id, "first", "said after the stop")
	for _, want := range []string{"said after the stop", "new"} {
		if p := s.prompt(sc); p.Text != want {
			t.Fatal(p.Text)
		}
		sc.done()
	}
	s.ends(id, 4)
}

// A long queue of long texts fits its events and the snapshot; what is shown
// shortened says so and is not changed by its shown beginning.
func TestALongQueueFits(t *testing.T) {
	s := newStage(t)
	id, _ := s.running()
	long := strings.Repeat("слово ", 20_000)
	for i := range 40 {
		s.send(id, fmt.Sprint("long", i), long)
	}
	s.send(id, "short", "short")
	check := func(what string, v any) {
		if b, err := json.Marshal(v); err != nil || len(b) > agent.LimitPayloadBytes {
			t.Fatalf("%s has %d bytes, %v", what, len(b), err)
		}
	}
	for _, e := range s.log.all() {
		check(e.typ, e.data)
	}
	c := s.get(id)
	check("the snapshot", c)
	if e := c.Queue[1]; e.Cut != len(long) || !strings.HasPrefix(long, e.Text) || e.Text == "" {
		t.Errorf("%d %q", e.Cut, e.Text)
	}
	if e := c.Queue[len(c.Queue)-1]; e.Text != "short" || e.Cut != 0 {
		t.Errorf("%+v", e)
	}
	if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: id, ClientID: "long3", Text: "only the beginning"}); !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
	if _, err := s.m.EditQueue(ctx, QueueEdit{ChatID: id, ClientID: "short", Text: "shorter"}); err != nil {
		t.Error(err)
	}
	_ = s.m.with(ctx, id, func(c *chat) error {
		for len(c.queue) < limitQueued {
			c.queue = append(c.queue, model.QueueEntry{ClientID: fmt.Sprint("more", len(c.queue)), Text: "x", State: model.QueueQueued})
		}
		return nil
	})
	if _, err := s.m.Send(ctx, SendRequest{ChatID: id, ClientID: "one more", Text: "x"}); !errors.Is(err, ErrBusy) {
		t.Error("a queue has no end:", err)
	}
	check("the snapshot of the longest queue", s.get(id))
}
