package agent

// Limits of the contract (EXTENSION-API.md, DECISIONS 37). Lengths count
// UTF-16 code units unless a name says bytes.
const (
	APIVersion = "3.3.0"

	LimitSessionID      = 256
	LimitHarness        = 64
	LimitCwd            = 4096
	LimitTitle          = 512
	LimitModel          = 256
	LimitWaitingFor     = 1024
	LimitTool           = 256
	LimitError          = 1024
	LimitEvidence       = 256
	LimitSubagents      = 64
	LimitSubagentID     = 256
	LimitSubagentType   = 128
	LimitSubagentTitle  = 512
	LimitResetSessions  = 1024
	LimitDiagnosticCode = 64
	LimitDiagnosticText = 512

	LimitChatSessionID       = 128
	LimitInstruction         = 8192
	LimitTextBytes           = 65536
	LimitCallID              = 256
	LimitServer              = 64
	LimitToolName            = 256
	LimitDetail              = 1024
	LimitID                  = 256
	LimitOutputShown         = 65536 // bytes shown, head and tail; the whole is fetched by id
	LimitPayloadBytes        = 256 << 10
	MaxPid                   = 1<<31 - 1
	MaxTime            int64 = 1<<53 - 1
)
