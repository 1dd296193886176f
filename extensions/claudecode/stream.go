package claudecode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// wire is the outside of any message of the structured mode. Complete messages
// are decoded once more, as records.
type wire struct {
	Type            string          `json:"type"`
	Subtype         string          `json:"subtype"`
	RequestID       string          `json:"request_id"`
	Request         json.RawMessage `json:"request"`
	Response        *controlReply   `json:"response"`
	Event           *streamEvent    `json:"event"`
	ParentToolUseID string          `json:"parent_tool_use_id"`
	Abandoned       *abandoned      `json:"abandoned_blocks"`

	// command_lifecycle
	CommandUUID string `json:"command_uuid"`
	State       string `json:"state"`
}

type abandoned struct {
	MessageID string `json:"api_message_id"`
	From      int    `json:"from_block_index"`
}

// streamEvent is one event of the model's own stream.
type streamEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message *struct {
		ID string `json:"id"`
	} `json:"message"`
	Block *block `json:"content_block"`
	Delta *struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Thinking   string `json:"thinking"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

// streamed is where one conversation (the main one or a sub-agent's) stands in
// the model's stream.
type streamed struct {
	messageID string
	index     int            // of the open block, -1 when none is
	kind      agent.ItemType // of the open block
	shown     map[int]*partial
	ended     map[int]agent.Item // the texts of the message that are whole
}

// partial is a text that is being written: what was shown of it so far.
type partial struct {
	item agent.Item
	text strings.Builder
}

// whole is the row with all its text, ended.
func (p *partial) whole(text string, at int64) agent.Item {
	it := p.item
	it.Text, it.EndedAt = text, at
	return it
}

func (s *session) read() {
	defer close(s.ended)
	for {
		line, err := s.proc.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.host.Logger().Warn("reading from Claude Code failed", "err", err)
			}
			break
		}
		var m wire
		if err := lenient(line.Data, &m); err != nil {
			s.proc.Noise(line.Data)
			continue
		}
		s.handle(&m, line.Data)
	}
	s.exit()
}

func (s *session) handle(m *wire, data []byte) {
	switch m.Type {
	case "stream_event":
		if m.Event == nil {
			return
		}
		if m.Event.Type == "message_start" {
			s.active()
		} else if !s.busy() {
			return // the rest of a message that has ended with its turn
		}
		s.stream(m)
	case "assistant", "user":
		r, err := parseRecord(data)
		if err != nil {
			s.proc.Noise(data)
			return
		}
		if s.repeated(&r) || s.recorded[r.UUID] {
			return
		}
		if r.UUID != "" {
			s.recorded[r.UUID] = true
		}
		s.active() // the echo of a steered message may open a turn of its own
		s.record(&r)
	case "control_request":
		s.request(m)
	case "control_cancel_request":
		s.withdrawn(m.RequestID)
	case "control_response":
		s.reply(m.Response)
	case "command_lifecycle":
		s.lifecycle(m.CommandUUID, m.State)
	case "system":
		s.system(m.Subtype, data)
	case "tool_progress":
		s.progressed(data)
	case "rate_limit_event":
		s.limited(data)
	case "result":
		s.result(data)
	}
}

// busy reports whether a turn is open.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt != nil || s.own != nil
}

// active opens a turn of the agent's own when something happens without a
// prompt.
func (s *session) active() {
	s.mu.Lock()
	opened := s.prompt == nil && s.own == nil && !s.exited
	if opened {
		s.own = newTurn("")
	}
	s.mu.Unlock()
	if opened {
		s.rows.newTurn()
		s.events.Turn(agent.TurnEvent{Origin: agent.OriginAgent})
	}
}

// stream shows the parts of a message that is being written.
func (s *session) stream(m *wire) {
	ev := m.Event
	st := s.streams[m.ParentToolUseID]
	if st == nil {
		st = &streamed{index: -1}
		s.streams[m.ParentToolUseID] = st
	}
	switch ev.Type {
	case "message_start":
		if ev.Message != nil {
			*st = streamed{messageID: ev.Message.ID, index: -1, shown: map[int]*partial{}, ended: map[int]agent.Item{}}
		}
	case "content_block_start":
		st.index = ev.Index
		st.kind = ""
		if ev.Block == nil {
			return
		}
		switch ev.Block.Type {
		case "text":
			st.kind = agent.ItemText
		case "thinking":
			st.kind = agent.ItemReasoning
		case "tool_use":
			if longInput[ev.Block.Name] { // its text takes a while to be written
				s.rows.call(*ev.Block, m.ParentToolUseID, s.host.Time().UnixMilli())
			}
		}
	case "content_block_delta":
		if ev.Delta == nil || st.kind == "" {
			return
		}
		if text := ev.Delta.Text + ev.Delta.Thinking; text != "" {
			s.delta(st, m.ParentToolUseID, ev.Index, text)
		}
	case "content_block_stop":
		st.index = -1
	case "message_delta":
		if ev.Delta != nil && cutOff[ev.Delta.StopReason] {
			s.cut(st)
		}
		if ev.Usage != nil && m.ParentToolUseID == "" {
			s.lastUse = ev.Usage
		}
	case "message_stop":
		if m.Abandoned != nil {
			s.abandon(st, m.Abandoned)
		}
	}
}

// longInput are the tools whose call is shown before it is complete.
var longInput = map[string]bool{"Write": true, "Edit": true, "NotebookEdit": true, "Agent": true, "Task": true}

func (s *session) delta(st *streamed, parent string, index int, text string) {
	if p, ok := st.shown[index]; ok {
		p.text.WriteString(text)
		s.events.Append(p.item.ID, text)
		return
	}
	p := &partial{item: agent.Item{
		ID: blockID(st.messageID, index), ParentID: parent, Type: st.kind, Text: text, At: s.host.Time().UnixMilli(),
	}}
	p.text.WriteString(text)
	if st.shown == nil {
		st.shown = map[int]*partial{}
	}
	st.shown[index] = p
	s.events.Item(p.item)
}

// cutOff are the model's reasons to stop before an answer is whole.
var cutOff = map[string]bool{"max_tokens": true, "model_context_window_exceeded": true, "refusal": true}

// cut marks the last text of a message that the model did not end.
func (s *session) cut(st *streamed) {
	last := -1
	for index := range st.ended {
		last = max(last, index)
	}
	if it, ok := st.ended[last]; ok {
		it.Truncated = true
		s.events.Item(it)
	}
}

// abandon takes back what a broken stream had shown: the model will say it
// again in another message. An empty text row is not shown by anybody.
func (s *session) abandon(st *streamed, a *abandoned) {
	if a.MessageID != st.messageID {
		return
	}
	for index, p := range st.shown {
		if index >= a.From {
			s.events.Item(p.whole("", s.host.Time().UnixMilli()))
			delete(st.shown, index)
		}
	}
}

// record takes a complete message.
func (s *session) record(r *record) {
	index := -1
	if st := s.streams[r.ParentToolUseID]; st != nil && st.messageID == r.Message.ID && st.index >= 0 {
		index = st.index
		delete(st.shown, index)
	}
	if r.Type == "assistant" && !r.synthetic() && r.Message.Usage != nil && r.ParentToolUseID == "" && s.lastUse == nil {
		s.lastUse = r.Message.Usage
	}
	if st := s.streams[r.ParentToolUseID]; index >= 0 && r.Type == "assistant" {
		if list := blocks(r.Message.Content); len(list) == 1 && list[0].Type == "text" && list[0].Text != "" && st.ended != nil {
			st.ended[index] = agent.Item{
				ID: blockID(r.Message.ID, index), ParentID: r.ParentToolUseID, Type: agent.ItemText, Text: list[0].Text, At: r.at(), EndedAt: r.at(),
			}
		}
	}
	s.rows.add(r, index)
	if r.synthetic() && r.Error != nil {
		s.fault, _ = r.Error.(string)
	}
	if r.Type != "user" {
		return
	}
	for _, b := range blocks(r.Message.Content) {
		if b.Type == "tool_result" {
			s.worked(b.ToolUseID)
		}
	}
}

// hasItAlready is the end of a turn whose message has an id that the agent
// knows: it does nothing.
var hasItAlready = agent.TurnEnd{
	Outcome: agent.OutcomeFailed, Reason: "failed",
	Text: "Claude Code has this message already and did not run it again.",
}

// repeated ends the turn of a message that the process has taken before: it is
// only echoed, never queued. Versions that report no queue are left alone.
func (s *session) repeated(r *record) bool {
	s.mu.Lock()
	t := s.prompt
	s.mu.Unlock()
	if !r.IsReplay || t == nil || t.id != r.UUID || t.taken || !s.queues || r.Timestamp != "" {
		return false
	}
	s.endPrompt(t, hasItAlready)
	return true
}

// lifecycle follows a message of ours through the agent's queue.
func (s *session) lifecycle(id, state string) {
	s.queues = true
	s.mu.Lock()
	client, known := s.clients[id]
	t := s.prompt
	mine := t != nil && t.id == id
	s.mu.Unlock()
	if !known {
		return
	}
	if mine {
		switch {
		case state == "cancelled": // a stop reached it before it began
			s.endPrompt(t, agent.TurnEnd{Outcome: agent.OutcomeCanceled})
		case state == "completed" && !t.taken:
			s.endPrompt(t, hasItAlready)
		default:
			t.taken = true
			t.started = t.started || state == "started"
		}
		return
	}
	if d, ok := map[string]agent.Delivery{
		"queued": agent.DeliveryAccepted, "started": agent.DeliveryStarted,
		"completed": agent.DeliveryCompleted, "cancelled": agent.DeliveryDiscarded,
	}[state]; ok && client != "" {
		s.events.Delivery(client, d)
	}
}

// systemMessage holds the members of the system messages that matter.
type systemMessage struct {
	Model          string  `json:"model"`
	PermissionMode string  `json:"permissionMode"`
	Attempt        int     `json:"attempt"`
	MaxRetries     int     `json:"max_retries"`
	RetryDelayMs   float64 `json:"retry_delay_ms"`
	ErrorStatus    int     `json:"error_status"`
	Error          string  `json:"error"`
	UUID           string  `json:"uuid"`
	Status         string  `json:"status"`
	CompactResult  string  `json:"compact_result"`
	CompactError   string  `json:"compact_error"`
	SessionID      string  `json:"session_id"`
}

func (s *session) system(subtype string, data []byte) {
	switch subtype {
	case "init", "status", "api_retry":
		var m systemMessage
		if lenient(data, &m) != nil {
			return
		}
		switch subtype {
		case "init":
			if s.launch.confined {
				s.guard(data)
				return // its mode is fixed and its id is nobody's
			}
			s.settings(agent.Settings{Mode: m.PermissionMode}, false)
			s.renamed(m.SessionID)
		case "status":
			s.settings(agent.Settings{Mode: m.PermissionMode}, false)
			s.compacts(&m)
		case "api_retry":
			s.active()
			s.retry("", &m)
		}
	case "session_title_changed":
		var m struct {
			Title string `json:"title"`
		}
		if lenient(data, &m) == nil && m.Title != "" {
			s.events.Title(cutTo(firstLine(m.Title), agent.LimitTitle))
		}
	case "informational", "model_refusal_fallback", "model_fallback", "model_consent_fallback":
		var m remark
		if lenient(data, &m) == nil {
			s.remarked(m)
		}
	case "task_started":
		var t taskStarted
		if lenient(data, &t) == nil {
			s.started(t)
		}
	case "task_notification":
		var n note
		if lenient(data, &n) == nil {
			s.stopped(n)
		}
	case "compact_boundary":
		r, err := parseRecord(data)
		if err != nil {
			return
		}
		// The row that stays has the id that the transcript has, too.
		s.compacted(agent.StateCompleted, "")
		s.rows.add(&r, -1)
	}
}

// remark is something that the program tells the person in words.
type remark struct {
	UUID    string `json:"uuid"`
	Content string `json:"content"`
	Level   string `json:"level"`
}

func (s *session) remarked(m remark) {
	if m.UUID == "" || strings.TrimSpace(m.Content) == "" {
		return
	}
	level := agent.LevelInfo
	if m.Level == "warning" {
		level = agent.LevelWarning
	}
	s.events.Item(agent.Item{ID: "remark:" + m.UUID, Type: agent.ItemNotice, Level: level, At: s.host.Time().UnixMilli(), Text: m.Content})
}

// compacts shows that the conversation is being compacted. How it came out the
// next status tells; what a person keeps of it is the boundary.
func (s *session) compacts(m *systemMessage) {
	switch {
	case m.Status == "compacting" && s.compacting == "" && m.UUID != "":
		s.compacting = "compacting:" + m.UUID
		now := s.host.Time().UnixMilli()
		s.events.Item(agent.Item{ID: s.compacting, Type: agent.ItemCompaction, State: agent.StateRunning, At: now, StartedAt: now})
	case m.CompactResult == "failed":
		s.compacted(agent.StateFailed, m.CompactError)
	}
}

// compacted ends the row of a running compaction. One that completed is taken
// back: the boundary is its row.
func (s *session) compacted(state agent.ItemState, text string) {
	if s.compacting == "" {
		return
	}
	now := s.host.Time().UnixMilli()
	s.events.Item(agent.Item{
		ID: s.compacting, Type: agent.ItemCompaction, State: state, Text: text, At: now, EndedAt: now, TakenBack: state == agent.StateCompleted,
	})
	s.compacting = ""
}

// renamed reports a new session id (a /clear within the chat).
func (s *session) renamed(id string) {
	if id == "" || id == s.launch.handle.NativeID || checkID(id) != nil {
		return
	}
	s.launch.handle.NativeID, s.launch.handle.Meta = id, nil // nothing was said in it yet
	s.events.Handle(s.launch.handle)
}

// retry tells that the agent, or the sub-agent below this call, tries again by
// itself: one row for one streak.
func (s *session) retry(parent string, m *systemMessage) {
	why := map[string]string{
		"authentication_failed": "The sign-in was refused", "rate_limit": "The limit is reached",
		"overloaded": "The service is overloaded", "server_error": "The service has a fault",
	}[m.Error]
	if why == "" {
		why = "The connection failed"
	}
	if m.Attempt <= 1 || s.streaks[parent] == "" {
		s.streaks[parent] = "retry:" + or(m.UUID, s.launch.handle.NativeID)
	}
	s.events.Item(agent.Item{
		ID: s.streaks[parent], ParentID: parent, Type: agent.ItemNotice, Level: agent.LevelWarning,
		At: s.host.Time().UnixMilli(),
		Text: fmt.Sprintf("%s; trying again in %s (%d of %d)", why,
			(time.Duration(m.RetryDelayMs) * time.Millisecond).Round(100*time.Millisecond), m.Attempt, m.MaxRetries),
	})
}

// progress holds what is read of the word that a tool still runs.
type progress struct {
	UUID   string `json:"uuid"`
	Parent string `json:"parent_tool_use_id"`
	Retry  *struct {
		systemMessage
		Category string `json:"error_category"`
	} `json:"subagent_retry"`
}

func (s *session) progressed(data []byte) {
	var p progress
	if lenient(data, &p) != nil || p.Retry == nil || p.Parent == "" {
		return
	}
	s.active()
	p.Retry.UUID, p.Retry.Error = p.UUID, p.Retry.Category
	s.retry(p.Parent, &p.Retry.systemMessage)
}

var _ agent.Steerer = (*session)(nil)
