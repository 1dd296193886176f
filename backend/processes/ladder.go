package processes

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Ladder is how a helper is asked to end, gentlest first. Each step is
// bounded: a zero wait is the default, a negative one leaves the step out.
type Ladder struct {
	// Protocol says goodbye in the helper's own words; nil leaves it out.
	Protocol     func(ctx context.Context) error
	ProtocolWait time.Duration // default 2 s, counts from the call
	EOFWait      time.Duration // after standard input was closed, default 1 s
	TermWait     time.Duration // after TERM to the group, default 2 s
	KillWait     time.Duration // after KILL to the group, default 3 s
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// ErrStillAlive is in the error of Close and Reap when a process outlived KILL.
var ErrStillAlive = errors.New("still running after KILL")

// Close ends the helper and every process of its group, then closes the
// pipes and tells the ledger. A canceled ctx goes on to KILL at once. Later
// calls wait for the first and return its result.
func (c *Child) Close(ctx context.Context, l Ladder) error {
	c.mu.Lock()
	if c.closing != nil {
		c.mu.Unlock()
		<-c.closed
		return c.err
	}
	c.closing = make(chan struct{})
	c.mu.Unlock()
	defer close(c.closed)
	c.err = c.descend(ctx, l)
	return c.err
}

func (c *Child) descend(ctx context.Context, l Ladder) error {
	if l.Protocol != nil && l.ProtocolWait >= 0 && !c.ended() {
		wait := orDefault(l.ProtocolWait, 2*time.Second)
		pctx, cancel := context.WithTimeout(ctx, wait)
		said := make(chan struct{})
		go func() {
			defer close(said)
			_ = l.Protocol(pctx) // the steps below do not depend on its success
		}()
		select {
		case <-c.done:
		case <-pctx.Done():
		}
		cancel()
		_ = c.Stdin.Close() // unblocks a goodbye that is stuck in a write
		<-said
	}
	_ = c.Stdin.Close()
	if l.EOFWait >= 0 {
		c.await(ctx, orDefault(l.EOFWait, time.Second))
	}
	if l.TermWait >= 0 && c.groupLives() {
		c.signal(syscall.SIGTERM)
		c.awaitGroup(ctx, orDefault(l.TermWait, 2*time.Second))
	}
	left := c.kill(orDefault(l.KillWait, 3*time.Second))
	_ = c.Stdout.Close()
	if len(left) > 0 {
		return fmt.Errorf("%s: %w: %v", c.helper.Argv0, ErrStillAlive, left)
	}
	if c.ledger != nil {
		c.ledger.Ended(c.helper.Identity)
	}
	return nil
}

func (c *Child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *Child) await(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.done:
	case <-ctx.Done():
	case <-t.C:
	}
}

// awaitGroup waits until nothing of the group runs any more.
func (c *Child) awaitGroup(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	c.await(ctx, d)
	awaitGone(ctx, func() []Identity { return identities(c.members()) })
}

func (c *Child) groupLives() bool { return !c.ended() || len(c.members()) > 0 }

// signal reaches the whole group while the leader is unreaped (the group's id
// cannot be another's then), afterwards each proved member.
func (c *Child) signal(sig syscall.Signal) {
	members := c.members()
	c.mu.Lock()
	group := !c.reaped
	if group {
		_ = syscall.Kill(-c.helper.Pid, sig)
	}
	c.mu.Unlock()
	for _, p := range members {
		// Nobody gets it twice: many programs take a second TERM for "at once".
		if !group || p.Pgrp != c.helper.Pid {
			signalIdentity(p.Identity, sig)
		}
	}
}

// members are the living processes of the helper other than the leader, and
// the leader while it lives.
func (c *Child) members() []Proc {
	t, err := Snapshot()
	if err != nil {
		return nil
	}
	return membersOf(t, c.helper)
}

// kill ends the group and returns what outlived it.
func (c *Child) kill(wait time.Duration) []Identity {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	for {
		c.signal(syscall.SIGKILL)
		c.await(ctx, wait)
		left := identities(c.members())
		if len(left) == 0 && c.ended() {
			return nil
		}
		if ctx.Err() != nil {
			return left
		}
		awaitOne(ctx, left)
	}
}
