package agent

import "slices"

// Reason says why a provider cannot run a chat now. Closed set.
type Reason string

const (
	ReasonNotInstalled        Reason = "not_installed"
	ReasonNotSignedIn         Reason = "not_signed_in"
	ReasonUnsupportedPlatform Reason = "unsupported_platform"
	ReasonTooOld              Reason = "too_old"
	ReasonSwitchedOff         Reason = "switched_off" // set by the host only
)

// Availability tells whether a provider could open a chat now. Detail (at most
// LimitDetail UTF-16 units) is the command that fixes the reason; it is shown
// as such and can be copied.
type Availability struct {
	Available     bool   `json:"available"`
	Reason        Reason `json:"reason,omitempty"`
	Detail        string `json:"detail,omitempty"`
	Version       string `json:"version,omitempty"`
	Path          string `json:"path,omitempty"`
	SignedInAs    string `json:"signedInAs,omitempty"`
	NeededVersion string `json:"neededVersion,omitempty"`
	// StoredSessions counts the agent's sessions on disk; absent when unknown.
	StoredSessions *int `json:"storedSessions,omitempty"`
}

// Identity is how a harness is shown: Mark is two monospaced letters, Icon an
// optional one-colour 16 px SVG.
type Identity struct {
	Harness     string `json:"harness"`
	DisplayName string `json:"displayName"`
	Mark        string `json:"mark"`
	Icon        string `json:"icon,omitempty"`
	Binary      string `json:"binary,omitempty"`
	Version     string `json:"version,omitempty"`
	// Demo marks a harness that is a demonstration, not a real agent.
	Demo bool `json:"demo,omitempty"`
}

// Ability shows or hides one named control of a chat. Closed set.
type Ability string

const (
	AbilityImages          Ability = "images"
	AbilityDocuments       Ability = "documents"
	AbilityReasoning       Ability = "reasoning"
	AbilityApprovals       Ability = "approvals"
	AbilitySubagents       Ability = "subagents"
	AbilityInterrupt       Ability = "interrupt"
	AbilityInputDuringTurn Ability = "inputDuringTurn"
	AbilitySteer           Ability = "steer"
	AbilityQueue           Ability = "queue"
	AbilityModels          Ability = "models"
	AbilityModes           Ability = "modes"
	AbilityThinking        Ability = "thinking"
	AbilityFeatures        Ability = "features"
	AbilityUsage           Ability = "usage"
	AbilityRewind          Ability = "rewind"
	AbilityFork            Ability = "fork"
	AbilityCommands        Ability = "commands"
	AbilityTerminal        Ability = "terminal" // can be continued in a terminal
)

// AllAbilities lists the closed set, for validation and documentation.
var AllAbilities = []Ability{
	AbilityImages, AbilityDocuments, AbilityReasoning, AbilityApprovals, AbilitySubagents,
	AbilityInterrupt, AbilityInputDuringTurn, AbilitySteer, AbilityQueue, AbilityModels,
	AbilityModes, AbilityThinking, AbilityFeatures, AbilityUsage, AbilityRewind, AbilityFork,
	AbilityCommands, AbilityTerminal,
}

// Has reports whether a is one of list.
func (a Ability) In(list []Ability) bool { return slices.Contains(list, a) }

// Kind is the kind of chat (PRODUCT.md, "The two kinds of chat").
type Kind string

const (
	KindConfined  Kind = "confined"
	KindWorkspace Kind = "workspace"
)
