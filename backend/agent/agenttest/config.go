package agenttest

import (
	"context"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// ProviderConfig says how to run the provider suite. Prompts, faults and
// optional parts that are empty are not run.
type ProviderConfig struct {
	// New makes the provider; it is called once per rule.
	New func(t *testing.T) agent.ChatProvider
	// Open makes a request for a new workspace chat in a folder of its own.
	Open func(t *testing.T) agent.OpenRequest
	// Confined makes a request for a confined chat; nil: not offered.
	Confined func(t *testing.T) agent.OpenRequest
	// Handover of the same harness; with it live rows are compared with the
	// mirror and with what the list of stored sessions leads to.
	Handover func(t *testing.T) agent.Handover
	// Binary is the agent's program. With it the wire is disturbed by a program
	// that stands between the provider and the agent.
	Binary string
	// Shim is that program, built before; "" means that the run builds it.
	Shim    string
	Prompts Prompts
	// Points are where the agent is stopped, killed and closed. Every place of
	// [AllPlaces] is there, or has a reason in Unreachable.
	Points      []Point
	Unreachable map[Place]string
	Faults      []Fault
	// Disorder are lines of the wire that come early, late, twice or unasked.
	Disorder []Disorder
	// Marked are the abilities that the reference marks as seen on the real
	// agent. Absent says of every ability that is not declared why: one that is
	// marked needs the name of a capture, a file relative to the test's folder.
	Marked []agent.Ability
	Absent map[agent.Ability]Absence
	// Unstored removes what is stored of a session; nil: it cannot be.
	Unstored func(t *testing.T, h agent.Handle)
	// Deadline bounds each wait; the default is 30 s.
	Deadline time.Duration
	// Races is how often Cancel is raced against the end of a turn (default 8).
	Races int
	// Splits is in how many ways the wire is cut (default 5).
	Splits int
	// Flood is how many bytes of error output come before each answer (default
	// 2 MB).
	Flood int
	// Rules limits the run to these, by name; empty means all.
	Rules []string
	// Without leaves rules out, by name: for the tests of the suite itself.
	Without []string
}

// Prompts make the agent do what a rule looks at.
type Prompts struct {
	Text      string // answers with text and completes
	Reasoning string // shows reasoning; default Text
	Approval  string // asks one approval of kind tool, then acts
	Question  string // asks questions
	Running   string // streams text until it is stopped, or for long
	Steered   string // like Running, and takes a steer; default Running
	Plan      string // shows a plan
	Subagents string // starts sub-agents with rows of their own
	AgentTurn string // a turn of the agent's own follows
	Fail      string // the turn fails
	Command   string // begins with a slash; runs a command of the agent
	// Characters makes the answer hold exactly the text [Characters].
	Characters string
}

// Characters are letters, joined emoji and lines that careless readers cut
// (case S01).
const Characters = "привет 👩‍👩‍👧 ─│"

// Place names where in a conversation something happens.
type Place string

// Places at which an agent is stopped, killed and closed.
const (
	BeforeFirstEvent Place = "BeforeFirstEvent" // the prompt is sent, no answer has begun
	MidText          Place = "MidText"
	MidReasoning     Place = "MidReasoning"
	ToolOpen         Place = "ToolOpen" // a tool runs, nobody is asked
	PermissionOpen   Place = "PermissionOpen"
	QuestionOpen     Place = "QuestionOpen"
	PlanOpen         Place = "PlanOpen" // a plan waits for its approval
	SubagentOpen     Place = "SubagentOpen"
	BackgroundOpen   Place = "BackgroundOpen" // a sub-agent goes on after the turn
	BetweenTurns     Place = "BetweenTurns"
)

// AllPlaces lists them.
var AllPlaces = []Place{
	BeforeFirstEvent, MidText, MidReasoning, ToolOpen, PermissionOpen, QuestionOpen, PlanOpen, SubagentOpen,
	BackgroundOpen, BetweenTurns,
}

// Point says how to bring the agent to a place and keep it there.
type Point struct {
	At     Place
	Prompt string
	// Apply changes the request before it is opened.
	Apply func(*agent.OpenRequest)
	// Decide answers approvals on the way; nil leaves them open.
	Decide func(ctx context.Context, a agent.Approval) agent.ApprovalAnswer
	// Reached waits for what the rows do not tell; it may be nil.
	Reached func(ctx context.Context) error
}

// Fault is one way in which the agent dies or misbehaves.
type Fault struct {
	Name   string
	Apply  func(*agent.OpenRequest)
	Prompt string
	// Ends is the outcome that the turn must have; OpenFails says that Open
	// must fail instead, Withdraws that the approval is taken back.
	Ends      agent.Outcome
	OpenFails bool
	Withdraws bool
	// Dies says that the process is gone afterwards.
	Dies bool
}

// Disorder changes the lines that the agent writes, once each: regular
// expressions say which. The turn must end as it would, with the same rows and
// requests.
type Disorder struct {
	Name   string
	Prompt string
	Apply  func(*agent.OpenRequest)
	// Moves keep a line back until another came, Repeats say a line again after
	// another, Inserts add a line after another.
	Moves, Repeats []LineMove
	Inserts        []LineInsert
	// Withdraws says that the request must be taken back; the turn is then
	// stopped.
	Withdraws bool
}

// LineMove is about the first line that matches Line: it comes (again) after the
// next line that matches After.
type LineMove struct {
	Line  string `json:"line"`
	After string `json:"after"`
}

// LineInsert adds Text after the first line that matches After, DelayMs
// milliseconds later; $1 and so on stand for what was matched.
type LineInsert struct {
	After   string `json:"after"`
	Text    string `json:"text"`
	DelayMs int    `json:"delayMs,omitempty"`
}

// Absence says why an ability is not declared.
type Absence struct {
	Why     string
	Capture string // a file relative to the test's folder that shows it
}

func (c *ProviderConfig) deadline() time.Duration {
	if c.Deadline > 0 {
		return c.Deadline
	}
	return 30 * time.Second
}

func (c *ProviderConfig) point(at Place) *Point {
	for i := range c.Points {
		if c.Points[i].At == at {
			return &c.Points[i]
		}
	}
	return nil
}
