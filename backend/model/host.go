package model

import (
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Harness is one agent product as Settings and the pickers show it.
type Harness struct {
	agent.Identity
	Extension    string              `json:"extension"`
	Provider     string              `json:"provider,omitempty"`
	Extends      string              `json:"extends,omitempty"` // made by the settings of this built-in harness
	Source       string              `json:"source,omitempty"`
	Enabled      bool                `json:"enabled"`
	Kinds        []agent.Kind        `json:"kinds"`
	Availability *agent.Availability `json:"availability,omitempty"` // nil: not looked at yet
	CanHandOver  bool                `json:"canHandOver"`
	SourceState  string              `json:"sourceState,omitempty"` // running, off, failed
	SourceError  string              `json:"sourceError,omitempty"`
	Diagnostics  []Diagnostic        `json:"diagnostics,omitempty"`
}

type Diagnostic struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	At      int64  `json:"at"`
}

// HostInfo describes the running host.
type HostInfo struct {
	Version      string `json:"version"`
	Protocol     int    `json:"protocol"`
	Pid          int    `json:"pid"`
	Home         string `json:"home"`
	UserHome     string `json:"userHome,omitempty"` // the person's home folder, shown as ~
	StartedAt    int64  `json:"startedAt"`
	Epoch        string `json:"epoch"` // changes with every host start
	KeepRunning  bool   `json:"keepRunning"`
	RunningTurns int    `json:"runningTurns"`
	Terminals    int    `json:"terminals"`
	Windows      int    `json:"windows"`
	// Notifies: the host shows notifications itself; otherwise a window does.
	Notifies bool `json:"notifies"`
}

// DoctorCheck is one line of `whippletree doctor`.
type DoctorCheck struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	State string `json:"state"` // ok, info, warning, error
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

// Settings is the effective settings with what is wrong with the file.
type Settings struct {
	Values   json.RawMessage `json:"values"` // by the JSON Schema of settings.json
	Path     string          `json:"path"`
	Problems []agent.Issue   `json:"problems,omitempty"`
	// KeptAside is where a broken file was saved.
	KeptAside string `json:"keptAside,omitempty"`
}

// TrustQuestion is what a folder would start by itself.
type TrustQuestion struct {
	Cwd    string               `json:"cwd"`
	Root   string               `json:"root"`  // what would be trusted
	State  string               `json:"state"` // trusted, untrusted, unknown
	Starts []agent.ProjectStart `json:"starts"`
	Needed bool                 `json:"needed"`
}

// ApprovalRule is an "always" of ours, revocable.
type ApprovalRule struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	Harness string `json:"harness"`
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	At      int64  `json:"at"`
}
