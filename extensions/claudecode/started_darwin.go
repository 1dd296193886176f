package claudecode

import (
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// startedAs compares the agent's claim (the local time that ps prints, to the
// second) with the process.
func startedAs(id agentkit.Identity, claim string) bool {
	at, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", strings.TrimSpace(claim), time.Local)
	if err != nil {
		return false
	}
	return at.Unix() == int64(id.Start/1_000_000)
}
