package processes

// MarkerEnv is set in the environment of every helper to its id, so that it
// and what it started can be found and proved ours after a kill -9 of the host.
const MarkerEnv = "WHIPPLETREE_HELPER"

// Helper is a process of ours as the ledger keeps it.
type Helper struct {
	Identity
	// ID is random and is the value of MarkerEnv.
	ID string `json:"id"`
	// Sid is the kernel session it was started in.
	Sid int `json:"sid"`
	// Purpose is what for (chat, extension, catalog), Owner is whose (a chat's
	// id, an extension's id).
	Purpose string `json:"purpose"`
	Owner   string `json:"owner"`
	Argv0   string `json:"argv0"`
}

// Ledger remembers helpers durably. Started is called right after the spawn
// and before anything is written to the process; when it fails, the process
// is ended. Ended is called when the process and its group are gone.
type Ledger interface {
	Started(Helper) error
	Ended(Identity)
}
