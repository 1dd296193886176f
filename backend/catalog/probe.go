package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// TimeoutError says that a probe took too long and what it was doing.
type TimeoutError struct {
	Harness string // display name
	After   time.Duration
	Running []string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s did not tell what it offers within %s; still running: %s", e.Harness, e.After, strings.Join(e.Running, ", "))
}

// errBound is the cause of a probe's end by its deadline.
var errBound = errors.New("the probe took too long")

// probe asks an agent, under one deadline for everything.
func (s *Service) probe(ctx context.Context, h agent.Harness, folder string) Entry {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Bound, errBound)
	defer cancel()
	ctx, ops := agent.WithOperations(ctx)
	got := make(chan Entry, 1)
	s.wg.Go(func() { got <- s.ask(ctx, h, folder) })

	var e Entry
	select {
	case e = <-got:
	case <-ctx.Done():
		running := ops.Running()
		// The agent first ends what it began.
		grace := time.NewTimer(s.o.Grace)
		defer grace.Stop()
		select {
		case e = <-got:
		case <-grace.C:
		}
		if e.State != Ready && errors.Is(context.Cause(ctx), errBound) {
			e.State, e.Err = Failed, &TimeoutError{Harness: h.Identity.DisplayName, After: s.o.Bound, Running: running}
		} else if e.State == "" {
			e.State, e.Err = Failed, context.Cause(ctx)
		}
	}
	e.At = s.o.Now()
	return e
}

func (s *Service) ask(ctx context.Context, h agent.Harness, folder string) Entry {
	if h.Provider == nil {
		return Entry{State: Unsupported}
	}
	e, err := s.available(ctx, h)
	if err != nil {
		return Entry{State: Failed, Err: err}
	}
	if !e.Availability.Available && e.Availability.Reason != agent.ReasonNotSignedIn {
		// Whether it is signed in is a guess; the agent knows better.
		e.State = Unavailable
		return e
	}
	c, ok := h.Provider.(agent.Cataloger)
	if !ok {
		e.State = Unsupported
		return e
	}
	done := agent.Doing(ctx, "reading what it offers")
	defer done()
	if e.Catalog, err = c.Catalog(ctx, folder); err != nil {
		e.State, e.Err = Failed, err
		return e
	}
	e.State = Ready
	e.Catalog.Hash = hash(e.Catalog)
	e.Catalog.FetchedAt = s.o.Now().UnixMilli()
	return e
}

func (s *Service) available(ctx context.Context, h agent.Harness) (Entry, error) {
	done := agent.Doing(ctx, "looking whether it can run")
	defer done()
	a, err := h.Provider.Availability(ctx)
	if err != nil {
		return Entry{}, err
	}
	if s.o.Available != nil && ctx.Err() == nil {
		s.o.Available(h.Identity.Harness, a)
	}
	return Entry{Availability: &a}, nil
}

// hash names a content, whenever and by whatever version it was fetched.
func hash(c agent.Catalog) string {
	c.Hash, c.FetchedAt = "", 0
	raw, err := json.Marshal(c)
	if err != nil {
		return "" // never equal to a known one
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
