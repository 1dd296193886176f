package rehearsal

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agent/agenttest"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// terminalSession starts the agent in a pseudo terminal.
func terminalSession(t *testing.T, h *agentkit.Host, root string, flags ...string) (id string, term *agenttest.Terminal, cwd string) {
	t.Helper()
	id = fmt.Sprintf("test-%d", lastSession())
	session := []string{"--session-id", id}
	if len(flags) > 1 && flags[0] == "--resume" {
		id, session = flags[1], nil
	}
	cwd = t.TempDir()
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	argv := slices.Concat([]string{h.Executable, "rehearsal", "--pace", "none"}, session, flags)
	term = agenttest.StartTerminal(t, agent.Command{
		Argv: argv, Cwd: cwd, Env: map[string]string{wire.HomeVariable: root},
	}, h.Env())
	return id, term, cwd
}

var (
	sessionMu sync.Mutex
	sessionN  int
)

func lastSession() int {
	sessionMu.Lock()
	defer sessionMu.Unlock()
	sessionN++
	return sessionN
}

// storedSession plays a chat and closes it.
func storedSession(t *testing.T, h *agentkit.Host, prompts ...string) (agent.Handle, []agent.Item) {
	t.Helper()
	rec := agenttest.NewRecorder()
	rec.Decide = func(_ context.Context, a agent.Approval) agent.ApprovalAnswer {
		return agent.ApprovalAnswer{OptionID: a.Options[0].ID}
	}
	s, err := New(h).Provider.Open(t.Context(), request(t), rec)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range prompts {
		rec.BeginPrompt()
		end, err := s.Prompt(t.Context(), agent.Prompt{Text: p, ClientID: fmt.Sprint("c", i)})
		rec.EndPrompt(end, err)
		if err != nil || end.Outcome != agent.OutcomeCompleted {
			t.Fatalf("%+v %v", end, err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, v := range rec.Violations() {
		t.Errorf("violation: %s", v)
	}
	return *rec.NativeHandle(), rec.Items()
}
