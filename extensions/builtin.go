// Package extensions holds the built-in extensions, one folder each, and the
// one place that lists them.
package extensions

import (
	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions/claudecode"
	"github.com/whippletree-app/whippletree/extensions/rehearsal"
)

// Builtin makes every built-in harness, in the order in which they are listed.
func Builtin(h *agentkit.Host) []agent.Harness {
	return []agent.Harness{
		claudecode.New(h),
		rehearsal.New(h),
	}
}
