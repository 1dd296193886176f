package chats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// S08: two identical creations at once make one chat and one process.
func TestCaseS08_DoubleStart(t *testing.T) {
	s := newStage(t)
	var wg sync.WaitGroup
	ids := make([]string, 16)
	for i := range ids {
		wg.Go(func() {
			sum, err := s.m.Create(ctx, CreateRequest{ClientID: "same", Harness: "actor", Cwd: s.dir})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = sum.ID
			if _, err := s.m.Send(ctx, SendRequest{ChatID: sum.ID, ClientID: "p", Text: "go"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatal("two chats for one request")
		}
	}
	sc := s.scene()
	s.prompt(sc)
	sc.done()
	s.ends(ids[0], 1)
	if len(s.m.List()) != 1 || len(s.agent.opens) != 1 || len(sc.prompts) != 0 {
		t.Fatalf("%d chats, %d processes", len(s.m.List()), len(s.agent.opens))
	}
	if sent := s.send(ids[0], "p", "go"); sent.State != model.QueueAccepted {
		t.Fatal(sent)
	}
}

func TestTrustIsAskedFirst(t *testing.T) {
	s := newStage(t)
	s.agent.starts = []agent.ProjectStart{{Kind: "hook", Name: "pre", Source: ".x/settings.json"}}
	_, err := s.m.Create(ctx, CreateRequest{Harness: "actor", Cwd: s.dir})
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeTrustNeeded || e.Trust == nil || len(e.Trust.Starts) != 1 {
		t.Fatal(err)
	}
	for i, state := range []string{"untrusted", "trusted"} {
		if _, err := s.m.TrustGrant(ctx, person, s.dir, state); err != nil {
			t.Fatal(err)
		}
		sum, err := s.m.Create(ctx, CreateRequest{Harness: "actor", Cwd: s.dir})
		if err != nil {
			t.Fatal(err)
		}
		s.send(sum.ID, "c1", "go")
		sc := s.scene()
		if sc.req.ProjectSourcesOff != (i == 0) {
			t.Errorf("%s: project sources off = %v", state, sc.req.ProjectSourcesOff)
		}
		s.prompt(sc)
		sc.done()
		s.ends(sum.ID, 1)
	}
}

func TestSettings(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sum, n, err := s.m.Set(ctx, person, id, "model", raw("m2"))
	if err != nil || n == nil || sum.Model != "m2" {
		t.Fatal(sum.Model, n, err)
	}
	if _, _, err := s.m.Set(ctx, person, id, "model", raw("bad")); err == nil {
		t.Fatal("taken")
	}
	if _, _, err := s.m.Set(ctx, person, id, "mode", raw("plan")); !errors.Is(err, ErrBusy) {
		t.Fatal(err) // the scene has no ModeSetter
	}
	sc.Title("from the agent")
	s.log.until(t, "the title", func() bool { x, _ := s.m.Summary(id); return x.Title == "from the agent" })
	if sum, _, _ = s.m.Set(ctx, person, id, "title", raw("mine")); sum.Title != "mine" {
		t.Fatal(sum)
	}
	sc.Title("again")
	sc.done()
	s.ends(id, 1)
	if sum, _ = s.m.Summary(id); sum.Title != "mine" {
		t.Fatal(sum.Title)
	}
	if sum, _, err = s.m.Set(ctx, person, id, "mode", raw("plan")); err != nil || sum.Mode != "plan" {
		t.Fatal(sum, err)
	}
	<-sc.shut // let go of, so that the next start has it
	s.send(id, "c2", "go")
	sc = s.scene()
	if sc.req.Mode != "plan" || sc.req.Model != "m2" {
		t.Fatal(sc.req)
	}
	s.prompt(sc)
	sc.done()
	s.ends(id, 2)
	if err := s.m.Seen(ctx, id); err != nil {
		t.Fatal(err)
	}
	if sum, _ = s.m.Summary(id); sum.Unread {
		t.Fatal("still unread")
	}
}

func TestConfinedContextIsRebuilt(t *testing.T) {
	s := newStage(t)
	sum, err := s.m.Create(ctx, CreateRequest{Harness: "actor"})
	if err != nil || sum.Kind != agent.KindConfined {
		t.Fatal(sum, err)
	}
	s.send(sum.ID, "c1", "my name is Ada")
	sc := s.scene()
	if sc.req.Resume != nil || sc.req.WorkingDirectory == s.dir {
		t.Fatal(sc.req)
	}
	s.prompt(sc)
	sc.say("t1", "Hello Ada", true)
	sc.Exit(agent.Exit{Code: 1})
	s.ends(sum.ID, 1)
	s.send(sum.ID, "c2", "who am I?")
	sc = s.scene()
	if !strings.Contains(sc.req.Instruction, "my name is Ada") || strings.Contains(sc.req.Instruction, "who am I") || agent.UTF16Len(sc.req.Instruction) > agent.LimitInstruction {
		t.Fatal(sc.req.Instruction)
	}
	s.prompt(sc)
	sc.done()
	s.ends(sum.ID, 2)
	found := false
	for _, r := range s.get(sum.ID).Items {
		found = found || strings.Contains(r.Text, "context was rebuilt")
	}
	if !found {
		t.Error("nothing says that the context was rebuilt")
	}
}

func TestRewindForkRemoveClose(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.Item(agent.Item{ID: "n1", Type: agent.ItemUser, ClientID: "c1", NativeID: "n1", Text: "go"})
	sc.say("t1", "one", true)
	sc.done()
	s.ends(id, 1)
	s.send(id, "c2", "second")
	s.prompt(sc)
	sc.Item(agent.Item{ID: "n2", Type: agent.ItemUser, ClientID: "c2", NativeID: "n2", Text: "second"})
	sc.done()
	s.ends(id, 2)
	if err := s.m.Rewind(ctx, id, "user-c2", ""); err != nil {
		t.Fatal(err)
	}
	if c := s.get(id); len(c.Items) != 2 || c.Total != 2 {
		t.Fatal(c.Items)
	}
	// A sleeping agent is woken for it, without a turn.
	if err := s.m.CloseChat(ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := s.m.Rewind(ctx, id, "user-c1", ""); err != nil {
		t.Fatal(err)
	}
	sc = s.scene()
	if c := s.get(id); len(c.Items) != 0 || c.LastEnd.Outcome != agent.OutcomeCompleted {
		t.Fatal(c.Items)
	}
	s.settled(id)
	s.send(id, "c3", "third")
	s.prompt(sc)
	sc.done()
	s.ends(id, 3)
	if _, err := s.m.Fork(ctx, id); !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}
	if err := s.m.CloseChat(ctx, id); err != nil {
		t.Fatal(err)
	}
	<-sc.shut
	if err := s.m.Remove(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.m.Get(ctx, id); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func TestStopOfTheHostInterruptsTheTurn(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	sc.say("t1", "half", false)
	s.close()
	s.log = newRecord()
	s.open()
	c := s.get(id)
	if c.LastEnd.Outcome != agent.OutcomeInterrupted || c.Items[1].Text != "half" {
		t.Fatal(c.LastEnd, c.Items)
	}
}

func TestBigContentIsShortenedAndFetched(t *testing.T) {
	s := newStage(t)
	id, sc := s.running()
	big := strings.Repeat("0123456789abcde\n", 1<<19) // 8 MiB
	sc.Item(agent.Item{ID: "x1", Type: agent.ItemTool, CallID: "x1", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateCompleted, Output: big})
	sc.say("t1", strings.Repeat("\x01", 60<<10), true)
	sc.done()
	s.ends(id, 1)
	for _, e := range s.log.all() {
		if b, _ := json.Marshal(e.data); len(b) > agent.LimitPayloadBytes {
			t.Fatalf("a %s event has %d bytes", e.typ, len(b))
		}
	}
	c := s.get(id)
	if b, _ := json.Marshal(c); len(b) > agent.LimitPayloadBytes {
		t.Fatalf("the snapshot has %d bytes", len(b))
	}
	if r := c.Items[1]; r.Cut["output"] != int64(len(big)) || r.OutputSize != len(big) {
		t.Fatal(r.Cut, r.OutputSize)
	}
	for _, e := range s.log.all() {
		if r, ok := e.data.(model.Row); ok && r.ID == "x1" && (r.Cut["output"] != int64(len(big)) || r.Output != c.Items[1].Output) {
			t.Fatal("the event and the page differ")
		}
	}
	var got strings.Builder
	for off := int64(0); ; {
		text, next, size, err := s.m.Content(ctx, id, "x1", "output", off)
		if err != nil || size != int64(len(big)) {
			t.Fatal(size, err)
		}
		got.WriteString(text)
		if off = next; next == 0 {
			break
		}
	}
	if got.String() != big {
		t.Fatal("the content is not the whole")
	}
}

// The names and shapes of events are those of the API.
func TestEventsAreThoseOfTheAPI(t *testing.T) {
	for ours, theirs := range map[string]string{
		topicChats: api.TopicChats, topicChat: api.TopicChat, topicApprovals: api.TopicApprovals, eventUpsert: api.EventUpsert,
		eventRemove: api.EventRemove, eventChat: api.EventChat, eventRow: api.EventRow, eventAppend: api.EventAppend,
		eventRemoveRows: api.EventRemoveRows, eventQueue: api.EventQueue, eventApproval: api.EventApproval, eventUsage: api.EventUsage,
		eventCatalog: api.EventCatalog, eventTurn: api.EventTurn, eventPulse: api.EventPulse, eventNotice: api.EventNotice,
	} {
		if ours != theirs {
			t.Errorf("%q is %q in the API", ours, theirs)
		}
	}
	for _, p := range [][2]any{{Appended{}, api.Appended{}}, {Removed{}, api.Removed{}}, {RemovedRows{}, api.RemovedRows{}}, {TurnChanged{}, api.TurnChanged{}}} {
		a, b := reflect.TypeOf(p[0]), reflect.TypeOf(p[1])
		if !a.ConvertibleTo(b) {
			t.Errorf("%s differs from %s", a, b)
		}
	}
	for ours, theirs := range map[Code]string{CodeInvalid: api.CodeInvalid, CodeNotFound: api.CodeNotFound, CodeUnavailable: api.CodeUnavailable,
		CodeNotAllowed: api.CodeNotAllowed, CodeConflict: api.CodeConflict, CodeTrustNeeded: api.CodeTrustNeeded, CodeNotOwner: api.CodeNotOwner,
		CodeBusy: api.CodeBusy, CodeUnsupported: api.CodeUnsupported, CodeStorageFull: api.CodeStorageFull, CodeInternal: api.CodeInternal} {
		if string(ours) != theirs {
			t.Errorf("%q is %q in the API", ours, theirs)
		}
	}
}

func TestAFailedStartNamesTheCommandThatHelps(t *testing.T) {
	s := newStage(t)
	s.agent.away = &agent.Availability{Reason: agent.ReasonNotSignedIn, Detail: "actor login"}
	s.agent.open = func(context.Context, *scene) error { return errors.New("401") }
	id := s.chat()
	s.send(id, "c1", "go")
	end := s.ends(id, 1)
	if end.Reason != "not_signed_in" || end.Fix != "actor login" || !strings.Contains(end.Text, "401") {
		t.Fatalf("%+v", end)
	}
	s.log.until(t, "the state", func() bool { sum, _ := s.m.Summary(id); return sum.State == model.SessionBlocked })
}

// X04: no log line holds what was said, run or asked.
func TestCaseX04_LogsHoldNoConversation(t *testing.T) {
	const canary = "CANARY_7f3a"
	var log bytes.Buffer
	var mu sync.Mutex
	s := newStage(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	id := s.chat()
	s.send(id, "c1", canary)
	sc := s.scene()
	s.prompt(sc)
	sc.Item(agent.Item{ID: strings.Repeat("x", 400), Type: agent.ItemText, Text: canary}) // dropped
	sc.Item(agent.Item{ID: "x1", Type: agent.ItemTool, CallID: "x1", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateCompleted, Output: canary})
	sc.Failure("failed", canary)
	q := runTool("7")
	q.Title = canary
	askFor(sc, ctx, q)
	s.card("7", model.CardOpen, 1)
	sc.Exit(agent.Exit{Code: 1, Stderr: canary})
	s.ends(id, 1)
	if err := s.st.Close(); err != nil { // every further write fails, and is logged
		t.Fatal(err)
	}
	_, _ = s.m.Send(ctx, SendRequest{ChatID: id, ClientID: "c2", Text: canary})
	if err := s.m.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	s.m = nil
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(log.String(), canary) {
		t.Fatal(log.String())
	}
	if log.Len() == 0 {
		t.Fatal("nothing was logged, so nothing was tested")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
