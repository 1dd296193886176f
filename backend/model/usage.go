package model

import "github.com/whippletree-app/whippletree/backend/agent"

// TurnUsage is what one turn used: every answer of the model counted once, by
// its message and request id. A cost is always an estimate.
type TurnUsage struct {
	Turn      int64       `json:"turn"`
	StartedAt int64       `json:"startedAt,omitempty"`
	EndedAt   int64       `json:"endedAt,omitempty"`
	Usage     agent.Usage `json:"usage"`
}

// ChatUsage is what a chat used. Total is over all its turns; Turns are the last
// ones, newest first. Windows of the person's plan are those that the agent
// reported last, at At (epoch milliseconds).
type ChatUsage struct {
	Total    agent.Usage        `json:"total"`
	Turns    []TurnUsage        `json:"turns"`
	Count    int                `json:"count"` // turns with a usage
	Context  *agent.ContextUse  `json:"context,omitempty"`
	Windows  []agent.PlanWindow `json:"windows,omitempty"`
	Estimate bool               `json:"estimate,omitempty"` // Total has a cost
}
