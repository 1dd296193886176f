package chats

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

type play struct {
	s      *stage
	id     string
	sent   int
	items  int
	asks   int
	scene  *scene
	all    []*scene
	answer []chan agent.ApprovalAnswer
	// calls counts what was asked of the manager and is not answered yet.
	calls atomic.Int32
}

// call asks the manager beside the play; its answer may wait for the probe.
func (p *play) call(f func()) {
	p.calls.Add(1)
	go func() {
		defer p.calls.Add(-1)
		f()
	}()
}

func (p *play) current() *scene {
	for {
		select {
		case sc := <-p.s.agent.scenes:
			if sc.req.ChatID != p.id {
				continue // a Send of the chat before, late
			}
			p.scene = sc
			p.all = append(p.all, sc)
			continue
		default:
		}
		return p.scene
	}
}

var kinds = []string{"send", "send", "again", "now", "steer", "stop", "item", "item", "append", "tool", "late", "echo", "ask", "answer", "end", "end", "refuse",
	"cancelOK", "cancelErr", "exit", "agentTurn", "agentEnd", "close", "sync", "read", "discard", "set", "rewind", "move", "remove", "asleep"}

// failer is what a play needs of a test.
type failer interface {
	Fatalf(format string, args ...any)
}

func (p *play) step(kind string) {
	sc, m := p.current(), p.s.m
	switch kind {
	case "send", "now", "steer":
		p.sent++
		how := kind
		if how == "send" {
			how = ""
		}
		n := p.sent
		p.call(func() {
			_, _ = m.Send(ctx, SendRequest{ChatID: p.id, ClientID: fmt.Sprintf("c%d", n), Text: "x", How: how})
		})
	case "again": // the same request once more: never a second time to the agent
		n := p.sent
		p.call(func() {
			_, _ = m.Send(ctx, SendRequest{ChatID: p.id, ClientID: fmt.Sprintf("c%d", n), Text: "x"})
		})
	case "set":
		p.call(func() { _, _, _ = m.Set(ctx, person, p.id, "model", raw("m2")) })
	case "rewind":
		n := p.sent
		p.call(func() { _ = m.Rewind(ctx, p.id, fmt.Sprintf("user-c%d", n), "") })
	case "move":
		_, _ = m.EditQueue(ctx, QueueEdit{ChatID: p.id, ClientID: fmt.Sprintf("c%d", p.sent), Move: true})
	case "remove":
		_, _ = m.EditQueue(ctx, QueueEdit{ChatID: p.id, ClientID: fmt.Sprintf("c%d", p.sent), Remove: true})
	case "asleep":
		p.s.slept.Add(int64(time.Minute))
	case "stop":
		_, _ = p.s.m.StopTurn(ctx, p.id)
	case "close":
		p.call(func() { _ = m.CloseChat(ctx, p.id) })
	case "answer":
		for _, c := range p.s.m.Approvals() {
			if c.ChatID == p.id {
				_, _, _ = p.s.m.Answer(ctx, person, Answer{ChatID: p.id, ApprovalID: c.ID, Answer: agent.ApprovalAnswer{OptionID: "a"}})
				break
			}
		}
	case "sync":
		_, _ = p.s.m.Get(ctx, p.id)
	}
	if sc == nil {
		return
	}
	p.items++
	switch kind {
	case "item":
		sc.say(fmt.Sprintf("t%d", p.items), "text", p.items%2 == 0)
	case "append":
		sc.Append(fmt.Sprintf("t%d", p.items-1), "more")
	case "late": // of a row that its turn's end may have closed
		sc.say(fmt.Sprintf("t%d", max(1, p.items-3)), "late", true)
	case "echo": // perhaps before the agent showed that it has the prompt, perhaps of an old one
		sc.Item(agent.Item{ID: fmt.Sprintf("n%d", p.sent), Type: agent.ItemUser, ClientID: fmt.Sprintf("c%d", p.sent), NativeID: fmt.Sprintf("n%d", p.sent), Text: "x"})
	case "read":
		sc.Delivery(fmt.Sprintf("c%d", p.sent), agent.DeliveryStarted)
	case "discard":
		sc.Delivery(fmt.Sprintf("c%d", p.sent), agent.DeliveryDiscarded)
	case "tool":
		sc.Item(agent.Item{ID: fmt.Sprintf("x%d", p.items), Type: agent.ItemTool, CallID: "x", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateRunning})
	case "ask":
		p.asks++
		p.answer = append(p.answer, askFor(sc, ctx, runTool(fmt.Sprintf("q%d", p.asks))))
	case "end":
		p.end(sc, turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCompleted}})
	case "refuse":
		p.end(sc, turnReturn{err: errors.New("no")})
	case "cancelOK":
		p.cancel(sc, nil)
	case "cancelErr":
		p.cancel(sc, errors.New("no"))
	case "exit":
		sc.Exit(agent.Exit{Code: 1})
	case "agentTurn":
		sc.Turn(agent.TurnEvent{Origin: agent.OriginAgent})
	case "agentEnd":
		sc.Turn(agent.TurnEvent{Origin: agent.OriginAgent, End: &agent.TurnEnd{Outcome: agent.OutcomeCompleted}})
	}
}

func (p *play) end(sc *scene, r turnReturn) {
	select {
	case sc.ends <- r:
	default: // no prompt waits
	}
}

func (p *play) cancel(sc *scene, err error) {
	select {
	case ch := <-sc.cancels:
		ch <- err
	default:
	}
}

// finish plays an obedient agent until nothing is left to do.
func (p *play) finish(rt failer) {
	deadline := time.Now().Add(15 * time.Second)
	for {
		sc := p.current()
		for _, x := range p.all {
			p.cancel(x, nil)
		}
		if sc != nil {
			p.end(sc, turnReturn{end: agent.TurnEnd{Outcome: agent.OutcomeCompleted}})
			sc.Turn(agent.TurnEvent{Origin: agent.OriginAgent, End: &agent.TurnEnd{Outcome: agent.OutcomeCompleted}})
		}
		asking := p.calls.Load() > 0 // before the look: what it asks now, the look sees
		c, err := p.s.m.Get(ctx, p.id)
		if err != nil {
			rt.Fatalf("%v", err)
		}
		waits := 0
		for _, e := range c.Queue {
			if e.State == model.QueueSending {
				waits++
			}
			if e.State == model.QueueQueued { // what failed meanwhile is not sent again
				waits++
				_, _ = p.s.m.EditQueue(ctx, QueueEdit{ChatID: p.id, ClientID: e.ClientID, Retry: true})
			}
		}
		var open bool
		_ = p.s.m.with(ctx, p.id, func(c *chat) error { open = c.busy(); return nil })
		if !asking && !open && waits == 0 && c.Turn == model.TurnIdle {
			return
		}
		if time.Now().After(deadline) {
			rt.Fatalf("stuck: turn %s, open %v, queue %+v", c.Turn, open, c.Queue)
		}
		time.Sleep(time.Millisecond) // lets the agent's side run; nothing is asserted about it
	}
}

func (p *play) check(rt failer) {
	begun, ended := map[int64]int{}, map[int64]int{}
	rows, running := map[string]model.Row{}, int64(0)
	for _, e := range p.s.log.all() {
		if e.topic != topicChat+p.id {
			continue
		}
		switch d := e.data.(type) {
		case TurnChanged:
			if d.End == nil {
				begun[d.Turn]++
				running = d.Turn
				if d.Turn > 1 && ended[d.Turn-1] != 1 {
					rt.Fatalf("turn %d began before the end of the one before", d.Turn)
				}
			} else {
				ended[d.Turn]++
				running = 0
				for _, r := range rows {
					if r.Turn == d.Turn && (r.Open() || r.Provisional) {
						rt.Fatalf("row %s was open at the end of turn %d", r.ID, d.Turn)
					}
				}
			}
		case RemovedRows:
			for id, r := range rows {
				if r.Seq >= d.From {
					delete(rows, id)
				}
			}
		case model.Row:
			// A later turn may bring the true end of what the host closed.
			if ended[d.Turn] > 0 && begun[d.Turn] > 0 && running <= d.Turn && d.Type != agent.ItemUser && d.Type != agent.ItemNotice {
				rt.Fatalf("row %s of turn %d after its end", d.ID, d.Turn)
			}
			rows[d.ID] = d
		}
	}
	for n, b := range begun {
		if b != 1 || ended[n] != 1 {
			rt.Fatalf("turn %d began %d times and ended %d times", n, b, ended[n])
		}
	}
	seen := map[string]bool{}
	for _, sc := range p.all {
		for len(sc.prompts) > 0 {
			pr := <-sc.prompts
			if seen[pr.ClientID] {
				rt.Fatalf("prompt %s was sent twice", pr.ClientID)
			}
			seen[pr.ClientID] = true
		}
		sc.mu.Lock()
		for _, client := range sc.steered {
			if seen[client] {
				rt.Fatalf("prompt %s was given twice", client)
			}
			seen[client] = true
		}
		sc.mu.Unlock()
	}
	c, err := p.s.m.Get(ctx, p.id)
	if err != nil {
		rt.Fatalf("%v", err)
	}
	for _, r := range c.Items {
		if r.Provisional || r.Open() {
			rt.Fatalf("row %s is still open", r.ID)
		}
	}
	if len(c.Approvals) != 0 {
		rt.Fatalf("cards outlive their turns: %+v", c.Approvals)
	}
	_ = p.s.m.CloseChat(ctx, p.id) // an ask that comes only now wakes a turn of the agent's own
	for _, ch := range p.answer {
		select {
		case <-ch:
		case <-time.After(10 * time.Second):
			rt.Fatalf("an asker was never answered")
		}
	}
	p.s.agent.mu.Lock()
	defer p.s.agent.mu.Unlock()
	if p.s.agent.most > 1 {
		rt.Fatalf("two processes of one chat lived at once")
	}
}

// works holds a chat to its last promise: whatever was played, the next prompt
// reaches the agent and its turn ends.
func (p *play) works(rt failer) {
	p.step("send")
	p.finish(rt)
	c, err := p.s.m.Get(ctx, p.id)
	if err != nil {
		rt.Fatalf("%v", err)
	}
	want := fmt.Sprintf("c%d", p.sent)
	for _, r := range c.Items {
		if r.ClientID == want && c.LastEnd.Outcome == agent.OutcomeCompleted {
			return
		}
	}
	rt.Fatalf("a prompt does not work any more: %s in %+v, last end %+v, queue %+v", want, c.Items, c.LastEnd, c.Queue)
}
