package rehearsal

import (
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// recognizer knows the agent by its first two words: our binary, "rehearsal".
type recognizer struct{ binary string }

// Recognize implements [agent.Recognizer].
func (r recognizer) Recognize(exe string, argv []string) agent.Recognition {
	for i, word := range argv {
		if i+1 >= len(argv) || argv[i+1] != ID || strings.HasPrefix(word, "-") {
			continue
		}
		if base := filepath.Base(word); base != "whippletree" && base != r.binary {
			continue
		}
		rec := agent.Recognition{Agent: true}
		rest := argv[i+2:]
		for j, flag := range rest {
			name, value, joined := strings.Cut(flag, "=")
			name = strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-")
			switch {
			case name == "version" || name == "help" || name == "h":
				return agent.Recognition{}
			case name == "chat" || name == "no-session":
				rec.Helper = true // a confined chat or a probe: no session of its own
			case name == "resume" || name == "session-id":
				if !joined && j+1 < len(rest) {
					value = rest[j+1]
				}
				if wire.ValidSession(value) {
					rec.SessionID = value
				}
			}
		}
		return rec
	}
	return agent.Recognition{}
}
