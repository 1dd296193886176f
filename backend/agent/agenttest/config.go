package agenttest

import (
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// ProviderConfig says how to run the provider suite. Prompts, faults and
// optional parts that are empty are not run.
type ProviderConfig struct {
	// New makes the provider; it is called once per part of the suite.
	New func(t *testing.T) agent.ChatProvider
	// Open makes a request for a new workspace chat in a folder of its own.
	Open func(t *testing.T) agent.OpenRequest
	// Confined makes a request for a confined chat; nil: not offered.
	Confined func(t *testing.T) agent.OpenRequest
	// Handover of the same harness; with it live rows are compared with the
	// mirror, also after a resume.
	Handover func(t *testing.T) agent.Handover
	Prompts  Prompts
	Faults   []Fault
	// Deadline bounds each wait; the default is 30 s.
	Deadline time.Duration
	// Races is how often Cancel is raced against the end of a turn (default 8).
	Races int
	// without leaves parts out, for the tests of the suite itself.
	without []string
}

// Prompts make the agent do what a part of the suite looks at.
type Prompts struct {
	Text      string // answers with text and completes
	Approval  string // asks one approval of kind tool, then acts
	Question  string // asks questions
	Running   string // streams text until it is stopped, or for long
	Steered   string // like Running, and takes a steer; default Running
	Plan      string // shows a plan
	Subagents string // starts sub-agents with rows of their own
	AgentTurn string // a turn of the agent's own follows
	Fail      string // the turn fails
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

func (c *ProviderConfig) deadline() time.Duration {
	if c.Deadline > 0 {
		return c.Deadline
	}
	return 30 * time.Second
}
