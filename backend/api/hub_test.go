package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// counter is a domain: a number that grows, published under its lock.
type counter struct {
	mu  sync.Mutex
	n   int
	hub *api.Hub
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.hub.Publish("sessions", api.EventUpsert, c.n)
}

func (c *counter) snapshot(mark bool) api.Snapshot {
	return func(_ context.Context, m func()) (any, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if mark {
			m()
		}
		return c.n, nil
	}
}

// follow subscribes and checks that snapshot and events count without gap and
// without overlap; done is closed at the number until.
type follow struct {
	t         *testing.T
	mu        sync.Mutex
	last      int
	snapshots int
	until     int
	done      chan struct{}
}

func (f *follow) subscriber() api.Subscriber {
	return api.Subscriber{
		Snapshot: func(raw json.RawMessage) { f.take(raw, true) },
		Event:    func(e api.Event) { f.take(e.Data, false) },
	}
}

func (f *follow) take(raw json.RawMessage, snapshot bool) {
	var n int
	if err := json.Unmarshal(raw, &n); err != nil {
		f.t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case snapshot:
		f.snapshots++
	case n != f.last+1:
		f.t.Errorf("%d came after %d", n, f.last)
	}
	f.last = n
	if n == f.until {
		close(f.done)
	}
}

func TestSnapshotAndEventsMeetExactly(t *testing.T) {
	for _, mark := range []bool{true, false} {
		t.Run(fmt.Sprintf("mark=%v", mark), func(t *testing.T) {
			var c *counter
			h := newHost(t, "e", func(h *host) {
				c = &counter{hub: h.hub}
				h.hub.Topic("sessions", c.snapshot(mark))
			})
			const total = 5000
			var wg sync.WaitGroup
			wg.Go(func() {
				for range total {
					c.add()
				}
			})
			var follows []*follow
			for range 4 {
				f := &follow{t: t, until: total, done: make(chan struct{})}
				follows = append(follows, f)
				for {
					_, err := h.client(api.ClientOptions{}).Subscribe(t.Context(), "sessions", f.subscriber())
					if code(err) == api.CodeBusy {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					break
				}
			}
			wg.Wait()
			for _, f := range follows {
				within(t, f.done)
			}
		})
	}
}

func TestHundredThousandEventsInOrder(t *testing.T) {
	var c *counter
	h := newHost(t, "e", func(h *host) {
		c = &counter{hub: h.hub}
		h.hub.Topic("sessions", c.snapshot(true))
	})
	const total = 100_000
	f := &follow{t: t, until: total, done: make(chan struct{})}
	if _, err := h.client(api.ClientOptions{}).Subscribe(t.Context(), "sessions", f.subscriber()); err != nil {
		t.Fatal(err)
	}
	for range total {
		c.add()
	}
	within(t, f.done)
	t.Logf("%d snapshots", f.snapshots)
}

func TestResumeAfterALostConnection(t *testing.T) {
	var c *counter
	h := newHost(t, "e", func(h *host) {
		c = &counter{hub: h.hub}
		h.hub.Topic("sessions", c.snapshot(true))
		api.Handle(h.server, "host.raise", func(_ context.Context, c *api.Caller, _ api.Raise) (api.RaiseResult, error) {
			c.Close("test")
			return api.RaiseResult{}, nil
		})
	})
	up := make(chan struct{}, 4)
	cl := h.client(api.ClientOptions{Reconnect: true, Up: func(model.HostInfo) { up <- struct{}{} }})
	within(t, up)
	f := &follow{t: t, until: 30, done: make(chan struct{})}
	if _, err := cl.Subscribe(t.Context(), "sessions", f.subscriber()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		c.add()
	}
	_, _ = api.Call[api.RaiseResult](t.Context(), cl, "host.raise", api.Raise{})
	for range 10 {
		c.add()
	}
	within(t, up)
	for range 10 {
		c.add()
	}
	within(t, f.done)
	if f.snapshots != 1 {
		t.Errorf("%d snapshots: the ring was not used", f.snapshots)
	}
}

func TestAnotherHostGivesASnapshot(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	begin := func(n int) func(*host) {
		return func(h *host) { h.hub.Topic("sessions", (&counter{n: n, hub: h.hub}).snapshot(true)) }
	}
	first := newHostAt(t, socket, "one", begin(5))
	snapshots := make(chan string, 4)
	cl := first.client(api.ClientOptions{Reconnect: true})
	if _, err := cl.Subscribe(t.Context(), "sessions", api.Subscriber{Snapshot: func(r json.RawMessage) { snapshots <- string(r) }}); err != nil {
		t.Fatal(err)
	}
	if got := within(t, snapshots); got != "5" {
		t.Fatal(got)
	}
	first.stop()
	newHostAt(t, socket, "two", begin(7))
	if got := within(t, snapshots); got != "7" {
		t.Fatal(got)
	}
}

// A client that reads nothing costs a bounded backlog and never holds up the
// publisher; what it gets in the end is a gap and then the newest value.
func TestAStuckClientGetsAGap(t *testing.T) {
	var c *counter
	h := newHost(t, "e", func(h *host) {
		c = &counter{hub: h.hub}
		h.hub.Topic("sessions", c.snapshot(true))
	})
	ws := dialRaw(t, h.socket, nil)
	hello(t, ws)
	send(t, ws, `{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"topic":"sessions"}}`)
	receive(t, ws)
	for range 40_000 { // beyond window and backlog: nothing is acknowledged
		c.add()
	}
	last := 0
	for {
		r := receive(t, ws)
		if r.Params.Type == api.EventGap {
			break
		}
		last++
		if got := string(r.Params.Data); got != fmt.Sprint(last) {
			t.Fatalf("%s came as number %d", got, last)
		}
	}
	if last > 20_000 {
		t.Errorf("%d events were kept for a client that reads nothing", last)
	}
	send(t, ws, `{"jsonrpc":"2.0","id":2,"method":"events.subscribe","params":{"topic":"sessions"}}`)
	if r := receive(t, ws); !contains(string(r.Result), `"snapshot":40000`) {
		t.Errorf("after the gap: %s", r.Result)
	}
}

func TestTooLargeAnEventIsAGap(t *testing.T) {
	h := newHost(t, "e", func(h *host) {
		h.hub.Family("chat:", func(_ context.Context, id string, _ func()) (any, error) {
			if id != "a" {
				return nil, &api.Error{Code: api.CodeNotFound, Message: "There is no such chat."}
			}
			return "value", nil
		})
	})
	snapshots, events := make(chan string, 4), make(chan string, 4)
	cl := h.client(api.ClientOptions{})
	if _, err := cl.Subscribe(t.Context(), "chat:b", api.Subscriber{}); code(err) != api.CodeNotFound {
		t.Errorf("an unknown chat: %v", err)
	}
	_, err := cl.Subscribe(t.Context(), "chat:a", api.Subscriber{
		Snapshot: func(r json.RawMessage) { snapshots <- string(r) },
		Event:    func(e api.Event) { events <- e.Type },
	})
	if err != nil {
		t.Fatal(err)
	}
	within(t, snapshots)
	h.hub.Publish("chat:a", api.EventRow, string(make([]byte, 300<<10)))
	within(t, snapshots)
	h.hub.Publish("chat:a", api.EventPulse, nil)
	if got := within(t, events); got != api.EventPulse {
		t.Error(got)
	}
}
