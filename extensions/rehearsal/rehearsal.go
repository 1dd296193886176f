// Package rehearsal is the harness of the demonstration agent that ships with
// Whippletree (its program is in the folder program, FORMAT.md describes what
// it speaks and stores). It talks to it as to any other agent: a process, a
// protocol, files.
package rehearsal

import (
	_ "embed"
	"encoding/json"
	"path/filepath"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// ID of the harness.
const ID = "rehearsal"

//go:embed manifest.json
var manifest []byte

// New makes the harness. The agent is the host's own executable.
func New(h *agentkit.Host) agent.Harness {
	var m agent.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		panic("rehearsal: its embedded manifest is broken: " + err.Error())
	}
	k := &kit{h}
	return agent.Harness{
		Manifest: m,
		Identity: agent.Identity{
			Harness: ID, DisplayName: "Rehearsal", Mark: "RH", Icon: icon,
			Binary: h.Executable, Version: wire.Release, Demo: true,
		},
		ProviderID: m.Contributes.ChatProviders[0].ID,
		SourceID:   m.Contributes.SessionSources[0].ID,
		Provider:   &provider{k},
		Source:     &source{k},
		Handover:   &handover{k},
		Recognizer: recognizer{filepath.Base(h.Executable)},
		Traits: agent.Traits{
			Kinds:              []agent.Kind{agent.KindConfined, agent.KindWorkspace},
			HoldsBetweenTurns:  true,
			OwnershipProof:     "sessions/<pid>.json names the session; pid and start time are checked against the process",
			OnDiskWhileWaiting: "the running tool block in the session file; status, title and kind of the request in sessions/<pid>.json",
			ResumeArgv:         "whippletree rehearsal --resume ID",
			IDChangesOnResume:  false,
			LocksSession:       false,
			MirrorGranularity:  "a block when it begins and when it ends; text appears when its block ends",
			VerifiedVersion:    wire.Release,
			VerifiedOn:         "2026-11-30",
		},
	}
}

// A stage: a curtain, drawn to both sides.
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"><path d="M2 2.5h12M3 2.5c0 5 2.5 7 2.5 7S4.5 12 3 13.5M13 2.5c0 5-2.5 7-2.5 7s1 2.500 2.5 4"/></svg>`

// kit is the host with the few look-ups that all parts of the harness share.
type kit struct{ *agentkit.Host }

// home is where the agent's data is, given the variables that a chat or a
// handle sets on top of the imported environment.
func (k *kit) home(env map[string]string) wire.Home {
	if h := env[wire.HomeVariable]; filepath.IsAbs(h) {
		return wire.Home(h)
	}
	if h := k.Getenv(wire.HomeVariable); filepath.IsAbs(h) {
		return wire.Home(h)
	}
	return wire.Home(filepath.Join(k.DataDir, "rehearsal"))
}

func (k *kit) handle(home wire.Home, id, cwd string) agent.Handle {
	return agent.Handle{Harness: ID, NativeID: id, Cwd: cwd, Env: map[string]string{wire.HomeVariable: string(home)}}
}
