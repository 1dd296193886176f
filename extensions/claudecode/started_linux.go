package claudecode

import (
	"strconv"

	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// startedAs compares the agent's claim (start ticks since boot) with the
// process.
func startedAs(id agentkit.Identity, claim string) bool {
	return claim == strconv.FormatUint(id.Start, 10)
}
