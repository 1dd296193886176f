package chats

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a manager on a real store with an agent that does what the test says.
type stage struct {
	*testing.T
	m     *Manager
	st    *store.Store
	dir   string
	log   *record
	agent *actor
	slept atomic.Int64 // of the machine, nanoseconds
}

var person = Caller{By: "window", Where: "a test"}

// testing is what stage needs of *testing.T and *rapid.T.
func newStage(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	s := &stage{T: t, dir: t.TempDir(), log: newRecord(), agent: newActor()}
	s.open(change...)
	t.Cleanup(func() { s.close() })
	return s
}

func (s *stage) open(change ...func(*Options)) {
	s.Helper()
	st, err := store.Open(filepath.Join(s.dir, "db"))
	if err != nil {
		s.Fatal(err)
	}
	s.st = st
	o := Options{
		Store: st, Harnesses: s.agent, Publisher: s.log,
		PrivateDir: func(id string) (string, error) {
			p := filepath.Join(s.dir, "private", id)
			return p, os.MkdirAll(p, 0o700)
		},
		MayAnswer: func(c Caller) error {
			if c.By == "agent" {
				return Fail(CodeNotAllowed, "Only a person may answer.")
			}
			return nil
		},
		StopBound: 30 * time.Second, IdleAfter: -1, Asleep: func() time.Duration { return time.Duration(s.slept.Load()) },
	}
	for _, f := range change {
		f(&o)
	}
	s.m = New(o)
	if _, err := s.m.Start(context.Background()); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) close() {
	if s.m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.m.Stop(ctx); err != nil {
		s.Error("the manager did not stop:", err)
	}
	if err := s.st.Close(); err != nil {
		s.Error(err)
	}
	s.m = nil
}

func (s *stage) chat() string {
	s.Helper()
	sum, err := s.m.Create(context.Background(), CreateRequest{ClientID: "create-" + s.Name(), Harness: "actor", Cwd: s.dir})
	if err != nil {
		s.Fatal(err)
	}
	return sum.ID
}

func (s *stage) send(id, client, text string, how ...string) Sent {
	s.Helper()
	r := SendRequest{ChatID: id, ClientID: client, Text: text}
	if len(how) > 0 {
		r.How = how[0]
	}
	sent, err := s.m.Send(context.Background(), r)
	if err != nil {
		s.Fatal("send:", err)
	}
	return sent
}

func (s *stage) get(id string) model.Chat {
	s.Helper()
	c, err := s.m.Get(context.Background(), id)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// ends waits for the end of a turn and returns it.
func (s *stage) ends(id string, n int64) agent.TurnEnd {
	s.Helper()
	ev := s.log.wait(s.T, fmt.Sprintf("the end of turn %d", n), func(e event) bool {
		t, ok := e.data.(TurnChanged)
		return ok && e.topic == topicChat+id && t.Turn == n && t.End != nil
	})
	return *ev.data.(TurnChanged).End
}

// idle waits until nothing is owed any more.
func (s *stage) settled(id string) {
	s.Helper()
	s.log.until(s.T, "the chat is idle", func() bool {
		sum, ok := s.m.Summary(id)
		return ok && sum.Turn == model.TurnIdle
	})
}

// event is one published event.
type event struct {
	topic, typ string
	data       any
}

// record keeps what was published and wakes who waits for it.
type record struct {
	mu   sync.Mutex
	cond *sync.Cond
	list []event
	hook func(event)
}

func newRecord() *record {
	r := &record{}
	r.cond = sync.NewCond(&r.mu)
	return r
}

func (r *record) Publish(topic, typ string, data any) {
	r.mu.Lock()
	r.list = append(r.list, event{topic, typ, data})
	hook := r.hook
	r.mu.Unlock()
	r.cond.Broadcast()
	if hook != nil {
		hook(event{topic, typ, data})
	}
}

func (r *record) all() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]event{}, r.list...)
}

func (r *record) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

func (r *record) watch(hook func(event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = hook
}

// wait returns the first event that matches.
func (r *record) wait(t *testing.T, what string, match func(event) bool) event {
	t.Helper()
	var found event
	i := 0
	r.until(t, what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for ; i < len(r.list); i++ {
			if match(r.list[i]) {
				found = r.list[i]
				return true
			}
		}
		return false
	})
	return found
}

// until waits for a condition that can only change with an event.
func (r *record) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	late := time.AfterFunc(20*time.Second, r.cond.Broadcast)
	defer late.Stop()
	start := time.Now()
	for {
		r.mu.Lock()
		n := len(r.list)
		r.mu.Unlock()
		if cond() {
			return
		}
		if time.Since(start) > 19*time.Second {
			t.Fatalf("waited in vain for %s", what)
		}
		r.mu.Lock()
		for len(r.list) == n && time.Since(start) <= 19*time.Second {
			r.cond.Wait()
		}
		r.mu.Unlock()
	}
}
