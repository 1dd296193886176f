package claudecode

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// facts are what a transcript tells of its session, folded record by record: from
// its ends at first, then from what is appended. They are kept in the index, so
// that a restart goes on where reading stopped.
type facts struct {
	Title string `json:"title,omitempty"` // given by a person
	Named string `json:"named,omitempty"` // given by the agent
	Mode  string `json:"mode,omitempty"`
	Fault string `json:"fault,omitempty"` // why the last turn failed
	// Open are calls without their results.
	Open   []openCall `json:"open,omitempty"`
	Spoken bool       `json:"spoken,omitempty"`

	// What the row of the list has as well is kept there only.

	First string `json:"-"` // what was asked first
	Last  string `json:"-"` // and last
	Model string `json:"-"`
	Cwd   string `json:"-"`
	// Began and Updated are the first and the newest plausible time of a record.
	Began   int64 `json:"-"`
	Updated int64 `json:"-"`
	Odd     bool  `json:"-"` // a record claims to be from the future
	// Turn is how the last turn ended (completed, failed, interrupted), "" while one
	// is open.
	Turn    string `json:"-"`
	TurnEnd int64  `json:"-"`
	Skipped int    `json:"-"`

	now int64 // of the reading, in milliseconds
	// last is the beginning of the newest prompt as it stands in the file, until
	// somebody wants to know it.
	last []byte
}

// openCall is a call of a tool without its result.
type openCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Text string `json:"text,omitempty"`

	input json.RawMessage // until the text is made of it
}

// Bounds of what is kept: of a text in UTF-16 units, of calls.
const (
	maxFactText  = 120
	maxOpenCalls = 3
	maxOpenInput = 4 << 10
)

// knownTypes are the records that the rows or the facts are made of, and those
// that are known to tell nothing of a conversation. Others are counted.
var knownTypes = map[string]bool{
	"user": true, "assistant": true, "system": true, "attachment": true, "summary": true,
	"custom-title": true, "ai-title": true, "last-prompt": true, "permission-mode": true, "mode": true,
	"agent-name": true, "queue-operation": true, "file-history-snapshot": true, "api-request-shape": true,
	"api-request-blob": true, "api-request": true, "tools-used": true, "cost-state": true, "bridge-session": true,
	"pr-link": true, "atis-latch": true,
}

// add takes the next record.
func (f *facts) add(r *agentkit.Record) bool {
	switch r.Type {
	case "custom-title":
		f.Title = factText(r.Text("customTitle"))
	case "ai-title":
		f.Named = factText(r.Text("aiTitle"))
	case "summary": // versions before the agent's own titles
		f.Named = or(f.Named, factText(r.Text("summary")))
	case "last-prompt":
		f.Last = or(factText(r.Text("lastPrompt")), f.lastPrompt())
	case "permission-mode":
		f.Mode = or(r.Text("permissionMode"), f.Mode)
	case "user", "assistant", "system", "attachment":
		f.turn(r)
	}
	return true
}

func (f *facts) turn(r *agentkit.Record) {
	at := f.time(r.Get("timestamp"))
	if cwd := r.Get("cwd"); len(cwd) > 2 && !agentkit.Is(cwd, f.Cwd) {
		f.Cwd = or(agentkit.Text(cwd), f.Cwd)
	}
	if r.True("isSidechain") || r.Get("agentId") != nil {
		return // a sub-agent's
	}
	switch r.Type {
	case "assistant":
		f.assistant(r, at)
	case "user":
		f.user(r, at)
	case "system":
		if agentkit.Is(r.Get("subtype"), "turn_duration") {
			f.ended("completed", at)
		}
	}
}

// time notes the time of a record and returns it; 0 when it is none or lies in
// the future.
func (f *facts) time(value []byte) int64 {
	at := stamp(value)
	if at == 0 {
		return 0
	}
	if at > f.now+(5*time.Minute).Milliseconds() {
		f.Odd = true
		return 0
	}
	f.Updated = max(f.Updated, at)
	if f.Began == 0 {
		f.Began = at
	}
	return at
}

// stamp reads a time as the program writes it, in UTC with milliseconds; any
// other way as well.
func stamp(value []byte) int64 {
	if len(value) < 22 || value[0] != '"' {
		return 0
	}
	if len(value) == len(`"2026-01-01T10:00:00.000Z"`) && value[20] == '.' && value[24] == 'Z' {
		n, ok := [7]int{}, true
		for i, at := range [7][2]int{{1, 5}, {6, 8}, {9, 11}, {12, 14}, {15, 17}, {18, 20}, {21, 24}} {
			for _, c := range value[at[0]:at[1]] {
				ok = ok && c >= '0' && c <= '9'
				n[i] = n[i]*10 + int(c-'0')
			}
		}
		if ok && n[1] >= 1 && n[1] <= 12 && n[2] >= 1 && n[2] <= 31 && n[3] < 24 && n[4] < 60 && n[5] < 61 {
			return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1e6, time.UTC).UnixMilli()
		}
	}
	t, err := time.Parse(time.RFC3339Nano, agentkit.Text(value))
	if err != nil || t.UnixMilli() < 0 {
		return 0
	}
	return t.UnixMilli()
}

func (f *facts) ended(how string, at int64) {
	f.Turn, f.TurnEnd, f.Fault, f.Open = how, at, "", f.Open[:0]
}

func (f *facts) assistant(r *agentkit.Record, at int64) {
	f.Spoken = true
	var model, stop, content []byte
	agentkit.Members(r.Get("message"), func(key, value []byte) {
		switch string(key) {
		case "model":
			model = value
		case "stop_reason":
			stop = value
		case "content":
			content = value
		}
	})
	if agentkit.Is(model, "<synthetic>") {
		if r.True("isApiErrorMessage") || len(r.Get("error")) > 0 {
			f.ended("failed", at)
			f.Fault = cutTo(firstLine(plainText(content)), agent.LimitError)
		}
		return
	}
	if !agentkit.Is(model, f.Model) {
		f.Model = or(cutTo(agentkit.Text(model), agent.LimitModel), f.Model)
	}
	switch agentkit.Text(stop) {
	case "end_turn", "stop_sequence", "max_tokens":
		f.ended("completed", at)
	case "refusal":
		f.ended("failed", at)
		f.Fault = "The model refused to answer."
	default: // it goes on
		f.Turn, f.TurnEnd, f.Fault = "", 0, ""
	}
	if bytes.Contains(content, []byte(`"tool_use"`)) {
		agentkit.Elements(content, func(value []byte) bool {
			f.call(value)
			return true
		})
	}
}

func (f *facts) call(value []byte) {
	var isCall bool
	var id, name, input []byte
	agentkit.Members(value, func(key, v []byte) {
		switch string(key) {
		case "type":
			isCall = agentkit.Is(v, "tool_use")
		case "id":
			id = v
		case "name":
			name = v
		case "input":
			input = v
		}
	})
	c := openCall{ID: agentkit.Text(id), Name: cutTo(agentkit.Text(name), agent.LimitTool)}
	if !isCall || c.ID == "" || len(c.ID) > 128 || slices.ContainsFunc(f.Open, func(o openCall) bool { return o.ID == c.ID }) {
		return
	}
	if len(input) <= maxOpenInput {
		c.input = bytes.Clone(input)
	}
	if f.Open = append(f.Open, c); len(f.Open) > maxOpenCalls*4 {
		f.Open = slices.Delete(f.Open, 0, 1)
	}
}

func (f *facts) user(r *agentkit.Record, at int64) {
	var content []byte
	agentkit.Members(r.Get("message"), func(key, value []byte) {
		if string(key) == "content" {
			content = value
		}
	})
	if len(content) == 0 {
		return
	}
	if content[0] == '[' && bytes.Contains(content, []byte(`"tool_result"`)) {
		f.results(content)
		if !bytes.Contains(content, []byte(interruptedPrefix)) {
			return
		}
	}
	if bytes.Contains(content[:min(len(content), 200)], []byte(interruptedPrefix)) {
		x, err := parseRecord(r.Data)
		if err == nil && x.interrupted() {
			f.ended("interrupted", at)
			return
		}
	}
	if !f.asked(r, content) {
		return
	}
	f.Spoken = true
	f.Turn, f.TurnEnd, f.Fault, f.Open = "", 0, "", f.Open[:0]
}

// results takes the calls off that were answered.
func (f *facts) results(content []byte) {
	agentkit.Elements(content, func(value []byte) bool {
		var id []byte
		result := false
		agentkit.Members(value, func(key, v []byte) {
			switch string(key) {
			case "type":
				result = agentkit.Is(v, "tool_result")
			case "tool_use_id":
				id = v
			}
		})
		if result {
			f.Open = slices.DeleteFunc(f.Open, func(o openCall) bool { return agentkit.Is(id, o.ID) })
		}
		return true
	})
}

// asked takes what a person wrote. A plain text, which most are, is decoded only
// when it is shown.
func (f *facts) asked(r *agentkit.Record, content []byte) bool {
	plain := content[0] == '"' && r.Get("origin") == nil && r.Get("rowSource") == nil && r.Get("isMeta") == nil &&
		r.Get("isCompactSummary") == nil && r.Get("isSynthetic") == nil
	if plain {
		head := bytes.TrimSpace(content[1:min(len(content), 64)])
		if len(head) > 0 && strings.IndexByte(`<[\"`, head[0]) < 0 && !bytes.HasPrefix(head, []byte("Caveat:")) {
			f.last = plainStart(f.last[:0], content)
			if f.First == "" {
				f.First = f.lastPrompt()
			}
			return true
		}
	}
	x, err := parseRecord(r.Data)
	if err != nil {
		return false
	}
	text, images, ok := x.prompt()
	if !ok {
		return false
	}
	if text == "" && images > 0 {
		text = "[image]"
	}
	f.last, f.Last = nil, factText(text)
	f.First = or(f.First, f.Last)
	return true
}

// lastPrompt is what was asked last.
func (f *facts) lastPrompt() string {
	if f.last == nil {
		return f.Last
	}
	text := agentkit.Text(f.last)
	if len(f.last) > enoughText-16 {
		text = strings.TrimRight(text, "\uFFFD") // cut within a character
	}
	f.Last, f.last = or(factText(text), f.Last), nil
	return f.Last
}

// enoughText is how much of a prompt holds its first line as it is shown, in
// bytes.
const enoughText = 6 * maxFactText

// plainStart copies the beginning of a text, enough for a line, as a text of its
// own.
func plainStart(to, content []byte) []byte {
	if len(content) <= enoughText {
		return append(to, content...)
	}
	cut := content[:enoughText]
	if i := bytes.LastIndexByte(cut, '\\'); i >= len(cut)-12 { // not within an escape
		cut = cut[:i]
		for len(cut) > 1 && cut[len(cut)-1] == '\\' {
			cut = cut[:len(cut)-1]
		}
	}
	return append(append(to, cut...), '"')
}

func factText(s string) string { return cutTo(firstLine(s), maxFactText) }

// running is the newest call without a result, as it is shown.
func (f *facts) running() (tool, text string) {
	if len(f.Open) == 0 {
		return "", ""
	}
	c := &f.Open[len(f.Open)-1]
	c.describe()
	return c.Name, c.Text
}

// asking is what a permission is asked for: the open call, or one of several.
func (f *facts) asking() string {
	var list []string
	for i := range f.Open {
		c := &f.Open[i]
		c.describe()
		list = append(list, c.Name+": "+c.Text)
	}
	if len(list) > 1 {
		return "one of " + strings.Join(list, "; ")
	}
	return strings.Join(list, "")
}

func (c *openCall) describe() {
	if c.input == nil {
		return
	}
	it := toolItem(block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.input})
	if c.Text = it.Title; it.Detail.Execute != nil {
		c.Text = firstLine(it.Detail.Execute.Command)
	}
	c.Text, c.input = cutTo(c.Text, maxFactText), nil
}

// save is what the index keeps.
func (f *facts) save() []byte {
	f.lastPrompt()
	keep := *f
	keep.Open = slices.Clone(f.Open[max(0, len(f.Open)-maxOpenCalls):])
	for i := range keep.Open {
		keep.Open[i].describe()
	}
	data, err := json.Marshal(&keep)
	if err == nil && len(data) > agentkit.MaxFacts {
		keep.Open = nil
		data, err = json.Marshal(&keep)
	}
	if err != nil || len(data) > agentkit.MaxFacts {
		return nil // the file is read anew then
	}
	return data
}

// loadFacts continues with what the index kept; ok is false without it.
func loadFacts(x *agentkit.Indexed) (f facts, ok bool) {
	if len(x.Facts) == 0 || json.Unmarshal(x.Facts, &f) != nil {
		return f, false
	}
	s := &x.Session
	f.First, f.Last, f.Model, f.Cwd = s.First, or(s.Last, s.First), s.Model, s.Handle.Cwd
	f.Began, f.Updated, f.Odd = s.StartedAt, s.UpdatedAt, s.ClockOdd
	f.Turn, f.TurnEnd, f.Skipped = s.LastTurn, s.LastTurnEndedAt, s.SkippedLines
	return f, true
}

// name is the title to show: what a person gave (in the session, else when it was
// started), what the agent gave, what was asked, what the registry calls it. made
// is true when a person chose the registry's name.
func (f *facts) name(registered string, made bool) string {
	chosen := ""
	if made {
		chosen, registered = registered, ""
	}
	return cutTo(firstLine(or(f.Title, f.Named, chosen, f.First, f.lastPrompt(), registered)), agent.LimitTitle)
}
