package chats

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// view rebuilds rows from events, as a window does.
type view struct {
	t      *testing.T
	rows   map[string]*model.Row
	events int
}

func (v *view) see(e event) {
	switch d := e.data.(type) {
	case model.Row:
		v.events++
		row := d
		v.rows[d.ID] = &row
	case Appended:
		v.events++
		r := v.rows[d.ID]
		if r == nil {
			v.t.Errorf("an append to %s before its row", d.ID)
			return
		}
		f := &r.Text
		if r.Type == agent.ItemTool {
			f = &r.Output
		}
		if len(*f) != d.At {
			v.t.Errorf("append to %s at %d, the window has %d bytes", d.ID, d.At, len(*f))
		}
		*f += d.Text
	}
}

// S05 and the figure of the window: 100,000 deltas in order, none lost, few
// events.
func TestCaseS05_DeltasArriveWholeAndInOrder(t *testing.T) {
	const n = 100_000
	s := newStage(t)
	id, sc := s.running()
	v := &view{t: t, rows: map[string]*model.Row{}}
	s.log.watch(func(e event) {
		if e.topic == topicChat+id {
			v.see(e)
		}
	})
	size, row := 0, "t0"
	sc.say(row, "", false)
	for i := range n {
		d := fmt.Sprintf("%d,", i)
		if size += len(d); size > 60_000 { // each row stays below what is shown whole
			size, row = len(d), fmt.Sprintf("t%d", i)
			sc.say(row, "", false)
		}
		sc.Append(row, d)
	}
	sc.done()
	s.ends(id, 1)
	s.log.watch(nil)
	rows, err := s.st.After(ctx, id, 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, r := range rows[1:] {
		all.WriteString(r.Text)
		if v.rows[r.ID].Text != r.Text {
			t.Errorf("the window's %s differs from the stored row", r.ID)
		}
	}
	got := strings.Split(strings.TrimSuffix(all.String(), ","), ",")
	if len(got) != n {
		t.Fatalf("%d deltas of %d", len(got), n)
	}
	for i, g := range got {
		if g != fmt.Sprint(i) {
			t.Fatalf("delta %d is %q", i, g)
		}
	}
	if v.events > n/20 {
		t.Errorf("%d events for %d deltas", v.events, n)
	}
}

// The first delta is shown at once; then at most one event in a frame.
func TestFirstDeltaAtOnceThenOnePerFrame(t *testing.T) {
	s := newStage(t, func(o *Options) { o.Frame = time.Hour })
	id, sc := s.running()
	sc.say("t1", "first", false)
	s.log.wait(t, "the first delta", func(e event) bool { r, ok := e.data.(model.Row); return ok && r.Text == "first" })
	for range 100 {
		sc.Append("t1", "x")
	}
	count := func() (n int) {
		for _, e := range s.log.all() {
			if e.typ == eventAppend {
				n++
			}
		}
		return n
	}
	_ = s.m.with(ctx, id, func(*chat) error { return nil })
	if n := count(); n != 0 {
		t.Errorf("%d events inside one frame", n)
	}
	sc.done()
	s.ends(id, 1)
	// The end brings everything, whatever the frame.
	if got := s.get(id).Items[1].Text; got != "first"+strings.Repeat("x", 100) {
		t.Fatal(got)
	}
}

// S01: characters cut between appends reach the window whole.
func TestCaseS01_CharactersCutBetweenAppends(t *testing.T) {
	const text = "привет 👩‍👩‍👧 ─│ end"
	s := newStage(t, func(o *Options) { o.Frame = time.Nanosecond })
	id, sc := s.running()
	v := &view{t: t, rows: map[string]*model.Row{}}
	s.log.watch(func(e event) {
		if a, ok := e.data.(Appended); ok && strings.ContainsRune(a.Text, '\uFFFD') {
			t.Errorf("a broken character in %q", a.Text)
		}
		if e.topic == topicChat+id {
			v.see(e)
		}
	})
	sc.Item(agent.Item{ID: "x1", Type: agent.ItemTool, CallID: "x1", Name: "Bash", Tool: agent.ToolExecute, State: agent.StateRunning})
	for i := range len(text) {
		sc.Append("x1", text[i:i+1])
	}
	sc.done()
	s.ends(id, 1)
	s.log.watch(nil)
	if v.rows["x1"].Output != text {
		t.Fatalf("%q", v.rows["x1"].Output)
	}
}

// A provider that repeats whole snapshots costs the window appends only.
func TestSnapshotsBecomeAppends(t *testing.T) {
	s := newStage(t, func(o *Options) { o.Frame = time.Nanosecond })
	id, sc := s.running()
	text := ""
	for i := range 50 {
		text += fmt.Sprintf("%d ", i)
		sc.say("t1", text, false)
	}
	sc.say("t1", "rewritten", false)
	sc.done()
	s.ends(id, 1)
	rows, appends := 0, 0
	for _, e := range s.log.all() {
		switch d := e.data.(type) {
		case model.Row:
			if d.ID == "t1" {
				rows++
			}
		case Appended:
			appends++
		}
	}
	if rows > 3 || appends < 40 {
		t.Errorf("%d rows, %d appends", rows, appends)
	}
	if got := s.get(id).Items[1].Text; got != "rewritten" {
		t.Fatal(got)
	}
}

// Streaming rows are stored while they stream, so that little is lost.
func TestStreamingRowsAreStoredProvisionally(t *testing.T) {
	s := newStage(t, func(o *Options) { o.SaveEvery = time.Hour })
	id, sc := s.running()
	sc.say("t1", "half", false)
	_ = s.m.with(ctx, id, func(c *chat) error {
		if c.due[dlSave].IsZero() {
			t.Error("nothing will store it")
		}
		c.due[dlSave] = c.now() // an hour has passed
		c.fire()
		return nil
	})
	if err := s.st.Do(ctx, func(*store.Tx) error { return nil }); err != nil { // behind what was sent to the writer
		t.Fatal(err)
	}
	if row, err := s.st.Row(ctx, id, "t1"); err != nil || !row.Provisional || row.Text != "half" {
		t.Fatal(row, err)
	}
	sc.done()
	s.ends(id, 1)
	if row, err := s.st.Row(ctx, id, "t1"); err != nil || row.Provisional {
		t.Fatal(row, err)
	}
}

// A snapshot taken at any moment holds what was published before it, and what is
// published after it fits to it.
func TestASnapshotFitsToTheEventsAfterIt(t *testing.T) {
	s := newStage(t, func(o *Options) { o.Frame = time.Nanosecond })
	id, sc := s.running()
	go func() {
		for i := range 400 {
			if i%40 == 0 {
				sc.say(fmt.Sprint("t", i/40), "", false)
			}
			sc.Append(fmt.Sprint("t", i/40), "word ")
		}
		sc.done()
	}()
	for range 30 {
		v := &view{t: t, rows: map[string]*model.Row{}}
		var mu sync.Mutex
		marked := false
		// The events after the mark wait until the snapshot's rows are in place,
		// as the hub holds them.
		var held []event
		s.log.watch(func(e event) {
			mu.Lock()
			defer mu.Unlock()
			if marked && e.topic == topicChat+id {
				held = append(held, e)
			}
		})
		c, err := s.m.Get(ctx, id, func() {
			mu.Lock()
			defer mu.Unlock()
			marked = true
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Items {
			v.rows[r.ID] = &r
		}
		if _, err := s.m.Get(ctx, id); err != nil { // lets some events pass
			t.Fatal(err)
		}
		s.log.watch(nil)
		mu.Lock()
		for _, e := range held {
			v.see(e)
		}
		mu.Unlock()
	}
	s.ends(id, 1)
}

func BenchmarkAppend(b *testing.B) {
	c := &chat{m: &Manager{o: Options{Publisher: discard{}}}, topic: "chat:x"}
	c.m.o.defaults()
	c.timer = time.NewTimer(time.Hour)
	c.tl.lines = map[string]*line{"t": {row: model.Row{Item: agent.Item{ID: "t", Type: agent.ItemText}, Provisional: true}}}
	c.turn = turn{open: true, accepted: true}
	c.due[dlSave] = time.Now().Add(time.Hour)
	c.mail = make(chan msg, mailSize)
	c.done = make(chan struct{})
	l := &link{}
	c.live = l
	var wg sync.WaitGroup
	wg.Go(func() {
		for range b.N {
			c.handle(<-c.mail)
		}
	})
	f := &feed{c: c, l: l}
	for range b.N {
		f.Append("t", "abc")
	}
	wg.Wait()
}

type discard struct{}

func (discard) Publish(string, string, any) {}
