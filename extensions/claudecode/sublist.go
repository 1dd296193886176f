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
	return filepath.Join(strings.TrimSuffix(transcript, ".jsonl"), "subagents")
}

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
	for _, e := range entries {
		id, isMeta := strings.CutSuffix(e.Name(), ".meta.json")
		id, isAgent := strings.CutPrefix(id, "agent-")
		if !isMeta || !isAgent || checkID(id) != nil {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		k, seen := c.known[path]
		if !seen || !k.mtime.Equal(info.ModTime()) {
			sub, ok := readSub(dir, id, info.ModTime())
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
