package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorder is a desktop that remembers what it shows.
type recorder struct {
	shows int
	now   map[string]Note
	badge int
	err   error
}

func (r *recorder) Badge(_ context.Context, n int) error {
	r.badge = n
	return nil
}

func (r *recorder) Show(_ context.Context, key string, n Note) error {
	if r.now == nil {
		r.now = map[string]Note{}
	}
	r.now[key] = n
	r.shows++
	return r.err
}

func (r *recorder) Close(_ context.Context, key string) error {
	delete(r.now, key)
	return nil
}

var all = Settings{Enabled: true, Waiting: true, Finished: true, Failed: true}

// desk runs do in a bubble with a center that has learned.
func desk(t *testing.T, s Settings, do func(*Center, *recorder, func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		var failed []error
		c := New(r, s, func(err error) { failed = append(failed, err) })
		defer c.Close()
		c.Learned()
		do(c, r, func() { time.Sleep(2 * gather); synctest.Wait() })
		if r.err != nil && len(failed) == 0 {
			t.Error("what failed was not told")
		}
	})
}

func waits(id, request string) Subject {
	return Subject{ID: id, Kind: Waiting, Request: request, Agent: "Claude Code", Project: "payments-api", Title: "Fix the upload", Detail: "go test"}
}

// Case N01: one note per request, taken back when settled, twenty at once are
// one, no words of a conversation unless allowed.
func TestCaseN01_NeedsAttentionNobodyTold(t *testing.T) {
	desk(t, all, func(c *Center, r *recorder, settle func()) {
		for i := range 20 {
			c.Set(waits(fmt.Sprintf("session:x/%d", i), "1"))
			time.Sleep(50 * time.Millisecond)
		}
		settle()
		if len(r.now) != 1 || r.now[many].Title != "20 agents: 20 wait for you" || r.now[many].Open != NeedsYou {
			t.Fatalf("twenty at once: %+v", r.now)
		}
		if r.badge != 20 {
			t.Errorf("the badge says %d", r.badge)
		}
		if r.shows > 10 {
			t.Errorf("%d notes were sent for twenty requests within a second", r.shows)
		}
		for i := range 5 {
			s := waits(fmt.Sprintf("session:x/%d", i), "")
			s.Kind = None
			c.Set(s)
		}
		settle()
		if r.now[many].Title != "15 agents: 15 wait for you" || r.badge != 15 {
			t.Errorf("five were answered: %+v, badge %d", r.now, r.badge)
		}
		for i := 5; i < 19; i++ {
			c.Remove(fmt.Sprintf("session:x/%d", i))
		}
		settle()
		want := map[string]Note{"session:x/19": {Title: "Claude Code waits for you", Body: "payments-api", Open: "session:x/19", Urgent: true}}
		if d := cmp.Diff(want, r.now); d != "" {
			t.Error(d)
		}
	})
}

func TestOneNotePerRequest(t *testing.T) {
	desk(t, all, func(c *Center, r *recorder, settle func()) {
		c.Set(waits("chat:1", "a"))
		settle()
		same := waits("chat:1", "a")
		same.Title = "A better title" // not shown, nothing to send again
		c.Set(same)
		settle()
		if r.shows != 1 {
			t.Errorf("%d notes for one request", r.shows)
		}
		done := same
		done.Kind, done.Request = Finished, ""
		c.Set(done)
		settle()
		if got := r.now["chat:1"]; got.Title != "Claude Code is done" || got.Urgent {
			t.Errorf("%+v", got)
		}
	})
}

func TestWhatAPersonSeesIsNotTold(t *testing.T) {
	desk(t, all, func(c *Center, r *recorder, settle func()) {
		c.Looks("w1", true, "chat:1")
		c.Looks("w2", false, "chat:2")
		c.Set(waits("chat:1", "a"))
		c.Set(waits("chat:2", "a"))
		settle()
		if got := slices.Collect(maps.Keys(r.now)); !slices.Equal(got, []string{"chat:2"}) {
			t.Fatalf("shown: %v", got)
		}
		// Looking at it takes it back; looking away brings nothing new.
		c.Looks("w1", true, "chat:2")
		settle()
		c.Looks("w1", false, "chat:2")
		settle()
		if len(r.now) != 0 {
			t.Errorf("shown: %v", r.now)
		}
		// A window that is gone sees nothing.
		c.Looks("w1", true, "chat:1")
		c.Left("w1")
		c.Set(waits("chat:1", "b"))
		settle()
		if len(r.now) != 1 {
			t.Errorf("shown: %v", r.now)
		}
	})
}

func TestWhatWasSoAtTheStartIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		c := New(r, all, func(error) {})
		c.Set(waits("chat:1", "a"))
		c.Learned()
		c.Set(waits("chat:1", "a"))
		time.Sleep(2 * gather)
		synctest.Wait()
		if r.shows != 0 {
			t.Error("told again what waited before the host began")
		}
		c.Set(waits("chat:2", "a"))
		time.Sleep(2 * gather)
		synctest.Wait()
		c.Close()
		if r.shows != 1 || len(r.now) != 0 || r.badge != 0 {
			t.Errorf("the end leaves %v", r.now)
		}
	})
}

func TestSettings(t *testing.T) {
	quiet := all
	quiet.Waiting = false
	desk(t, quiet, func(c *Center, r *recorder, settle func()) {
		c.Set(waits("chat:1", "a"))
		settle()
		if len(r.now) != 0 {
			t.Error("told though switched off")
		}
		words := all
		words.Text, words.Sound = true, true
		c.Configure(words)
		settle()
		if got := r.now["chat:1"]; got.Body != "Fix the upload\ngo test" || !got.Sound {
			t.Errorf("%+v", got)
		}
		c.Configure(Settings{})
		settle()
		if len(r.now) != 0 {
			t.Error("shown though all is off")
		}
	})
}

func TestADesktopThatFails(t *testing.T) {
	desk(t, all, func(c *Center, r *recorder, settle func()) {
		r.err = errors.New("no service")
		c.Set(waits("chat:1", "a"))
		settle()
	})
}

// Case X03: names of sessions are data.
func TestTextIsPlain(t *testing.T) {
	got := all.single(Subject{ID: "x", Kind: Waiting, Agent: "A", Project: "a\x1b]0;t\x07\n\u202eevil\u2066 b"})
	if got.Body != "a]0;t evil b" {
		t.Errorf("%q", got.Body)
	}
}
