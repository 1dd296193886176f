package rehearsal

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// Mirror implements [agent.Handover]: the rows of a session file, and who acts
// in it by the registry.
func (k *handover) Mirror(ctx context.Context, h agent.Handle, from agent.Position, sink agent.Sink) error {
	home, err := k.locate(h)
	if err != nil {
		return err
	}
	m := &mirror{
		kit: k.kit, home: home, session: h.NativeID, from: from, sink: sink,
		path: home.Transcript(h.NativeID), nudge: make(chan struct{}, 1), exits: map[int]func(){},
	}
	return m.run(ctx)
}

type mirror struct {
	*kit
	home    wire.Home
	session string
	path    string
	from    agent.Position
	sink    agent.Sink
	nudge   chan struct{} // a holder has ended
	exits   map[int]func()

	tail    *agentkit.Tail
	all     []wire.Record
	ends    []int64 // offset behind each record
	known   map[string]bool
	skipped int
	begun   bool // the first read was published
	open    []agent.Item
	told    agent.MirrorState
	spoke   bool
}

func (m *mirror) run(ctx context.Context) error {
	m.tail = agentkit.NewTail(m.path, agentkit.TailState{})
	defer m.tail.Close()
	files := m.Watcher.Watch(m.home.Transcripts())
	defer files.Close()
	live := m.Watcher.Watch(m.home.Sessions())
	defer live.Close()
	defer func() {
		for _, stop := range m.exits {
			stop()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-files.Wake():
			paths, rescan := files.Take()
			if !rescan && !slices.Contains(paths, m.path) {
				continue
			}
			if err := m.read(); err != nil {
				return err
			}
		case <-live.Wake():
			live.Take()
		case <-m.nudge:
		}
		// What a writer wrote last stands before its exit, so that a look at
		// the holders is followed by a read before rows are closed for them.
		if err := m.state(); err != nil {
			return err
		}
	}
}

// read publishes what the file has got.
func (m *mirror) read() error {
	var fresh []wire.Record
	var ends []int64
	restarted, err := m.tail.Read(func(l agentkit.Line) {
		rec, ok := wire.ParseRecord(l.Data)
		if !ok {
			m.skipped++
			return
		}
		fresh, ends = append(fresh, rec), append(ends, l.End)
	})
	if err != nil {
		return err
	}
	if restarted || m.known == nil {
		m.all, m.ends, m.known, m.open, m.begun = nil, nil, map[string]bool{}, nil, false
	}
	first := len(m.all)
	for i, r := range fresh {
		if !m.known[r.ID] {
			m.known[r.ID] = true
			m.all, m.ends = append(m.all, r), append(m.ends, ends[i])
		}
	}
	if !m.begun {
		m.begun = true
		thread, _ := wire.Thread(m.all)
		skip := m.skip(thread)
		for _, r := range thread[:skip] {
			m.track(r) // what the host has open may end without another record
		}
		for _, r := range thread[skip:] {
			m.publish(r)
		}
		return nil
	}
	for _, r := range m.all[first:] {
		m.publish(r)
	}
	return nil
}

// skip counts the records of the thread that the host has already.
func (m *mirror) skip(thread []wire.Record) int {
	if m.from.RecordID != "" {
		return 1 + slices.IndexFunc(thread, func(r wire.Record) bool { return r.ID == m.from.RecordID })
	}
	n := 0
	for i, r := range m.all {
		if m.ends[i] <= m.from.Offset && n < len(thread) && thread[n].ID == r.ID {
			n++
		}
	}
	return n
}

func (m *mirror) publish(r wire.Record) {
	if it, ok := m.track(r); ok {
		m.sink.Item(it)
	}
}

// track turns a record into a row and remembers the open ones.
func (m *mirror) track(r wire.Record) (agent.Item, bool) {
	if r.Block == nil || r.Block.ID == "" {
		return agent.Item{}, false
	}
	it := row(*r.Block)
	m.open = slices.DeleteFunc(m.open, func(o agent.Item) bool { return o.ID == it.ID })
	if it.Open() {
		m.open = append(m.open, it)
	}
	return it, true
}

// state reports who acts, and closes what a killed writer left open.
func (m *mirror) state() error {
	who, err := holders(m.home, m.session)
	if err != nil {
		m.Logger().Warn("rehearsal: a live registry entry cannot be read", "error", plain(err))
	}
	m.watchExits(who)
	// Whichever wake came first: who has not read is not caught up.
	if !m.begun || len(who) == 0 {
		if err := m.read(); err != nil {
			return err
		}
	}
	if len(who) == 0 {
		for _, it := range slices.Backward(m.open) {
			it.CloseAt(agent.StateFailed, time.UnixMilli(m.all[len(m.all)-1].At))
			m.sink.Item(it)
		}
		m.open = nil
	}
	st := agent.MirrorState{Status: agent.StatusIdle, SkippedLines: m.skipped}
	thread, leaves := wire.Thread(m.all)
	for _, r := range thread {
		if r.Title != "" {
			st.Title = r.Title
		}
		if r.Settings != nil {
			st.Model, st.Mode = r.Settings.Model, r.Settings.Mode
		}
		if r.Usage != nil {
			u := usage(*r.Usage)
			st.Usage = &u
		}
	}
	if len(who) > 0 {
		s := snapshot(who[len(who)-1])
		st.Status, st.Model, st.Mode = s.Status, s.Model, s.Mode
	}
	for _, l := range leaves {
		if b, ok := branch(l); ok {
			st.Branches = append(st.Branches, b)
		}
	}
	if !m.spoke || !reflect.DeepEqual(st, m.told) {
		m.spoke, m.told = true, st
		m.sink.State(st)
	}
	at := agent.Position{Offset: m.tail.State().Offset}
	if len(thread) > 0 {
		at.RecordID = thread[len(thread)-1].ID
	}
	m.sink.CaughtUp(at)
	return nil
}

// watchExits wakes the mirror when a holder ends without a file event.
func (m *mirror) watchExits(who []claim) {
	now := map[int]func(){}
	for _, c := range who {
		stop := m.exits[c.id.Pid]
		if stop == nil {
			var err error
			stop, err = m.Exits.Watch(c.id, func() { m.wake() })
			if err != nil {
				m.wake() // it ended while we looked
				continue
			}
		}
		now[c.id.Pid] = stop
	}
	for pid, stop := range m.exits {
		if now[pid] == nil {
			stop()
		}
	}
	m.exits = now
}

func (m *mirror) wake() {
	select {
	case m.nudge <- struct{}{}:
	default:
	}
}

func branch(l wire.Leaf) (agent.Branch, bool) {
	b := agent.Branch{LeafID: l.ID}
	seen := map[string]bool{}
	for _, r := range l.Records {
		if r.Block == nil || seen[r.Block.ID] {
			continue
		}
		seen[r.Block.ID] = true
		b.Items++
		if b.Text == "" && r.Block.Text != "" {
			line, _, _ := strings.Cut(r.Block.Text, "\n")
			b.Text = cut(line, 80)
		}
	}
	return b, b.Items > 0
}
