package claudecode

import "github.com/whippletree-app/whippletree/backend/agent"

// PromptID is the id of a message of ours in the transcript: a message whose
// delivery a crash left unknown is found by it.
func (h *handover) PromptID(hd agent.Handle, clientID string) string {
	if clientID == "" || checkID(hd.NativeID) != nil {
		return ""
	}
	return messageID(hd.NativeID, clientID)
}

var _ agent.PromptNamer = (*handover)(nil)
