package notify

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Kind is why an agent wants a person. None means that it does not.
type Kind string

const (
	None     Kind = ""
	Waiting  Kind = "waiting"
	Failed   Kind = "failed"
	Finished Kind = "finished"
)

// Subject is one agent and what it wants. ID is also what a click opens:
// chat:<id> or session:<harness>/<id>.
type Subject struct {
	ID   string
	Kind Kind
	// Request tells two requests of one agent apart; the same one is told once.
	Request string
	// Agent is the harness's label, Project the folder's name. Title and Detail
	// are words of the conversation and shown only where settings allow it.
	Agent, Project, Title, Detail string
}

// Settings are what the person chose.
type Settings struct {
	Enabled, Waiting, Finished, Failed bool
	// Text allows words of conversations, commands and paths.
	Text bool
	// Sound lets the desktop play its sound.
	Sound bool
}

func (s Settings) wants(k Kind) bool {
	return s.Enabled && (k == Waiting && s.Waiting || k == Finished && s.Finished || k == Failed && s.Failed)
}

// Note is a notification as a person sees it: plain text, no markup.
type Note struct {
	Title, Body string
	// Open is what a click shows.
	Open   string
	Urgent bool
	Sound  bool
}

// Desktop shows notes. A key has one note: showing it again replaces the text
// in place. Its methods are called from one goroutine.
type Desktop interface {
	Show(ctx context.Context, key string, n Note) error
	Close(ctx context.Context, key string) error
	// Badge puts a number on the app's launcher, 0 for none.
	Badge(ctx context.Context, n int) error
}

// NeedsYou is the Open of a note that stands for several agents.
const NeedsYou = "needs-you"

// many is the key of that note; mostSingle is how many stand alone.
const (
	many       = "many"
	mostSingle = 3
)

// gather is how long changes collect before they are shown: twenty agents that
// start to wait together become one note. callLimit bounds a call to a desktop
// that hangs.
const (
	gather    = 300 * time.Millisecond
	callLimit = 5 * time.Second
)

// Center decides what is shown. It is safe for use by many goroutines.
type Center struct {
	desktop Desktop
	failed  func(error)

	mu       sync.Mutex
	settings Settings
	learned  bool
	subjects map[string]*entry
	windows  map[any]look
	order    int64

	wake   chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	// Owned by the goroutine of run: what is shown, and the badge's number.
	shown map[string]Note
	badge int
}

type entry struct {
	Subject
	// pending: the request was not seen by the person yet and belongs on the
	// desktop. order keeps the oldest first.
	pending bool
	order   int64
}

// look is what a window shows; focused when the person has it in front.
type look struct {
	focused bool
	at      string
}

// New calls failed with what the desktop could not do, from its own goroutine.
// Close ends the center.
func New(d Desktop, s Settings, failed func(error)) *Center {
	c := &Center{desktop: d, failed: failed, settings: s, subjects: map[string]*entry{}, windows: map[any]look{},
		wake: make(chan struct{}, 1), done: make(chan struct{}), shown: map[string]Note{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	go c.run()
	return c
}

// Set says how an agent stands. Before Learned nothing is told: it was so when
// the host began.
func (c *Center) Set(s Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.subjects[s.ID]
	if old != nil && old.Subject == s {
		return
	}
	e := &entry{Subject: s}
	if old != nil {
		e.pending, e.order = old.pending, old.order
	}
	switch {
	case s.Kind == None:
		e.pending = false
	case old == nil || old.Kind != s.Kind || old.Request != s.Request:
		e.pending = c.learned && !c.seen(s.ID)
		c.order++
		e.order = c.order
	}
	c.subjects[s.ID] = e
	c.changed()
}

// Remove forgets an agent and takes its note back.
func (c *Center) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.subjects[id]; ok {
		delete(c.subjects, id)
		c.changed()
	}
}

// Learned ends the first look.
func (c *Center) Learned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learned = true
}

// Configure takes new settings; what they no longer allow goes.
func (c *Center) Configure(s Settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settings != s {
		c.settings = s
		c.changed()
	}
}

// Looks says what a window shows, and whether it is in front.
func (c *Center) Looks(window any, focused bool, at string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.windows[window] = look{focused, at}
	if focused {
		if e := c.subjects[at]; e != nil && e.pending {
			e.pending = false
			c.changed()
		}
	}
}

// Left forgets a window.
func (c *Center) Left(window any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.windows, window)
}

// Close takes every note back and ends.
func (c *Center) Close() {
	c.cancel()
	<-c.done
}

// seen reports whether a window in front shows it. c.mu is held.
func (c *Center) seen(id string) bool {
	for _, w := range c.windows {
		if w.focused && w.at == id {
			return true
		}
	}
	return false
}

// changed has the desktop brought up to date soon. c.mu is held.
func (c *Center) changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Center) run() {
	defer close(c.done)
	defer c.takeBack()
	for {
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return
		}
		together := time.NewTimer(gather)
		select {
		case <-together.C:
		case <-c.ctx.Done():
			together.Stop()
			return
		}
		c.mu.Lock()
		wanted, needing := c.wanted(), c.needing()
		c.mu.Unlock()
		c.bring(wanted, needing)
	}
}

// takeBack closes what is shown when the center ends.
func (c *Center) takeBack() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for key := range c.shown {
		_ = c.desktop.Close(ctx, key)
	}
	if c.badge != 0 {
		_ = c.desktop.Badge(ctx, 0)
	}
}

// bring makes the desktop show exactly what is wanted.
func (c *Center) bring(wanted map[string]Note, needing int) {
	call := func(do func(context.Context) error) {
		ctx, cancel := context.WithTimeout(c.ctx, callLimit)
		defer cancel()
		if err := do(ctx); err != nil && c.ctx.Err() == nil {
			c.failed(err)
		}
	}
	for key := range c.shown {
		if _, ok := wanted[key]; !ok {
			delete(c.shown, key)
			call(func(ctx context.Context) error { return c.desktop.Close(ctx, key) })
		}
	}
	for key, n := range wanted {
		if old, ok := c.shown[key]; ok && old == n {
			continue
		}
		c.shown[key] = n
		call(func(ctx context.Context) error { return c.desktop.Show(ctx, key, n) })
	}
	if c.badge != needing {
		c.badge = needing
		call(func(ctx context.Context) error { return c.desktop.Badge(ctx, needing) })
	}
}

// needing counts the agents that wait or failed, seen or not: the number of the
// window's title. c.mu is held.
func (c *Center) needing() int {
	n := 0
	for _, e := range c.subjects {
		if c.settings.Enabled && (e.Kind == Waiting || e.Kind == Failed) {
			n++
		}
	}
	return n
}

// wanted lists what belongs on the desktop now. c.mu is held.
func (c *Center) wanted() map[string]Note {
	var list []*entry
	for _, e := range c.subjects {
		if e.pending && c.settings.wants(e.Kind) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.order, b.order) })
	out := map[string]Note{}
	if len(list) > mostSingle {
		out[many] = c.settings.together(list)
		return out
	}
	for _, e := range list {
		out[e.ID] = c.settings.single(e.Subject)
	}
	return out
}
