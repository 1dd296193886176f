package agent

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Issue is one broken rule: Path like "$.subagents[1].id", Code one of the
// closed list in EXTENSION-API.md section 2.
type Issue struct {
	Path    string `json:"path"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// UTF16Len counts UTF-16 code units, the unit of every length limit.
func UTF16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(replaceInvalid(r))
	}
	return n
}

func replaceInvalid(r rune) rune {
	if utf16.RuneLen(r) < 0 {
		return utf8.RuneError
	}
	return r
}

type issues struct{ list []Issue }

func (is *issues) add(path, code, message string) {
	is.list = append(is.list, Issue{path, code, message})
}

func (is *issues) text(path, v string, min, max int) {
	n := UTF16Len(v)
	switch {
	case n < min:
		is.add(path, "invalid_string", "must not be empty")
	case n > max:
		is.add(path, "invalid_string", "is longer than "+strconv.Itoa(max)+" UTF-16 units")
	case strings.ContainsRune(v, 0):
		is.add(path, "invalid_string", "holds a NUL")
	}
}

func (is *issues) enum(path, v string, allowed ...string) {
	for _, a := range allowed {
		if v == a {
			return
		}
	}
	is.add(path, "invalid_enum", "is not one of "+strings.Join(allowed, ", "))
}

func (is *issues) time(path string, v int64) {
	if v < 0 || v > MaxTime {
		is.add(path, "invalid_integer", "is not a time in epoch milliseconds")
	}
}

// ValidateSnapshot checks the closed rules of a session snapshot; an empty
// result means valid. enabled says whether the harness is declared and on.
func ValidateSnapshot(s Snapshot, enabled func(harness string) bool) []Issue {
	var is issues
	is.text("$.id", s.ID, 1, LimitSessionID)
	is.text("$.harness", s.Harness, 1, LimitHarness)
	if s.Harness != "" && enabled != nil && !enabled(s.Harness) {
		is.add("$.harness", "harness_not_enabled", "is not declared by this source or is switched off")
	}
	if s.Pid < 0 || s.Pid > MaxPid || (s.Pid == 0 && s.Link == LinkProved) {
		is.add("$.pid", "invalid_integer", "is not a process id")
	}
	is.text("$.cwd", s.Cwd, 1, LimitCwd)
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		is.add("$.cwd", "invalid_path", "is not absolute")
	}
	is.text("$.title", s.Title, 0, LimitTitle)
	is.text("$.model", s.Model, 0, LimitModel)
	is.text("$.waitingFor", s.WaitingFor, 0, LimitWaitingFor)
	is.text("$.tool", s.Tool, 0, LimitTool)
	is.text("$.error", s.Error, 0, LimitError)
	is.text("$.evidence", s.Evidence, 0, LimitEvidence)
	is.enum("$.status", string(s.Status), "", "starting", "running", "waiting", "blocked", "idle")
	is.enum("$.waitingKind", string(s.WaitingKind), "", "approval", "question", "plan", "mode", "signin", "limit", "trust", "unknown")
	is.enum("$.lastTurn", s.LastTurn, "", "completed", "failed", "interrupted")
	is.enum("$.evidenceKind", s.EvidenceKind, "", "server", "registry", "transcript")
	is.enum("$.link", string(s.Link), "", "proved", "inferred", "ambiguous")
	is.time("$.lastTurnEndedAt", s.LastTurnEndedAt)
	is.time("$.statusAt", s.StatusAt)
	if len(s.Subagents) > LimitSubagents {
		is.add("$.subagents", "invalid_array", "has more than "+strconv.Itoa(LimitSubagents)+" entries")
	}
	seen := map[string]bool{}
	for i, sub := range s.Subagents {
		p := "$.subagents[" + strconv.Itoa(i) + "]"
		is.text(p+".id", sub.ID, 1, LimitSubagentID)
		if seen[sub.ID] {
			is.add(p+".id", "duplicate", "appears twice")
		}
		seen[sub.ID] = true
		is.text(p+".parentId", sub.ParentID, 0, LimitSubagentID)
		is.text(p+".type", sub.Type, 1, LimitSubagentType)
		is.text(p+".title", sub.Title, 0, LimitSubagentTitle)
		is.enum(p+".status", sub.Status, "running", "completed", "failed", "cancelled")
	}
	return is.list
}

// ValidateItem checks an item of a provider.
func ValidateItem(it Item) []Issue {
	var is issues
	is.text("$.id", it.ID, 1, LimitID)
	is.text("$.parentId", it.ParentID, 0, LimitID)
	is.enum("$.type", string(it.Type), "user", "text", "reasoning", "tool", "plan", "subagent", "compaction", "notice", "error")
	switch it.Type {
	case ItemTool:
		is.text("$.callId", it.CallID, 1, LimitCallID)
		is.text("$.name", it.Name, 1, LimitToolName)
		is.text("$.server", it.Server, 0, LimitServer)
		is.enum("$.kind", string(it.Tool), "read", "edit", "write", "execute", "search", "fetch", "think", "mcp", "task", "question", "other")
		is.state(it.State)
	case ItemSubagent, ItemCompaction:
		is.state(it.State)
	case ItemPlan:
		for i, e := range it.Entries {
			is.enum("$.entries["+strconv.Itoa(i)+"].status", e.Status, "pending", "active", "done")
		}
	case ItemNotice:
		is.enum("$.level", string(it.Level), "info", "warning")
	}
	return is.list
}

func (is *issues) state(s ItemState) {
	is.enum("$.state", string(s), "running", "completed", "failed", "canceled", "declined")
}
