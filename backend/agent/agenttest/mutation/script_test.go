package mutation

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

var ids atomic.Int64

func newID() string { return fmt.Sprint("row-", ids.Add(1)) }

func text(id, s string, ended int64) agent.Item {
	return agent.Item{ID: id, Type: agent.ItemText, Text: s, EndedAt: ended}
}

func tool(id string, state agent.ItemState) agent.Item {
	return agent.Item{ID: id, Type: agent.ItemTool, CallID: id, Name: "run", Tool: agent.ToolExecute, State: state}
}

var (
	completed = agent.TurnEnd{Outcome: agent.OutcomeCompleted}
	canceled  = agent.TurnEnd{Outcome: agent.OutcomeCanceled}
)

// stage plays one turn: it says what the agent would.
type stage struct {
	*session
	t *turn
}

func (g *stage) send(m message)      { _ = g.proc.Send(context.Background(), m) } // a dead one hears nothing
func (g *stage) row(it agent.Item)   { g.send(message{Kind: "item", Item: &it}) }
func (g *stage) add(id, more string) { g.send(message{Kind: "append", ID: id, Text: more}) }
func (g *stage) end(e agent.TurnEnd) { g.send(message{Kind: "end", End: &e}) }

// say is a whole text in two pieces.
func (g *stage) say(whole string) {
	id := newID()
	cut := len(whole) / 2
	for !utf8.RuneStart(whole[cut]) {
		cut++
	}
	g.row(text(id, "", 0))
	g.add(id, whole[:cut])
	g.add(id, whole[cut:])
	g.row(text(id, whole, 1))
}

// stand waits for a stop and says how the turn ends then.
func (g *stage) stand() {
	<-g.t.ctx.Done()
	if g.p.is("completes what was stopped at " + g.t.prompt) {
		g.end(completed)
		return
	}
	g.end(canceled)
}

// ask puts a request and waits; ok is false when the turn is stopped.
func (g *stage) request(a agent.Approval) (ans agent.ApprovalAnswer, ok bool) {
	a.ID = newID()
	ch := make(chan agent.ApprovalAnswer, 1)
	g.mu.Lock()
	g.script[a.ID] = ch
	g.mu.Unlock()
	g.send(message{Kind: "ask", ID: a.ID, Ask: &a})
	select {
	case ans = <-ch:
		return ans, true
	case <-g.t.ctx.Done():
		return ans, false
	}
}

var yesOrNo = []agent.Option{
	{ID: "y", Label: "Yes", Kind: agent.OptionAllowOnce, Reach: "once"},
	{ID: "ys", Label: "Yes, always", Kind: agent.OptionAllowAlways, Reach: "session"},
	{ID: "n", Label: "No", Kind: agent.OptionRejectOnce, Reach: "once"},
}

func (s *session) perform(t *turn) {
	g := &stage{s, t}
	switch t.prompt {
	case "hello":
		g.hello()
	case "think":
		id := newID()
		g.row(agent.Item{ID: id, Type: agent.ItemReasoning})
		g.add(id, "Hm.")
		g.row(agent.Item{ID: id, Type: agent.ItemReasoning, Text: "Hm.", EndedAt: 1})
		g.say("I have thought.")
	case "say":
		g.say("You said " + agenttest.Characters)
	case "ask":
		if !g.askTool() {
			return
		}
	case "question":
		if !g.askQuestion(agent.ApprovalQuestion) {
			return
		}
	case "plan":
		if !s.p.is("shows no plan") {
			id := newID()
			g.row(agent.Item{ID: id, Type: agent.ItemPlan, Entries: []agent.PlanEntry{{Text: "one", Status: "active"}}})
			g.row(agent.Item{ID: id, Type: agent.ItemPlan, Entries: []agent.PlanEntry{{Text: "one", Status: "done"}}})
		}
		g.say("Planned.")
	case "agents":
		g.agents()
	case "later":
		g.say("Until later.")
		if s.p.is("does not come back") && len(s.prompts) == 1 {
			break
		}
		g.end(completed)
		<-t.done
		time.Sleep(20 * time.Millisecond) // an agent does not come back at once
		g.send(message{Kind: "own"})
		g.say("Here I am again.")
	case "fail":
		g.fail()
		return
	case "/sing":
		g.sing()
	case "run on", "mid text":
		id := newID()
		g.row(text(id, "", 0))
		g.add(id, "Tick")
		g.send(message{Kind: "note", Text: t.prompt})
		g.stand()
		return
	case "silent":
		g.stand()
		return
	case "mid thought":
		id := newID()
		g.row(agent.Item{ID: id, Type: agent.ItemReasoning})
		g.add(id, "Hm")
		g.stand()
		return
	case "tool":
		g.row(tool(newID(), agent.StateRunning))
		g.stand()
		return
	case "permission", "questions", "approve plan":
		kind := map[string]agent.ApprovalKind{"permission": agent.ApprovalTool, "questions": agent.ApprovalQuestion, "approve plan": agent.ApprovalPlan}[t.prompt]
		a := agent.Approval{Kind: kind, Title: "May I?", Options: yesOrNo}
		if kind == agent.ApprovalQuestion {
			a.Questions = cards
		}
		g.request(a)
		g.stand()
		return
	case "errand":
		g.row(agent.Item{ID: newID(), Type: agent.ItemSubagent, AgentType: "scout", Title: "Away", State: agent.StateRunning})
		g.stand()
		return
	case "between":
		g.say("Between.")
	}
	g.end(completed)
}

func (g *stage) hello() {
	if g.p.is("says nothing twice") && strings.Contains(strings.Join(g.prompts, ","), "hello,hello") {
		return
	}
	g.say("Hello, and welcome.")
	if g.p.is("fails when it is stopped at its end") {
		select {
		case <-g.t.ctx.Done():
			g.end(agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: "stopped at the end"})
		case <-time.After(100 * time.Millisecond):
		}
	}
}

var cards = []agent.Question{{ID: "q", Text: "Which?", Options: []agent.QuestionOption{{ID: "a", Label: "A"}}}}

func (g *stage) askTool() (goOn bool) {
	id := newID()
	g.row(tool(id, agent.StateRunning))
	a := agent.Approval{ItemID: id, Kind: agent.ApprovalTool, Title: "Run?", Options: yesOrNo}
	if g.p.is("asks for no row") {
		a.ItemID = ""
	}
	ans, ok := g.request(a)
	switch {
	case !ok:
		g.end(canceled)
		return false
	case ans.OptionID == "y", ans.OptionID == "ys", ans.OptionID == "n" && g.p.is("acts on a no"):
		g.row(tool(id, agent.StateCompleted))
	case ans.OptionID == "n", ans.Canceled && g.p.is("takes silence for a no"):
		g.row(tool(id, agent.StateDeclined))
	default:
		g.row(tool(id, agent.StateCanceled))
		g.end(canceled)
		return false
	}
	g.say("Done.")
	return true
}

func (g *stage) askQuestion(kind agent.ApprovalKind) bool {
	a := agent.Approval{Kind: kind, Title: "A question", Questions: cards, Options: yesOrNo}
	if g.p.is("asks questions as permissions") {
		a.Kind = agent.ApprovalTool
	}
	if _, ok := g.request(a); !ok {
		g.end(canceled)
		return false
	}
	g.say("Thanks.")
	return true
}

func (g *stage) agents() {
	id := newID()
	sub := agent.Item{ID: id, Type: agent.ItemSubagent, AgentType: "scout", Title: "Look", State: agent.StateRunning}
	g.row(sub)
	child := text(newID(), "Found.", 1)
	if !g.p.is("forgets whose rows they are") {
		child.ParentID = id
	}
	g.row(child)
	sub.State = agent.StateCompleted
	g.row(sub)
	g.say("They are back.")
}

func (g *stage) fail() {
	g.say("This fails.")
	switch {
	case g.p.is("completes a failure"):
		g.end(completed)
	case g.p.is("fails without a reason"):
		g.end(agent.TurnEnd{Outcome: agent.OutcomeFailed})
	default:
		g.end(agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "failed", Text: "on purpose"})
	}
}

// sing is a command of the agent's own, and where most standing rules are
// broken.
func (g *stage) sing() {
	id := newID()
	g.row(text(id, "", 0))
	g.add(id, "La")
	whole := "La la"
	switch {
	case g.p.is("calls from two sides"):
		var both sync.WaitGroup
		for range 8 {
			both.Go(func() {
				for over := time.Now().Add(300 * time.Millisecond); time.Now().Before(over); {
					g.ev.Usage(agent.Usage{Input: 1})
				}
			})
		}
		both.Wait()
	case g.p.is("is ready twice"):
		g.tell(func() { g.ev.Ready(agent.Ready{}) })
	case g.p.is("publishes what is invalid"):
		g.row(agent.Item{ID: newID(), Type: agent.ItemNotice, Level: "loud", Text: "!"})
	case g.p.is("leaves a row open"):
		g.row(tool(newID(), agent.StateRunning))
	case g.p.is("touches what has ended"):
		g.mu.Lock()
		g.onClose = func() { g.tell(func() { g.ev.Item(text(id, "La la la", 1)) }) }
		g.mu.Unlock()
	case g.p.is("changes the type of a row"):
		g.row(agent.Item{ID: id, Type: agent.ItemReasoning, Text: "La", EndedAt: 1})
		return
	case g.p.is("takes back what it said"):
		whole = "Lo lo"
	case g.p.is("asks without options"):
		a := agent.Approval{ID: newID(), Kind: agent.ApprovalPlan, Title: "Well?", Options: []agent.Option{}}
		g.send(message{Kind: "ask", ID: a.ID, Ask: &a})
		g.send(message{Kind: "withdraw", ID: a.ID})
	case g.p.is("acknowledges what nobody asked"):
		g.tell(func() { g.ev.ApprovalAcked("zz") })
	case g.p.is("has an empty title"):
		g.tell(func() { g.ev.Title("") })
	case g.p.is("leaves a goroutine"):
		go func() { <-leaving }()
	case g.p.is("leaves a descriptor"):
		if f, err := os.Open(os.DevNull); err == nil {
			left = append(left, f)
		}
	case g.p.is("leaves a child"):
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if cmd.Start() == nil {
			children = append(children, cmd)
		}
	}
	g.row(text(id, whole, 1))
}

// What mutants leave behind, until their test has looked.
var (
	leaving  = make(chan struct{})
	left     []*os.File
	children []*exec.Cmd
)

func sweep() {
	close(leaving)
	leaving = make(chan struct{})
	for _, f := range left {
		f.Close()
	}
	for _, c := range children {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	left, children = nil, nil
}

// carelessReader reads the wire with one fault; nil is the careful way.
func (s *session) carelessReader() func() (agentkit.Line, error) {
	buf := make([]byte, 1<<16)
	switch {
	case s.p.is("takes a read for a line"):
		var lines []string
		return func() (l agentkit.Line, err error) {
			for len(lines) == 0 && err == nil {
				var n int
				n, err = s.proc.Stdout.Read(buf)
				lines = slices.Collect(strings.Lines(string(buf[:n])))
			}
			if len(lines) > 0 {
				l.Data, lines = []byte(lines[0]), lines[1:]
				return l, nil
			}
			return l, err
		}
	case s.p.is("mends each read by itself"):
		var held []byte
		return func() (agentkit.Line, error) {
			for {
				if i := strings.IndexByte(string(held), '\n'); i >= 0 {
					l := agentkit.Line{Data: held[:i]}
					held = held[i+1:]
					return l, nil
				}
				n, err := s.proc.Stdout.Read(buf)
				if err != nil {
					return agentkit.Line{}, err
				}
				held = append(held, strings.ToValidUTF8(string(buf[:n]), "\ufffd")...)
			}
		}
	case s.p.is("reads line by line only"):
		lines := agentkit.NewLines(s.proc.Stdout, agentkit.LinesOptions{})
		return lines.Next
	case s.p.is("has a limit for a line"):
		lines := bufio.NewScanner(s.proc.Stdout)
		lines.Buffer(buf, 1<<20)
		return func() (agentkit.Line, error) {
			if !lines.Scan() {
				return agentkit.Line{}, fmt.Errorf("the wire ends: %v", lines.Err())
			}
			return agentkit.Line{Data: lines.Bytes()}, nil
		}
	}
	return nil
}

// startles reports whether a line makes this puppet give up.
func (s *session) startles(line []byte) bool {
	switch {
	case s.p.is("gives up at a log"):
		var log struct{ Level string }
		return json.Unmarshal(line, &log) == nil && log.Level != ""
	case s.p.is("gives up at error output"):
		for over := time.Now().Add(50 * time.Millisecond); time.Now().Before(over) && strings.Contains(s.req.Env["AGENTTEST_SHIM"], "flood"); {
			if strings.Contains(s.proc.Stderr(), "flood") {
				return true
			}
			time.Sleep(time.Millisecond)
		}
	}
	return false
}
