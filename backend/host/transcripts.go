package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/store"
)

// Bounds of reading sessions for the search.
const (
	transcriptPage  = 100             // sessions of one look at a list
	transcriptItems = 200             // rows stored in one go
	transcriptTime  = time.Minute     // for one session
	transcriptRest  = 5 * time.Second // after one at most
	transcriptWait  = 300 * time.Millisecond
)

// transcripts reads the stored sessions that are no chats into the search index,
// where the person allowed it: all of them after the setting was switched on,
// later what a search finds to have changed. One at a time, with a rest after each
// one as long as it took; what was read stays read over a restart.
type transcripts struct {
	host *Host
	wake chan struct{}

	mu sync.Mutex
	// done is closed at the end of the look that was asked for; nil: none was.
	done chan struct{}
}

func newTranscripts(h *Host) *transcripts {
	return &transcripts{host: h, wake: make(chan struct{}, 1)}
}

// tell asks for a look. The channel is closed when it has ended.
func (t *transcripts) tell() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return t.done
}

// short asks for a look and waits for it a moment; false when it goes on.
func (t *transcripts) short(ctx context.Context) bool {
	bound := time.NewTimer(transcriptWait)
	defer bound.Stop()
	select {
	case <-t.tell():
		return true
	case <-bound.C:
	case <-ctx.Done():
	case <-t.host.ctx.Done():
	}
	return false
}

// run looks whenever it is asked to, until the host ends.
func (t *transcripts) run(ctx context.Context) {
	for {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return
		}
		err := t.look(ctx)
		t.mu.Lock()
		if done := t.done; done != nil && len(t.wake) == 0 {
			close(done)
			t.done = nil
		}
		t.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			t.host.log.Warn("reading sessions for the search", "err", err)
		}
	}
}

func (t *transcripts) allowed() bool { return t.host.settings.Values().Search.Sessions }

// look reads what is new and forgets what is gone. Switched off it forgets all.
func (t *transcripts) look(ctx context.Context) error {
	type key struct{ harness, id string }
	known := map[key]store.Transcript{}
	if err := t.host.store.Transcripts(ctx, func(x store.Transcript) { known[key{x.Harness, x.NativeID}] = x }); err != nil {
		return err
	}
	if !t.allowed() {
		for k := range known {
			if err := t.host.store.RemoveTranscript(ctx, k.harness, k.id); err != nil {
				return err
			}
		}
		return nil
	}
	seen := map[key]bool{}
	whole := true
	for _, imp := range t.host.importers("") {
		x, on, ok := t.host.harnesses.Harness(imp.harness)
		if !ok || !on || x.Handover == nil {
			continue
		}
		for cursor := ""; ; {
			list, next, err := imp.Stored(ctx, "", cursor, transcriptPage)
			if err != nil {
				whole = false
				break
			}
			for _, s := range list {
				k := key{s.Handle.Harness, s.Handle.NativeID}
				seen[k] = true
				had, ok := known[k]
				if ok && had.Size == s.Size && had.UpdatedAt == s.UpdatedAt {
					continue
				}
				if !t.allowed() {
					t.tell()
					return nil
				}
				if err := t.read(ctx, x, s); err != nil {
					return err
				}
			}
			if cursor = next; cursor == "" {
				break
			}
		}
	}
	for k := range known {
		if whole && !seen[k] {
			if err := t.host.store.RemoveTranscript(ctx, k.harness, k.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// read puts one session into the index. One that cannot be read is kept without a
// text, so that it is tried again only when it changed.
func (t *transcripts) read(ctx context.Context, x agent.Harness, s agent.StoredSession) error {
	began := time.Now()
	meta := store.Transcript{Harness: s.Handle.Harness, NativeID: s.Handle.NativeID, Title: s.Title, Cwd: s.Handle.Cwd, Size: s.Size, UpdatedAt: s.UpdatedAt}
	if err := t.host.store.PutTranscript(ctx, meta, nil); err != nil {
		return err
	}
	sink := &said{store: t.host.store, ctx: ctx, meta: meta, at: map[string]int{}}
	one, cancel := context.WithTimeoutCause(ctx, transcriptTime, errors.New("it took too long"))
	err := readOnce(one, x, s.Handle, sink)
	cancel()
	if err = errors.Join(err, sink.flush(), sink.err); err != nil && ctx.Err() == nil {
		t.host.log.Info("a session cannot be read for the search", "harness", s.Handle.Harness, "err", err)
		if errors.Is(err, store.ErrFull) {
			return err
		}
	}
	rest := time.NewTimer(min(time.Since(began), transcriptRest))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// said is a sink that stores rows for the search. A row that comes again while it
// waits replaces itself; later its first form stays.
type said struct {
	store *store.Store
	ctx   context.Context
	meta  store.Transcript
	batch []agent.Item
	at    map[string]int // by id: index in batch, -1 when stored
	err   error
}

func (s *said) Item(it agent.Item) {
	if i, ok := s.at[it.ID]; ok {
		if i >= 0 {
			s.batch[i] = it
		}
		return
	}
	s.at[it.ID] = len(s.batch)
	if s.batch = append(s.batch, it); len(s.batch) >= 2*transcriptItems {
		// The newest ones wait: their tool may still get its output.
		s.err = errors.Join(s.err, s.store.AddTranscript(s.ctx, s.meta.Harness, s.meta.NativeID, s.batch[:transcriptItems]))
		rest := append([]agent.Item(nil), s.batch[transcriptItems:]...)
		for _, old := range s.batch[:transcriptItems] {
			s.at[old.ID] = -1
		}
		for i, x := range rest {
			s.at[x.ID] = i
		}
		s.batch = rest
	}
}

func (s *said) flush() error {
	list := s.batch
	s.batch = nil
	if len(list) == 0 {
		return nil
	}
	return s.store.AddTranscript(s.ctx, s.meta.Harness, s.meta.NativeID, list)
}
