package claudecode

import (
	"encoding/json"
	"fmt"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// writtenMeta is in the Meta of a handle whose transcript was seen. A session in
// which nothing was said has none, and opening it begins it under its id; one
// whose transcript is gone is lost, and saying so is better than to begin anew in
// silence.
var writtenMeta = json.RawMessage(`{"written":true}`)

func isWritten(h agent.Handle) bool {
	var m struct {
		Written bool `json:"written"`
	}
	return len(h.Meta) > 0 && json.Unmarshal(h.Meta, &m) == nil && m.Written
}

// lost explains why a session cannot be opened any more; nil when it can.
func lost(h *agentkit.Host, hd agent.Handle) error {
	if !isWritten(hd) {
		return nil
	}
	if path, stored := transcriptPath(configDir(h, hd.Env), hd.NativeID, hd.Cwd); !stored {
		return failure(fmt.Sprintf("The conversation is not there any more: its transcript %s is gone", path))
	}
	return nil
}

// wrote tells the host, once, that the session has a transcript.
func (s *session) wrote() {
	h := s.launch.handle
	if s.launch.confined || isWritten(h) {
		return
	}
	if _, stored := transcriptPath(configDir(s.host, h.Env), h.NativeID, h.Cwd); stored {
		s.launch.handle.Meta = writtenMeta
		s.events.Handle(s.launch.handle)
	}
}
