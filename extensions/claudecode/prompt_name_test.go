package claudecode

import (
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func TestAPromptIsNamedBeforeItIsSent(t *testing.T) {
	h := agent.Handle{NativeID: "0b6f5d2e-44a7-4c0e-9a57-0c2f9b9b7a11"}
	s := &session{launch: &launch{handle: h}}
	_, sent, err := s.message(agent.Prompt{Text: "hello", ClientID: "client-1"})
	if err != nil {
		t.Fatal(err)
	}
	n := &handover{}
	if got := n.PromptID(h, "client-1"); got != sent {
		t.Errorf("named %q, sent as %q", got, sent)
	}
	if n.PromptID(h, "") != "" || n.PromptID(agent.Handle{NativeID: "../x"}, "client-1") != "" {
		t.Error("a name for what has none")
	}
}
