package agent

import "encoding/json"

// Tier is how far a mode lets the agent act without asking.
type Tier string

const (
	TierSafe      Tier = "safe"
	TierModerate  Tier = "moderate"
	TierDangerous Tier = "dangerous"
	TierPlanning  Tier = "planning"
)

// Catalog is what an agent offers. Ids are opaque (some are URLs). Hash covers
// the content without FetchedAt; FetchedAt is epoch milliseconds.
type Catalog struct {
	Models    []Model       `json:"models"`
	Modes     []Mode        `json:"modes"`
	Features  []Feature     `json:"features"`
	Commands  []CommandInfo `json:"commands"`
	Hash      string        `json:"hash,omitempty"`
	FetchedAt int64         `json:"fetchedAt,omitempty"`
	Errors    []string      `json:"errors,omitempty"`
}

type Model struct {
	ID          string     `json:"id"`
	Label       string     `json:"label"`
	Description string     `json:"description,omitempty"`
	Default     bool       `json:"default,omitempty"`
	Input       []string   `json:"input,omitempty"` // text, image, file
	Context     int        `json:"context,omitempty"`
	Thinking    []Thinking `json:"thinking,omitempty"`
}

type Thinking struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	Default bool   `json:"default,omitempty"`
}

type Mode struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Tier        Tier   `json:"tier"`
	Default     bool   `json:"default,omitempty"`
}

// Feature is a toggle (Choices empty) or a select.
type Feature struct {
	ID          string           `json:"id"`
	Label       string           `json:"label"`
	Description string           `json:"description,omitempty"`
	Kind        string           `json:"kind"` // toggle, select
	Choices     []QuestionOption `json:"choices,omitempty"`
	Value       json.RawMessage  `json:"value,omitempty"`
}

// CommandInfo is a slash command or a skill.
type CommandInfo struct {
	Name         string `json:"name"`
	Description  string `json:"description,omitempty"`
	ArgumentHint string `json:"argumentHint,omitempty"`
	Kind         string `json:"kind"` // command, skill
}

// Usage counts tokens; CostUSD is always an estimate. With a message or request id
// it is that answer of the model, and the same ids again replace it; without one it
// is all that the running (or last) turn used so far.
type Usage struct {
	Input      int          `json:"input"`
	Output     int          `json:"output"`
	CacheRead  int          `json:"cacheRead"`
	CacheWrite int          `json:"cacheWrite"`
	Reasoning  int          `json:"reasoning,omitempty"`
	CostUSD    float64      `json:"costUsd,omitempty"`
	Context    *ContextUse  `json:"context,omitempty"`
	RequestID  string       `json:"requestId,omitempty"`
	MessageID  string       `json:"messageId,omitempty"`
	Windows    []PlanWindow `json:"windows,omitempty"`
}

// ContextUse is in tokens.
type ContextUse struct {
	Used int `json:"used"`
	Max  int `json:"max"`
}

// PlanWindow is one limit of the person's plan; ResetsAt epoch milliseconds.
type PlanWindow struct {
	Label       string  `json:"label"`
	UsedPercent float64 `json:"usedPercent"`
	ResetsAt    int64   `json:"resetsAt,omitempty"`
}
