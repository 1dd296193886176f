package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
)

// Bounds of a preview.
const (
	previewHead = 6
	previewTail = 14
	previewText = 2 << 10 // bytes of one row
	previewTime = 10 * time.Second
)

// preview reads a stored session through and keeps its beginning and its end.
// Nothing is imported, nothing written.
func (h *Host) preview(ctx context.Context, _ *api.Caller, r api.PreviewRequest) (api.PreviewResult, error) {
	x, on, ok := h.harnesses.Harness(r.Handle.Harness)
	switch {
	case !ok:
		return api.PreviewResult{}, notFound("There is no agent %q.", r.Handle.Harness)
	case !on:
		return api.PreviewResult{}, &api.Error{Code: api.CodeUnavailable, Message: x.Identity.DisplayName + " is switched off in Settings."}
	case x.Handover == nil:
		return api.PreviewResult{}, &api.Error{Code: api.CodeUnsupported, Message: "Sessions of " + x.Identity.DisplayName + " cannot be read here."}
	}
	sink := &ends{at: map[string]int{}, tailAt: map[string]int{}}
	ctx, cancel := context.WithTimeoutCause(ctx, previewTime, errors.New("reading the session took too long"))
	defer cancel()
	if err := readOnce(ctx, x, r.Handle, sink); err != nil {
		return api.PreviewResult{}, &api.Error{Code: api.CodeUnavailable, Message: "The session cannot be read: " + err.Error() + "."}
	}
	res := sink.result()
	for _, c := range h.chats.List() {
		if c.Handle != nil && c.Handle.Harness == r.Handle.Harness && (c.Handle.NativeID == r.Handle.NativeID || slices.Contains(c.Aliases, r.Handle.NativeID)) {
			res.ChatID = c.ID
			break
		}
	}
	return res, nil
}

// readOnce mirrors a session until its end was reached.
func readOnce(ctx context.Context, x agent.Harness, handle agent.Handle, sink interface {
	Item(agent.Item)
}) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	caught := &untilCaught{take: sink.Item, stop: stop}
	err := x.Handover.Mirror(ctx, handle, agent.Position{}, caught)
	if caught.done {
		return nil
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// untilCaught is a sink that ends the mirror where it has caught up.
type untilCaught struct {
	mu   sync.Mutex
	take func(agent.Item)
	stop func()
	done bool
}

func (c *untilCaught) Item(it agent.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.done {
		c.take(it)
	}
}

func (c *untilCaught) State(agent.MirrorState) {}

func (c *untilCaught) CaughtUp(agent.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	c.stop()
}

// ends keeps the first and the last rows of a session. A row that comes again
// replaces itself while it is kept.
type ends struct {
	head, tail []agent.Item
	at, tailAt map[string]int // by id: index in head; number in tail
	count      int
	first      int // number of tail[0]
}

func (e *ends) Item(it agent.Item) {
	it = cutItem(it)
	if i, ok := e.at[it.ID]; ok {
		e.head[i] = it
		return
	}
	if n, ok := e.tailAt[it.ID]; ok {
		e.tail[n-e.first] = it
		return
	}
	if len(e.head) < previewHead {
		e.at[it.ID] = len(e.head)
		e.head = append(e.head, it)
		return
	}
	e.tailAt[it.ID] = e.first + len(e.tail)
	if e.tail = append(e.tail, it); len(e.tail) > previewTail {
		delete(e.tailAt, e.tail[0].ID)
		e.tail = append(e.tail[:0], e.tail[1:]...)
		e.first++
	}
	e.count++
}

func (e *ends) result() api.PreviewResult {
	return api.PreviewResult{Head: orEmpty(e.head), Tail: orEmpty(e.tail), Left: e.count - len(e.tail)}
}

// cutItem is an item as a preview shows it.
func cutItem(it agent.Item) agent.Item {
	out := agent.Item{
		ID: it.ID, Type: it.Type, ParentID: it.ParentID, At: it.At, Name: it.Name, Tool: it.Tool, State: it.State,
		AgentType: it.AgentType, Level: it.Level, Reason: it.Reason,
		Text: cutText(it.Text, previewText), Title: cutText(it.Title, 256),
	}
	for i, e := range it.Entries {
		if i == 8 {
			break
		}
		out.Entries = append(out.Entries, agent.PlanEntry{Text: cutText(e.Text, 256), Status: e.Status})
	}
	return out
}

// cutText is at most n bytes of s, at a character's end.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
