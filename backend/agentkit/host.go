package agentkit

import (
	"log/slog"
	"sort"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Host is what a harness gets from the host. Nothing in it is read from the
// process's own environment; a test fills it by hand. All members are safe for
// concurrent use and outlive the harness.
type Host struct {
	// Home is the user's home folder, where the agents keep their data.
	Home string
	// Env returns the imported login environment ("K=V"); it may change
	// between calls.
	Env func() []string
	// DataDir, CacheDir and RunDir are private folders of the host (0700).
	DataDir, CacheDir, RunDir string
	// Executable is our own command-line binary, for `mcp` and `hook`.
	Executable string
	Watcher    *Watcher
	Exits      *processes.ExitWatcher
	Ledger     processes.Ledger
	Log        *slog.Logger
	Now        func() time.Time
	// Launch is what a person set for a harness, read now; nil: nothing. Chats
	// get it in their request, so that probes are all that needs it. The error
	// says why the settings cannot be used.
	Launch func(harness string) (agent.Launch, error)
	// Launches are the starts that a person set for a built-in harness and for the
	// agents made of it: each may keep its data in a home of its own. nil: none.
	Launches func(harness string) []agent.Launch
	// OnLaunches calls f after Launches may have changed, until stop is called; nil:
	// they never change. f must return quickly.
	OnLaunches func(f func()) (stop func())
	// Index remembers stored sessions; nil: harnesses keep what they know in memory.
	Index Index
}

// LaunchOf is what a person set for a harness.
func (h *Host) LaunchOf(harness string) (agent.Launch, error) {
	if h.Launch == nil {
		return agent.Launch{}, nil
	}
	return h.Launch(harness)
}

// Environ is the imported environment without the names in drop and with the
// entries of set, ready for a process.
func (h *Host) Environ(set map[string]string, drop ...string) []string {
	skip := map[string]bool{}
	for _, name := range drop {
		skip[name] = true
	}
	for name := range set {
		skip[name] = true
	}
	var env []string
	if h.Env != nil {
		for _, kv := range h.Env() {
			if name, _, _ := strings.Cut(kv, "="); !skip[name] {
				env = append(env, kv)
			}
		}
	}
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		env = append(env, name+"="+set[name])
	}
	return env
}

// Getenv reads the imported environment.
func (h *Host) Getenv(name string) string {
	if h.Env == nil {
		return ""
	}
	return Getenv(h.Env(), name)
}

// Logger never returns nil.
func (h *Host) Logger() *slog.Logger {
	if h.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Log
}

// Time is the host's clock.
func (h *Host) Time() time.Time {
	if h.Now == nil {
		return time.Now()
	}
	return h.Now()
}
