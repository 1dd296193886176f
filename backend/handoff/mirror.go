package handoff

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
)

// batchItems bounds how many mirrored rows are stored in one go.
const batchItems = 100

// sink puts mirrored rows into the chat's timeline, in batches that end where
// the transcript was read to its end.
type sink struct {
	m      *Manager
	ctx    context.Context
	chatID string
	via    string

	mu     sync.Mutex
	batch  chats.Mirrored
	err    error
	grew   chan struct{} // something came
	caught chan struct{} // the end was reached
}

func newSink(ctx context.Context, m *Manager, chatID, via string) *sink {
	return &sink{m: m, ctx: ctx, chatID: chatID, via: via, grew: make(chan struct{}, 1), caught: make(chan struct{}, 1)}
}

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (s *sink) Item(it agent.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch.Items = append(s.batch.Items, it)
	if len(s.batch.Items) >= batchItems {
		s.flush()
	}
	wake(s.grew)
}

func (s *sink) State(st agent.MirrorState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch.State = &st
}

func (s *sink) CaughtUp(p agent.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch.Position = &p
	s.flush()
	wake(s.caught)
}

// flush stores the batch; s.mu is held. Rows that could not be stored are kept
// and tried again with the next ones.
func (s *sink) flush() {
	b := s.batch
	b.Via = s.via
	if _, err := s.m.o.Chats.ApplyMirror(s.ctx, s.chatID, b); err != nil {
		s.err = err
		s.batch.Position = nil
		return
	}
	s.err = nil
	s.batch = chats.Mirrored{}
}

// read replays a session from a position until its transcript is still: its end
// was reached and nothing came for StillFor.
func (m *Manager) read(ctx context.Context, h agent.Harness, chatID string, handle agent.Handle, from agent.Position, via string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the agent's transcript did not come to rest"))
	defer cancel()
	s := newSink(ctx, m, chatID, via)
	ended := make(chan error, 1)
	mctx, stop := context.WithCancel(ctx)
	go func() { ended <- h.Handover.Mirror(mctx, handle, from, s) }()
	defer func() { stop(); <-ended }()
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	caught := false
	for {
		select {
		case err := <-ended:
			ended <- nil
			if err == nil && !caught {
				err = context.Cause(ctx)
			}
			return err
		case <-s.caught:
			caught = true
			quiet.Reset(m.o.StillFor)
		case <-s.grew:
			if caught {
				quiet.Reset(m.o.StillFor)
			}
		case <-quiet.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.batch.Items) > 0 {
				s.flush()
			}
			return s.err
		}
	}
}

func (s *sentry) startMirror(ctx context.Context) {
	rel, _, err := s.m.o.Chats.Inspect(ctx, s.w.chatID)
	if err != nil {
		return
	}
	s.startMirrorFrom(ctx, rel.Applied)
}

func (s *sentry) startMirrorFrom(ctx context.Context, from agent.Position) {
	mctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	s.mirror, s.mirrorDone = cancel, done
	handle, k := s.handle, newSink(ctx, s.m, s.w.chatID, "terminal")
	go func() { done <- s.h.Handover.Mirror(mctx, handle, from, k) }()
}

func (s *sentry) stopMirror() {
	if s.mirror == nil {
		return
	}
	s.mirror()
	if s.mirrorDone != nil {
		<-s.mirrorDone
	}
	s.mirror, s.mirrorDone = nil, nil
}

// mirrorEnded: a mirror that failed is shown; the next change tries it again.
func (s *sentry) mirrorEnded(ctx context.Context, err error) {
	s.mirrorDone = nil
	s.stopMirror()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.hand.Note = "The terminal's conversation cannot be shown: " + err.Error()
		s.put(ctx)
	}
}
