// Package claudecode is the Claude Code harness: its structured mode for chats,
// its live registry for sessions, its transcripts for mirrors. What is known of
// the formats, and how, stands in FORMAT.md.
package claudecode

import (
	_ "embed"
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

const (
	harnessID = "claude-code"
	binary    = "claude"
	// oldest is the first version whose structured mode has the messages that
	// this harness relies on; it was verified with verifiedVersion.
	oldest          = "2.1.0"
	verifiedVersion = "2.1.332"
	verifiedOn      = "2026-11-30"
)

//go:embed manifest.json
var manifestJSON []byte

// New builds the harness. Nothing is started or read before it is used.
func New(h *agentkit.Host) agent.Harness {
	var m agent.Manifest
	if err := json.Unmarshal(manifestJSON, &m); err != nil {
		panic("claudecode: broken manifest: " + err.Error()) // embedded; a test reads it
	}
	p := &provider{host: h}
	return agent.Harness{
		Manifest: m,
		Identity: agent.Identity{Harness: harnessID, DisplayName: "Claude Code", Mark: "CC", Binary: binary},

		ProviderID: m.Contributes.ChatProviders[0].ID,
		SourceID:   m.Contributes.SessionSources[0].ID,
		Provider:   p,
		Source:     &source{host: h},

		Handover:   &handover{host: h},
		Recognizer: recognizer{},
		Traits: agent.Traits{
			Kinds:              []agent.Kind{agent.KindConfined, agent.KindWorkspace},
			HoldsBetweenTurns:  true,
			OwnershipProof:     "its live registry (sessions/<pid>.json) names the session; the process is checked by its start time",
			OnDiskWhileWaiting: "registry: waiting and for what; transcript: a tool call without its result",
			ResumeArgv:         "claude --resume ID",
			IDChangesOnResume:  false,
			LocksSession:       false,
			MirrorGranularity:  "whole messages, as they are complete",
			ConfinedResidue:    confinedResidue,
			VerifiedVersion:    verifiedVersion,
			VerifiedOn:         verifiedOn,
		},
	}
}

// failure is a reason that a person reads; it begins like a sentence.
type failure string

func (f failure) Error() string { return string(f) }
