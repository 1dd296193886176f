package claudecode

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// subMeta is the small file beside a sub-agent's transcript.
type subMeta struct {
	AgentType   string `json:"agentType"`
	Description string `json:"description"`
	ToolUseID   string `json:"toolUseId"`
	Finished    bool   `json:"finished"`
}

// subagentsDir is where the transcripts of a session's sub-agents stand, nested
// ones too.
func subagentsDir(transcript string) string {
	return filepath.Join(sessionFolder(transcript), "subagents")
}

// sessionFolder holds what belongs to a session beside its transcript.
func sessionFolder(transcript string) string { return strings.TrimSuffix(transcript, ".jsonl") }

// subagents remembers what was read of files that did not change.
type subagents struct{ known map[string]knownSub }

type knownSub struct {
	mtime time.Time
	info  agent.SubagentInfo
}

// list returns the newest sub-agents of a session whose process lives, oldest
// first.
func (c *subagents) list(transcript string) []agent.SubagentInfo {
	dir := subagentsDir(transcript)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // none were started
	}
	if c.known == nil || len(c.known) > 1024 {
		c.known = map[string]knownSub{}
	}
	var list []agent.SubagentInfo
	described := map[string]bool{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".meta.json"); ok {
			described[name] = true
		}
	}
	for _, e := range entries {
		name, isMeta := strings.CutSuffix(e.Name(), ".meta.json")
		read := readSub
		if !isMeta { // versions that do not describe them, or not yet
			var isTranscript bool
			if name, isTranscript = strings.CutSuffix(e.Name(), ".jsonl"); !isTranscript || described[name] {
				continue
			}
			read = readUndescribed
		}
		id, isAgent := strings.CutPrefix(name, "agent-")
		if !isAgent || checkID(id) != nil {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		k, seen := c.known[path]
		if !seen || !k.mtime.Equal(info.ModTime()) {
			sub, ok := read(dir, id, info.ModTime())
			if !ok {
				continue // half written: the next change tells
			}
			if seen { // its transcript may come later than this file
				sub.StartedAt = min(sub.StartedAt, k.info.StartedAt)
			}
			k = knownSub{info.ModTime(), sub}
			c.known[path] = k
		}
		list = append(list, k.info)
	}
	slices.SortFunc(list, func(a, b agent.SubagentInfo) int {
		return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), strings.Compare(a.ID, b.ID))
	})
	return list[max(0, len(list)-agent.LimitSubagents):]
}

func readSub(dir, id string, changed time.Time) (agent.SubagentInfo, bool) {
	var m subMeta
	if readJSON(filepath.Join(dir, "agent-"+id+".meta.json"), &m) != nil {
		return agent.SubagentInfo{}, false
	}
	s := agent.SubagentInfo{
		ID: id, Type: cutTo(or(m.AgentType, "general-purpose"), agent.LimitSubagentType),
		Title: cutTo(firstLine(m.Description), agent.LimitSubagentTitle), Status: "running",
	}
	if m.Finished {
		s.Status, s.EndedAt = "completed", changed.UnixMilli()
	}
	// The first record says when it began; without one the file's time has to do.
	_ = agentkit.FirstLines(filepath.Join(dir, "agent-"+id+".jsonl"), 16<<10, func(l agentkit.Line) bool {
		if r, ok := cheap(l); ok {
			s.StartedAt = r.at()
		}
		return s.StartedAt == 0
	})
	if s.StartedAt == 0 {
		s.StartedAt = changed.UnixMilli()
	}
	return s, true
}

// readUndescribed makes the row of a sub-agent out of its transcript alone: its
// task is the title, and an answer that ends a turn is its end.
func readUndescribed(dir, id string, changed time.Time) (agent.SubagentInfo, bool) {
	s := agent.SubagentInfo{ID: id, Type: "general-purpose", Status: "running"}
	recs := agentkit.Records{Known: knownTypes}
	var ends agentkit.Ends
	_, _, err := ends.Read(filepath.Join(dir, "agent-"+id+".jsonl"), 64<<10)
	if err != nil {
		return s, false
	}
	take := func(l agentkit.Line) {
		recs.Take(l, func(r *agentkit.Record) bool {
			x, ok := decode(r)
			if !ok {
				return false
			}
			if s.StartedAt == 0 {
				s.StartedAt = x.at()
			}
			switch text, _, isPrompt := x.prompt(); {
			case isPrompt:
				s.Title = or(s.Title, cutTo(firstLine(text), agent.LimitSubagentTitle))
				s.Status, s.EndedAt = "running", 0
			case x.Type == "assistant" && x.Message.StopReason == "end_turn":
				s.Status, s.EndedAt = "completed", x.at()
			}
			return true
		})
	}
	after := ends.First(func(l agentkit.Line) bool { take(l); return true })
	ends.Last(64<<10, after, take)
	if s.StartedAt == 0 {
		s.StartedAt = changed.UnixMilli()
	}
	return s, true
}
