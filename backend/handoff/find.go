package handoff

// LookUp implements [chats.Finder]: it returns at once and reads the transcript of
// a chat beside its caller.
func (m *Manager) LookUp(chatID string) { m.lookUp(chatID) }
