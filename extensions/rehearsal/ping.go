package rehearsal

import "context"

// Ping implements [agent.Pinger]: the program answers for itself, also in the
// middle of a turn.
func (s *session) Ping(ctx context.Context) error {
	_, err := s.Usage(ctx)
	return err
}
