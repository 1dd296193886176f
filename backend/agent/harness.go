package agent

// Harness is everything one built-in extension contributes, as values. A nil
// member means that the harness does not have it.
type Harness struct {
	Manifest Manifest
	Identity Identity
	// Extends is set for one that a person's settings made of a built-in harness:
	// the id of that one, whose sessions it writes.
	Extends string
	// ProviderID and SourceID are the declared contribution ids.
	ProviderID string
	SourceID   string
	Provider   ChatProvider
	Source     SessionSource
	Handover   Handover
	Recognizer Recognizer
	Traits     Traits
}

// Traits are the declared facts of a harness (HANDOFF.md, last section), each
// proved by a test in its folder; docs/agents.md is generated from them.
type Traits struct {
	Kinds              []Kind `json:"kinds"`
	HoldsBetweenTurns  bool   `json:"holdsBetweenTurns"`  // the process lives between turns
	OwnershipProof     string `json:"ownershipProof"`     // in words
	OnDiskWhileWaiting string `json:"onDiskWhileWaiting"` // in words
	ResumeArgv         string `json:"resumeArgv"`
	IDChangesOnResume  bool   `json:"idChangesOnResume"`
	LocksSession       bool   `json:"locksSession"`
	MirrorGranularity  string `json:"mirrorGranularity"`
	// ConfinedResidue lists what a confined chat leaves behind in the agent's own
	// files: patterns relative to the home folder, each proved by a test.
	ConfinedResidue []string `json:"confinedResidue,omitempty"`
	VerifiedVersion string   `json:"verifiedVersion"`
	VerifiedOn      string   `json:"verifiedOn"` // YYYY-MM-DD
}

// Manifest is the part of an extension's manifest (EXTENSION-API.md section 2)
// that the host uses of a built-in one; it is read from manifest.json.
type Manifest struct {
	ManifestVersion int           `json:"manifestVersion"`
	ID              string        `json:"id"`
	DisplayName     string        `json:"displayName"`
	Description     string        `json:"description,omitempty"`
	API             string        `json:"api"`
	Permissions     []string      `json:"permissions"`
	Platforms       []string      `json:"platforms,omitempty"`
	Contributes     Contributions `json:"contributes"`
}

type Contributions struct {
	ChatProviders  []ChatContribution   `json:"agentChatProviders,omitempty"`
	SessionSources []SourceContribution `json:"agentSessionSources,omitempty"`
}

type ChatContribution struct {
	ID          string   `json:"id"`
	DisplayName string   `json:"displayName"`
	Description string   `json:"description,omitempty"`
	Platforms   []string `json:"platforms,omitempty"`
	Kinds       []Kind   `json:"kinds,omitempty"`
	Harness     string   `json:"harness,omitempty"`
}

type SourceContribution struct {
	ID                   string       `json:"id"`
	DisplayName          string       `json:"displayName"`
	Description          string       `json:"description,omitempty"`
	Platforms            []string     `json:"platforms,omitempty"`
	Harnesses            []HarnessRef `json:"harnesses"`
	EnvironmentVariables []string     `json:"environmentVariables,omitempty"`
}

type HarnessRef struct {
	ID          string `json:"id"`
	DisplayName string `json:"displayName"`
}
