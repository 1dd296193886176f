package agent

import (
	"context"
	"slices"
	"sync"
)

// Operations are what a probe is doing now, in the words of a person ("reading
// the models"). A time-out names what was still running: what is not done when
// the probe's context ends stays in the list. All methods are safe for
// concurrent use.
type Operations struct {
	ctx     context.Context
	mu      sync.Mutex
	running []*string
}

// Running lists what was begun and is not done, oldest first.
func (o *Operations) Running() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]string, 0, len(o.running))
	for _, what := range o.running {
		list = append(list, *what)
	}
	return list
}

func (o *Operations) begin(what string) (done func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &what
	o.running = append(o.running, p)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.ctx.Err() != nil {
			return
		}
		o.running = slices.DeleteFunc(o.running, func(x *string) bool { return x == p })
	}
}

type operationsKey struct{}

// WithOperations makes what is done under the returned context known to o.
func WithOperations(ctx context.Context) (context.Context, *Operations) {
	o := &Operations{ctx: ctx}
	return context.WithValue(ctx, operationsKey{}, o), o
}

// Doing says that what is being done under ctx, until done is called.
func Doing(ctx context.Context, what string) (done func()) {
	if o, ok := ctx.Value(operationsKey{}).(*Operations); ok {
		return o.begin(what)
	}
	return func() {}
}
