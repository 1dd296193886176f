package claudecode

import (
	"os"
	"strings"
	"sync"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// summary is what the ends of a transcript tell without reading all of it.
type summary struct {
	title    string // given by the person or the agent
	prompt   string // what was asked last, or first
	model    string
	mode     string
	cwd      string
	updated  int64  // newest plausible time of a record
	lastTurn string // completed, failed, interrupted
	turnEnd  int64
	tool     string // a call without its result
	toolText string
	spoken   bool // a person or a model said something
}

// Sizes of what is read of a transcript for its summary, in bytes.
const (
	summaryHead = 64 << 10
	summaryTail = 256 << 10
)

// summarize reads the head and the tail of a transcript.
func summarize(path string, now time.Time) (summary, error) {
	var s summary
	if err := agentkit.FirstLines(path, summaryHead, func(l agentkit.Line) bool {
		r, ok := cheap(l)
		if !ok {
			return true
		}
		s.cwd = or(s.cwd, r.Cwd)
		s.titled(&r)
		if text, _, ok := r.prompt(); ok && !r.IsSidechain {
			s.spoken = true
			s.prompt = or(s.prompt, text)
		}
		return true
	}); err != nil {
		return s, err
	}
	calls := map[string]block{}
	var order []string
	err := agentkit.LastLines(path, summaryTail, func(l agentkit.Line) {
		r, ok := cheap(l)
		if !ok {
			return
		}
		s.cwd = or(r.Cwd, s.cwd)
		s.titled(&r)
		if r.PermissionMode != "" && r.Type == "permission-mode" {
			s.mode = r.PermissionMode
		}
		if at := r.at(); at > s.updated && at < now.Add(5*time.Minute).UnixMilli() {
			s.updated = at
		}
		if r.IsSidechain {
			return
		}
		switch r.Type {
		case "assistant":
			s.assistant(&r, calls, &order)
		case "user":
			s.user(&r, calls)
		case "system":
			if r.Subtype == "turn_duration" {
				s.lastTurn, s.turnEnd = "completed", r.at()
			}
		}
	})
	for i := len(order) - 1; i >= 0; i-- {
		if b, open := calls[order[i]]; open {
			it := toolItem(b)
			s.tool, s.toolText = b.Name, it.Title
			if it.Detail.Execute != nil {
				s.toolText = firstLine(it.Detail.Execute.Command)
			}
			break
		}
	}
	return s, err
}

// cheap decodes a line unless its beginning shows that it is one of the big
// records that tell nothing.
func cheap(l agentkit.Line) (record, bool) {
	if !l.Object() {
		return record{}, false
	}
	head := string(l.Data[:min(len(l.Data), 64)])
	if strings.Contains(head, `"type":"api-request`) || strings.Contains(head, `"type":"file-history`) {
		return record{}, false
	}
	r, err := parseRecord(l.Data)
	return r, err == nil
}

func (s *summary) titled(r *record) {
	switch r.Type {
	case "custom-title":
		s.title = r.CustomTitle
	case "ai-title":
		s.title = or(s.title, r.AITitle)
	case "last-prompt":
		s.prompt = or(s.prompt, r.LastPrompt)
	}
}

func (s *summary) assistant(r *record, calls map[string]block, order *[]string) {
	s.spoken = true
	if r.synthetic() {
		if r.IsAPIError || r.Error != nil {
			s.lastTurn, s.turnEnd = "failed", r.at()
		}
		return
	}
	s.model = or(r.Message.Model, s.model)
	if r.Message.StopReason == "end_turn" {
		s.lastTurn, s.turnEnd = "completed", r.at()
	}
	for _, b := range blocks(r.Message.Content) {
		if b.Type == "tool_use" {
			calls[b.ID] = b
			*order = append(*order, b.ID)
		}
	}
}

func (s *summary) user(r *record, calls map[string]block) {
	if r.interrupted() {
		s.lastTurn, s.turnEnd = "interrupted", r.at()
		clear(calls)
		return
	}
	if _, _, ok := r.prompt(); ok {
		s.lastTurn, s.turnEnd = "", 0
	}
	for _, b := range blocks(r.Message.Content) {
		if b.Type == "tool_result" {
			delete(calls, b.ToolUseID)
		}
	}
}

// name is the title to show: what a person or the agent gave, else what was
// asked. registered is the registry's name, made is true when a person chose it.
func (s *summary) name(registered string, made bool) string {
	if made {
		registered, s.title = "", or(s.title, registered)
	}
	return cutTo(firstLine(or(s.title, s.prompt, registered)), agent.LimitTitle)
}

// summaries remembers summaries of files that did not change.
type summaries struct {
	mu    sync.Mutex
	known map[string]known
}

type known struct {
	size  int64
	mtime time.Time
	sum   summary
}

// get returns the summary of a transcript; with old an earlier one will do, if
// it tells what the session is about.
func (c *summaries) get(path string, now time.Time, old bool) summary {
	info, err := os.Stat(path)
	if err != nil {
		return summary{}
	}
	c.mu.Lock()
	k, ok := c.known[path]
	c.mu.Unlock()
	if ok && old && k.sum.model != "" && k.sum.prompt != "" {
		return k.sum
	}
	if ok && k.size == info.Size() && k.mtime.Equal(info.ModTime()) {
		return k.sum
	}
	sum, err := summarize(path, now)
	if err != nil {
		return k.sum
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) > 256 {
		c.known = map[string]known{}
	}
	c.known[path] = known{info.Size(), info.ModTime(), sum}
	return sum
}
