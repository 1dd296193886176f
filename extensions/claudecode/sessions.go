package claudecode

import "github.com/whippletree-app/whippletree/backend/agentkit"

type source struct{ host *agentkit.Host }
type handover struct{ host *agentkit.Host }
