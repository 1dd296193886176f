package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Stop ends everything in order, each step within its share of the time, and
// gives the home free. It is safe on a host that failed to start.
func (h *Host) Stop(ctx context.Context) error {
	var errs []error
	h.stopOnce.Do(func() {
		h.end()
		step := func(name string, d time.Duration, f func(context.Context) error) {
			c, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			if err := f(c); err != nil {
				errs = append(errs, fmt.Errorf("stopping %s: %w", name, err))
			}
		}
		if h.leases != nil {
			h.leases.stop()
		}
		if h.windows != nil {
			h.windows.stop()
		}
		if h.server != nil {
			step("the socket", 3*time.Second, func(c context.Context) error { return h.server.Close(c, "the host is ending") })
		}
		h.cancel()
		if h.observed != nil {
			step("observing", 5*time.Second, h.observed.stop)
		}
		if h.attention != nil {
			h.attention.stop()
		}
		if h.notices != nil {
			step("notifications", 3*time.Second, func(c context.Context) error { return wait(c, h.notices.stop) })
		}
		if h.handoff != nil {
			step("handovers", 5*time.Second, h.handoff.Stop)
		}
		if h.chats != nil {
			step("chats", 12*time.Second, h.chats.Stop)
		}
		if h.terminals != nil {
			step("terminals", 8*time.Second, h.terminals.Stop)
		}
		if h.env != nil {
			h.env.set(h.env.base)
		}
		if h.offers != nil {
			step("asking what agents offer", 8*time.Second, func(c context.Context) error { return wait(c, func() { h.offers.Close() }) })
		}
		step("background work", 8*time.Second, func(c context.Context) error { return wait(c, h.wg.Wait) })
		if h.composer != nil {
			h.composer.close()
		}
		if h.projects != nil {
			h.projects.Close()
		}
		if h.settings != nil {
			h.settings.Close()
		}
		if h.exits != nil {
			h.exits.Close()
		}
		if h.watcher != nil {
			errs = append(errs, h.watcher.Close())
		}
		if h.store != nil {
			errs = append(errs, h.store.Close())
		}
		if h.lock != nil {
			_ = os.Remove(h.socket)
			errs = append(errs, h.lock.Close())
		}
	})
	return errors.Join(errs...)
}

func wait(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
