package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted is an agent that counts how often it is asked.
type counted struct {
	mu    sync.Mutex
	looks int
	reads map[string]int // by folder
	// What it answers.
	avail    agent.Availability
	availErr error
	models   []agent.Model
	err      error
	// hold keeps a read until it is closed or the read is cancelled; deaf ones
	// do not mind being cancelled.
	hold    chan struct{}
	deaf    bool
	waiting chan struct{} // told when a read is held
}

func newCounted() *counted {
	return &counted{
		reads: map[string]int{}, avail: agent.Availability{Available: true, Version: "1"},
		models: []agent.Model{{ID: "https://models/one", Label: "One"}}, waiting: make(chan struct{}, 100),
	}
}

func (c *counted) harness() agent.Harness {
	return agent.Harness{Identity: agent.Identity{Harness: "counted", DisplayName: "Counted"}, Provider: c}
}

func (c *counted) Availability(context.Context) (agent.Availability, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	return c.avail, c.availErr
}

func (c *counted) Open(context.Context, agent.OpenRequest, agent.Events) (agent.ChatSession, error) {
	return nil, errors.New("a probe opens no chat of the host")
}

func (c *counted) Catalog(ctx context.Context, folder string) (agent.Catalog, error) {
	c.mu.Lock()
	c.reads[folder]++
	hold, deaf, models, err := c.hold, c.deaf, c.models, c.err
	c.mu.Unlock()
	if hold != nil {
		done := agent.Doing(ctx, "asking for the models")
		c.waiting <- struct{}{}
		if deaf {
			<-hold
		} else {
			select {
			case <-hold:
			case <-ctx.Done():
				return agent.Catalog{}, ctx.Err()
			}
		}
		done()
	}
	return agent.Catalog{Models: models}, err
}

func (c *counted) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// want holds what was asked against what may be: looks, reads of the global
// scope, reads of folders.
func (c *counted) want(t *testing.T, looks int, reads map[string]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks != looks {
		t.Errorf("availability was asked %d times, not %d", c.looks, looks)
	}
	for folder, n := range reads {
		if c.reads[folder] != n {
			t.Errorf("%q was read %d times, not %d", folder, c.reads[folder], n)
		}
	}
	if len(c.reads) != len(reads) {
		t.Errorf("read were %v, not %v", c.reads, reads)
	}
}

func service(t *testing.T, o Options) *Service {
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, s *Service, h agent.Harness, folder string) Entry {
	t.Helper()
	e, err := s.Get(t.Context(), h, folder)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestColdReadProbesAndWarmNever(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	for range 5 {
		if e := get(t, s, c.harness(), ""); e.State != Ready || len(e.Catalog.Models) != 1 {
			t.Fatalf("%+v", e)
		}
	}
	c.want(t, 1, map[string]int{"": 1})
}

func TestNoAgeMakesAWarmScopeCold(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, s := newCounted(), service(t, Options{Now: func() time.Time { return now }})
	get(t, s, c.harness(), "")
	now = now.AddDate(10, 0, 0)
	get(t, s, c.harness(), "")
	c.want(t, 1, map[string]int{"": 1})
}

func TestFoldersAndTheGlobalScopeAreApart(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	one, two := folder(t), folder(t)
	link := filepath.Join(folder(t), "link")
	if err := os.Symlink(one, link); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"", one, two, one + "/", link, filepath.Join(one, "..", filepath.Base(one))} {
		get(t, s, c.harness(), f)
	}
	c.want(t, 3, map[string]int{"": 1, one: 1, two: 1})
}

func TestManyReadersShareOneProbe(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	c.hold = make(chan struct{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if e, err := s.Get(t.Context(), c.harness(), ""); err != nil || e.State != Ready {
				t.Error(e, err)
			}
		})
	}
	<-c.waiting
	close(c.hold)
	wg.Wait()
	c.want(t, 1, map[string]int{"": 1})
}

func TestAReaderWhoLeavesDoesNotEndTheProbe(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	c.hold = make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-c.waiting; leave() }()
	if _, err := s.Get(ctx, c.harness(), ""); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(c.hold)
	if e := get(t, s, c.harness(), ""); e.State != Ready {
		t.Fatalf("%+v", e)
	}
	c.want(t, 1, map[string]int{"": 1})
}

func TestErrorsStayUntilARefresh(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	c.err = errors.New("the agent is confused")
	for range 3 {
		if e := get(t, s, c.harness(), ""); e.State != Failed || !strings.Contains(e.Err.Error(), "confused") {
			t.Fatalf("%+v", e)
		}
	}
	c.want(t, 1, map[string]int{"": 1})
	c.set(func() { c.err = nil })
	if err := s.Refresh(t.Context(), []agent.Harness{c.harness()}); err != nil {
		t.Fatal(err)
	}
	if e := get(t, s, c.harness(), ""); e.State != Ready {
		t.Fatalf("%+v", e)
	}
	c.want(t, 2, map[string]int{"": 2})
}

func TestAnAgentThatCannotRunIsNotReadAndStaysSo(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	c.avail = agent.Availability{Reason: agent.ReasonNotInstalled}
	for range 3 {
		if e := get(t, s, c.harness(), ""); e.State != Unavailable || e.Availability.Reason != agent.ReasonNotInstalled {
			t.Fatalf("%+v", e)
		}
	}
	c.want(t, 1, map[string]int{})
	c.set(func() { c.avail, c.availErr = agent.Availability{}, errors.New("it does not answer") })
	if err := s.Refresh(t.Context(), []agent.Harness{c.harness()}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if e := get(t, s, c.harness(), ""); e.State != Failed || e.Availability != nil {
			t.Fatalf("%+v", e)
		}
	}
	c.want(t, 2, map[string]int{})
}

func TestRefreshForgetsEveryScopeAndAsksOnlyTheGlobalOne(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	one, two := folder(t), folder(t)
	for _, f := range []string{"", one, two} {
		get(t, s, c.harness(), f)
	}
	if err := s.Refresh(t.Context(), []agent.Harness{c.harness()}); err != nil {
		t.Fatal(err)
	}
	c.want(t, 4, map[string]int{"": 2, one: 1, two: 1})
	get(t, s, c.harness(), one) // at its next read, and only it
	get(t, s, c.harness(), one)
	c.want(t, 5, map[string]int{"": 2, one: 2, two: 1})
}

func TestRefreshLeavesOtherAgentsAlone(t *testing.T) {
	c, d, s := newCounted(), newCounted(), service(t, Options{})
	other := d.harness()
	other.Identity.Harness = "other"
	get(t, s, c.harness(), "")
	get(t, s, other, "")
	if err := s.Refresh(t.Context(), []agent.Harness{other}); err != nil {
		t.Fatal(err)
	}
	c.want(t, 1, map[string]int{"": 1})
	d.want(t, 2, map[string]int{"": 2})
}

func TestRefreshTakesOverWhoWaitsForAnOldProbe(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	c.hold = make(chan struct{})
	got := make(chan Entry, 1)
	go func() {
		e, err := s.Get(t.Context(), c.harness(), "")
		if err != nil {
			t.Error(err)
		}
		got <- e
	}()
	<-c.waiting
	c.set(func() { c.hold, c.models = nil, []agent.Model{{ID: "new"}} })
	if err := s.Refresh(t.Context(), []agent.Harness{c.harness()}); err != nil {
		t.Fatal(err)
	}
	if e := <-got; e.State != Ready || e.Catalog.Models[0].ID != "new" {
		t.Fatalf("who waited for the old probe got %+v", e)
	}
	c.want(t, 2, map[string]int{"": 2})
}

func TestOneDeadlineNamesWhatWasStillRunning(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		c := newCounted()
		c.hold, c.deaf = make(chan struct{}), deaf
		s := service(t, Options{Bound: 50 * time.Millisecond, Grace: time.Millisecond})
		e := get(t, s, c.harness(), "")
		var late *TimeoutError
		if e.State != Failed || !errors.As(e.Err, &late) {
			t.Fatalf("%+v", e)
		}
		if want := []string{"reading what it offers", "asking for the models"}; !slices.Equal(late.Running, want) {
			t.Errorf("still running: %q, not %q", late.Running, want)
		}
		get(t, s, c.harness(), "") // the time-out is kept as well
		c.want(t, 1, map[string]int{"": 1})
		close(c.hold)
	}
}

func TestCloseEndsAProbe(t *testing.T) {
	c, s := newCounted(), New(Options{})
	c.hold = make(chan struct{})
	got := make(chan Entry, 1)
	go func() {
		e, _ := s.Get(t.Context(), c.harness(), "")
		got <- e
	}()
	<-c.waiting
	s.Close()
	if e := <-got; e.State == Ready {
		t.Fatalf("%+v", e)
	}
	if _, err := s.Get(t.Context(), c.harness(), "/elsewhere"); err == nil {
		t.Fatal("a closed service asked")
	}
	c.want(t, 1, map[string]int{"": 1})
}

func TestTheHashIsOfTheContent(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	refreshed := func() string {
		if err := s.Refresh(t.Context(), []agent.Harness{c.harness()}); err != nil {
			t.Fatal(err)
		}
		return get(t, s, c.harness(), "").Catalog.Hash
	}
	one, same := refreshed(), refreshed()
	c.set(func() { c.models = []agent.Model{{ID: "two"}} })
	other := refreshed()
	if one == "" || one != same || one == other {
		t.Errorf("hashes %q, %q, %q", one, same, other)
	}
}

func TestWhatIsKnownAsksNobody(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	if _, ok := s.Known("counted", ""); ok {
		t.Fatal("something is known of an agent nobody asked")
	}
	c.want(t, 0, map[string]int{})
	get(t, s, c.harness(), "")
	if e, ok := s.Known("counted", ""); !ok || e.State != Ready {
		t.Fatal(e, ok)
	}
	c.want(t, 1, map[string]int{"": 1})
}

func TestTheScopesAreBounded(t *testing.T) {
	c, s := newCounted(), service(t, Options{})
	get(t, s, c.harness(), "")
	for i := range limitScopes + 20 {
		get(t, s, c.harness(), filepath.Join("/nowhere", strings.Repeat("x", i+1)))
		get(t, s, c.harness(), "") // what is read stays
	}
	s.mu.Lock()
	n := len(s.loads)
	s.mu.Unlock()
	if n > limitScopes || c.reads[""] != 1 {
		t.Errorf("%d scopes are remembered; the global one was read %d times", n, c.reads[""])
	}
}
