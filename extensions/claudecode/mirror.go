package claudecode

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// Mirror follows a transcript that somebody else may be writing and gives out
// its rows, those of sub-agents included, until ctx ends. The rows of the
// branch that a resume would take are shown; others are told as branches. It
// only reads.
func (h *handover) Mirror(ctx context.Context, hd agent.Handle, from agent.Position, sink agent.Sink) error {
	if err := checkID(hd.NativeID); err != nil {
		return err
	}
	config := configDir(h.host, hd.Env)
	path, stored := transcriptPath(config, hd.NativeID, hd.Cwd)
	project := h.host.Watcher.Watch(filepath.Dir(path))
	defer project.Close()
	live := h.host.Watcher.Watch(sessionsDir(config))
	defer live.Close()
	m := &mirror{recs: newRecords(), host: h.host, config: config, handle: hd, sink: sink, path: path, after: from.RecordID, subs: map[string]*subTail{}, old: map[string]bool{}, presumed: map[string]bool{}, keep: cmp.Or(h.keep, keptBytes)}
	defer m.close()
	m.rows = newRows(m.item)
	subDir := subagentsDir(path)
	var subagents *agentkit.Watch
	defer func() {
		if subagents != nil {
			subagents.Close()
		}
	}()
	subWake := func() <-chan struct{} {
		if subagents == nil {
			return nil
		}
		return subagents.Wake()
	}
	for {
		if !stored {
			if m.path, stored = transcriptPath(config, hd.NativeID, hd.Cwd); !stored {
				m.path = path
				if of := forkOrigin(hd); of != "" { // until the copy is made
					m.path, _ = transcriptPath(config, of, hd.Cwd)
				}
			}
			if m.tail != nil && m.path != m.reading { // it was made now
				m.again()
			}
		}
		if err := m.read(); err != nil {
			return err
		}
		if subagents == nil && isDir(subDir) {
			subagents = h.host.Watcher.Watch(subDir)
		}
		select {
		case <-project.Wake():
			project.Take()
		case <-live.Wake():
			live.Take()
		case <-subWake():
			subagents.Take()
		case <-ctx.Done():
			return nil
		}
	}
}

// again reads another file from its beginning; the rows that were shown stay.
func (m *mirror) again() {
	m.close()
	m.tail, m.subs, m.begun, m.recs = nil, map[string]*subTail{}, false, newRecords()
	m.after = m.lastID
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// mirror is one run; one goroutine owns it.
type mirror struct {
	host   *agentkit.Host
	config string
	handle agent.Handle
	sink   agent.Sink
	path   string
	keep   int64
	// reading is the file that tail follows.
	reading string
	after   string // rows up to this record were shown before

	tail   *agentkit.Tail
	rows   *rows
	chain  *chain
	on     map[string]bool
	tip    string // the newest record of the path
	caught bool
	muted  bool
	lastID string
	recs   *agentkit.Records
	title  string
	ai     string
	mode   string
	model  string
	// modelBefore answered last before the place to continue from.
	modelBefore string
	told        agent.MirrorState
	toldPos     agent.Position
	begun       bool

	live     registry         // as it was before the file was read
	known    bool             // it could be read
	said     int64            // when the newest prompt of the path was said
	at       int64            // of the newest record of the path
	presumed map[string]bool  // calls shown as ended without an answer
	spent    map[string]usage // since the newest prompt, by message

	subs map[string]*subTail
	// old are the sub-agents that were done before the place to continue from.
	old map[string]bool
}

// subTail follows the transcript of one sub-agent.
type subTail struct {
	tail *agentkit.Tail
	recs *agentkit.Records
	id   string
}

func (m *mirror) close() {
	if m.tail != nil {
		_ = m.tail.Close()
	}
	for _, s := range m.subs {
		_ = s.tail.Close()
	}
}

func (m *mirror) item(it agent.Item) {
	if !m.muted {
		m.sink.Item(it)
	} else if it.Type == agent.ItemSubagent && !it.Open() {
		m.old[it.ID] = true
	}
}

// read gives out what is new and reports being caught up.
func (m *mirror) read() error {
	// Who holds the session is looked at before the file is read: what a process
	// wrote last stands there before its end.
	r, err := readRegistry(m.config)
	m.live, m.known = r, err == nil
	if m.tail == nil {
		if err := m.begin(); err != nil {
			return err
		}
	}
	if m.tail != nil {
		restarted, err := m.tail.Read(m.line)
		if err != nil {
			return err
		}
		if restarted {
			m.recs.Counts = agentkit.RecordCounts{}
		}
	}
	m.readSubagents()
	m.muted = false // the place to continue from is not in the file any more, or was passed
	m.closeDead()
	m.tell()
	return nil
}

// keptBytes bounds what of a file is held while its tree is read, in bytes of
// its lines. A file over it is read a second time for its rows.
const keptBytes = 48 << 20

// begin reads the tree of the whole file first, so that the rows of branches
// that a resume would not follow are never shown, and then gives out the rows.
func (m *mirror) begin() error {
	m.chain = newChain()
	if _, err := os.Lstat(m.path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var kept []record
	size, recs := int64(0), newRecords()
	found := m.after == ""
	tail := agentkit.NewTail(m.path, agentkit.TailState{})
	again, err := tail.Read(func(l agentkit.Line) {
		size += l.Size
		eachRecord(recs, l, func(r *record) {
			m.chain.add(r)
			found = found || r.UUID == m.after
			if size <= m.keep {
				kept = append(kept, *r)
			} else {
				kept = nil
			}
		})
	})
	if err != nil {
		_ = tail.Close()
		return err
	}
	m.on = m.chain.path()
	m.muted = m.after != "" && found
	m.reading = m.path
	if again || size > m.keep {
		if err := tail.Close(); err != nil {
			return err
		}
		m.tail = agentkit.NewTail(m.path, agentkit.TailState{})
		return nil
	}
	m.tail, m.recs = tail, recs
	for i := range kept {
		m.record(&kept[i])
		kept[i] = record{} // let it go
	}
	return nil
}

func (m *mirror) line(l agentkit.Line) { eachRecord(m.recs, l, m.record) }

// record takes the next record of the file.
func (m *mirror) record(r *record) {
	switch r.Type {
	case "custom-title":
		m.title = r.CustomTitle
	case "ai-title":
		m.ai = r.AITitle
	case "permission-mode":
		if !m.muted { // what was in force before is the host's to know
			m.mode = or(r.PermissionMode, m.mode)
		}
	}
	_, known := m.chain.parent[r.UUID]
	if m.begun || !known {
		m.chain.add(r)
	}
	if r.UUID == "" || r.IsSidechain {
		return
	}
	if m.begun && !m.on[r.UUID] {
		// New while we watch: it follows the path, or turns off from it. The
		// newest one is where the conversation is now.
		m.on = m.chain.extend(m.on, m.tip, r.UUID)
	}
	if !m.begun && !m.on[r.UUID] {
		return
	}
	m.tip = r.UUID
	m.at = max(m.at, r.at())
	if _, _, ok := r.prompt(); ok {
		m.said = max(m.said, r.at())
		m.spent = nil
		if !m.muted { // each prompt says the mode it was sent in
			m.mode = or(r.PermissionMode, m.mode)
		}
	}
	m.count(r)
	if r.Type == "assistant" && !r.synthetic() {
		m.spoke(r.Message.Model)
	}
	m.rows.add(r, -1)
	m.lastID = r.UUID
	if m.muted && r.UUID == m.after {
		m.muted = false
	}
}

// count adds up what the turn used. The records of one message repeat its usage,
// and only the last of them has all of it (case T10).
func (m *mirror) count(r *record) {
	if r.Type != "assistant" || r.synthetic() || r.Message.Usage == nil || r.Message.ID == "" {
		return
	}
	if m.spent == nil {
		m.spent = map[string]usage{}
	}
	m.spent[r.Message.ID] = *r.Message.Usage
}

// used is what the last turn used as far as the transcript tells.
func (m *mirror) used() *agent.Usage {
	if len(m.spent) == 0 {
		return nil
	}
	var u agent.Usage
	for _, one := range m.spent {
		u.Input += one.Input
		u.Output += one.Output
		u.CacheRead += one.CacheRead
		u.CacheWrite += one.CacheWrite
	}
	return &u
}

// spoke notes which model answered. Told is only one that is another than before
// the place to continue from: a chat's own choice may be a name for it.
func (m *mirror) spoke(model string) {
	switch {
	case m.muted:
		m.modelBefore = or(model, m.modelBefore)
	case model != "" && model != m.modelBefore:
		m.model, m.modelBefore = model, ""
	}
}

// readSubagents gives out the rows of sub-agents whose call is known.
func (m *mirror) readSubagents() {
	dir := subagentsDir(m.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok || !strings.HasPrefix(id, "agent-") {
			continue
		}
		s := m.subs[id]
		if s == nil {
			var meta subMeta
			if readJSON(filepath.Join(dir, id+".meta.json"), &meta) != nil || meta.ToolUseID == "" || m.old[meta.ToolUseID] {
				continue
			}
			m.rows.parents[strings.TrimPrefix(id, "agent-")] = meta.ToolUseID
			s = &subTail{tail: agentkit.NewTail(filepath.Join(dir, e.Name()), agentkit.TailState{}), recs: newRecords(), id: strings.TrimPrefix(id, "agent-")}
			m.subs[id] = s
		}
		_, err := s.tail.Read(func(l agentkit.Line) {
			eachRecord(s.recs, l, func(r *record) {
				if r.UUID != "" {
					r.AgentID = or(r.AgentID, s.id)
					m.rows.add(r, -1)
				}
			})
		})
		if err != nil {
			continue
		}
	}
}

// closeDead ends the rows that nothing will end any more: their process is gone,
// or a later prompt shows that their turn is over.
func (m *mirror) closeDead() {
	if m.known && len(m.live.torn) == 0 && !slices.ContainsFunc(m.live.live, func(e entry) bool { return e.SessionID == m.handle.NativeID }) {
		m.presume(func(agent.Item) bool { return true })
		m.rows.lost(m.at) // what ran in the background ended with its process
		return
	}
	m.presume(func(it agent.Item) bool { return it.At < m.said && !m.rows.behind(it) })
}

// presume shows open calls as canceled, which is the program's own word for them
// at the next resume. An answer that comes all the same replaces it: a command
// typed while a turn runs is no end of it.
func (m *mirror) presume(over func(agent.Item) bool) {
	for id, it := range m.rows.tools {
		if m.presumed[id] || !over(*it) {
			continue
		}
		m.presumed[id] = true
		if planTools[it.Name] {
			continue
		}
		closed := *it
		closed.State, closed.EndedAt = agent.StateCanceled, max(m.at, it.At)
		m.item(closed)
	}
}

// behind says that a row belongs to a sub-agent that works in the background.
func (rs *rows) behind(it agent.Item) bool {
	for p := it.ParentID; p != ""; {
		if _, ok := rs.background[p]; ok {
			return true
		}
		above := rs.tools[p]
		if above == nil || above.ParentID == p {
			return false
		}
		p = above.ParentID
	}
	return false
}

// tell reports who acts and that everything on disk was read.
func (m *mirror) tell() {
	state := agent.MirrorState{
		Title: cutTo(firstLine(or(m.title, m.ai)), agent.LimitTitle), Model: m.model, Mode: m.mode, SkippedLines: m.recs.Counts.Skipped, Usage: m.used(),
	}
	if m.chain != nil {
		state.Branches = m.chain.branches(m.on)
	}
	for _, e := range m.live.live {
		if e.SessionID == m.handle.NativeID {
			state.Status, _ = e.status()
			if state.Title == "" && e.NameSource == "user" {
				state.Title = cutTo(e.Name, agent.LimitTitle)
			}
		}
	}
	pos := agent.Position{RecordID: m.lastID}
	if m.tail != nil {
		pos.Offset = m.tail.State().Offset
	}
	if !m.caught || !reflect.DeepEqual(state, m.told) {
		m.sink.State(state)
	}
	if !m.caught || pos != m.toldPos {
		m.sink.CaughtUp(pos)
	}
	m.caught, m.told, m.toldPos = true, state, pos
	m.begun = m.tail != nil
}
