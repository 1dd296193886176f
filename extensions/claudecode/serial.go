package claudecode

import (
	"context"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// serial makes one order of what the reader, a prompt and a setting report.
// Approvals wait for a person and are outside of it.
type serial struct {
	to agent.Events
	mu sync.Mutex
}

func (s *serial) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *serial) Approval(ctx context.Context, a agent.Approval) agent.ApprovalAnswer {
	return s.to.Approval(ctx, a)
}

func (s *serial) Ready(v agent.Ready)           { s.do(func() { s.to.Ready(v) }) }
func (s *serial) Item(v agent.Item)             { s.do(func() { s.to.Item(v) }) }
func (s *serial) Append(id, text string)        { s.do(func() { s.to.Append(id, text) }) }
func (s *serial) ApprovalAcked(id string)       { s.do(func() { s.to.ApprovalAcked(id) }) }
func (s *serial) Usage(v agent.Usage)           { s.do(func() { s.to.Usage(v) }) }
func (s *serial) Title(v string)                { s.do(func() { s.to.Title(v) }) }
func (s *serial) Catalog(v agent.Catalog)       { s.do(func() { s.to.Catalog(v) }) }
func (s *serial) Handle(v agent.Handle)         { s.do(func() { s.to.Handle(v) }) }
func (s *serial) Settings(v agent.Settings)     { s.do(func() { s.to.Settings(v) }) }
func (s *serial) Turn(v agent.TurnEvent)        { s.do(func() { s.to.Turn(v) }) }
func (s *serial) Failure(reason, detail string) { s.do(func() { s.to.Failure(reason, detail) }) }
func (s *serial) Exit(v agent.Exit)             { s.do(func() { s.to.Exit(v) }) }

func (s *serial) Delivery(id string, d agent.Delivery) { s.do(func() { s.to.Delivery(id, d) }) }
