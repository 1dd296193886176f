package claudecode

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// forked is in the Meta of a handle whose session the program has not written
// yet: it copies the original with the copy's first message.
type forked struct {
	Of string `json:"forkOf"`
}

// origin is the id of the session that h is a copy of, "" when it is none.
func forkOrigin(h agent.Handle) string {
	var f forked
	if len(h.Meta) == 0 || json.Unmarshal(h.Meta, &f) != nil || checkID(f.Of) != nil {
		return ""
	}
	return f.Of
}

// Fork names a copy of a stored session. Nothing is written: the program makes
// the copy when something is said in it, and keeps the ids of the records, so
// that until then the original's rows are the copy's.
func (p *provider) Fork(_ context.Context, h agent.Handle) (agent.Handle, error) {
	if err := checkID(h.NativeID); err != nil {
		return agent.Handle{}, err
	}
	of := h.NativeID
	if _, stored := transcriptPath(configDir(p.host, h.Env), of, h.Cwd); !stored {
		if of = forkOrigin(h); of == "" {
			return agent.Handle{}, failure("Nothing was said in this session yet; there is nothing to copy")
		}
	}
	meta, err := json.Marshal(forked{of})
	if err != nil {
		return agent.Handle{}, err
	}
	c := handleFor(p.host, uuid.NewString(), h.Cwd, h.Env)
	c.Meta = meta
	return c, nil
}

// openArgs opens a session by its handle: the stored one, a copy that is still
// to be made, or one in which nothing was said, whose id is still free.
func openArgs(h *agentkit.Host, hd agent.Handle) (argv []string, transcript string) {
	config := configDir(h, hd.Env)
	if path, stored := transcriptPath(config, hd.NativeID, hd.Cwd); stored {
		return []string{"--resume", hd.NativeID}, path
	}
	if of := forkOrigin(hd); of != "" {
		if path, stored := transcriptPath(config, of, hd.Cwd); stored {
			return []string{"--resume", of, "--fork-session", "--session-id", hd.NativeID}, path
		}
	}
	return []string{"--session-id", hd.NativeID}, ""
}

var _ agent.Forker = (*provider)(nil)
