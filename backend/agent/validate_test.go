package agent

import (
	"slices"
	"strings"
	"testing"
)

func goodSnapshot() Snapshot {
	return Snapshot{ID: "1", Harness: "h", Pid: 7, Cwd: "/w", Status: StatusIdle, Link: LinkProved}
}

func TestValidateSnapshot(t *testing.T) {
	for _, c := range []struct {
		name, path, code string
		change           func(*Snapshot)
	}{
		{"valid", "", "", func(*Snapshot) {}},
		{"valid without a status", "", "", func(s *Snapshot) { s.Status = "" }},
		{"valid without a pid", "", "", func(s *Snapshot) { s.Pid, s.Link = 0, "" }},
		{"longest id", "", "", func(s *Snapshot) { s.ID = strings.Repeat("x", LimitSessionID) }},
		{"last time", "", "", func(s *Snapshot) { s.LastTurnEndedAt = MaxTime }},
		{"no id", "$.id", "invalid_string", func(s *Snapshot) { s.ID = "" }},
		{"long id", "$.id", "invalid_string", func(s *Snapshot) { s.ID = strings.Repeat("x", LimitSessionID+1) }},
		{"long id in UTF-16", "$.id", "invalid_string", func(s *Snapshot) { s.ID = strings.Repeat("🜚", LimitSessionID/2+1) }},
		{"no harness", "$.harness", "invalid_string", func(s *Snapshot) { s.Harness = "" }},
		{"another harness", "$.harness", "harness_not_enabled", func(s *Snapshot) { s.Harness = "other" }},
		{"negative pid", "$.pid", "invalid_integer", func(s *Snapshot) { s.Pid = -1 }},
		{"proved without a pid", "$.pid", "invalid_integer", func(s *Snapshot) { s.Pid = 0 }},
		{"relative folder", "$.cwd", "invalid_path", func(s *Snapshot) { s.Cwd = "w" }},
		{"no folder", "$.cwd", "invalid_string", func(s *Snapshot) { s.Cwd = "" }},
		{"NUL in the folder", "$.cwd", "invalid_string", func(s *Snapshot) { s.Cwd = "/w\x00" }},
		{"long title", "$.title", "invalid_string", func(s *Snapshot) { s.Title = strings.Repeat("x", LimitTitle+1) }},
		{"unknown status", "$.status", "invalid_enum", func(s *Snapshot) { s.Status = "asleep" }},
		{"unknown waiting kind", "$.waitingKind", "invalid_enum", func(s *Snapshot) { s.WaitingKind = "coffee" }},
		{"unknown last turn", "$.lastTurn", "invalid_enum", func(s *Snapshot) { s.LastTurn = "lost" }},
		{"unknown link", "$.link", "invalid_enum", func(s *Snapshot) { s.Link = "guessed" }},
		{"time before the epoch", "$.lastTurnEndedAt", "invalid_integer", func(s *Snapshot) { s.LastTurnEndedAt = -1 }},
		{"time past the limit", "$.statusAt", "invalid_integer", func(s *Snapshot) { s.StatusAt = MaxTime + 1 }},
		{"too many sub-agents", "$.subagents", "invalid_array", func(s *Snapshot) {
			s.Subagents = make([]SubagentInfo, LimitSubagents+1)
		}},
		{"sub-agent twice", "$.subagents[1].id", "duplicate", func(s *Snapshot) {
			a := SubagentInfo{ID: "a", Type: "scout", Status: "running"}
			s.Subagents = []SubagentInfo{a, a}
		}},
		{"sub-agent status", "$.subagents[0].status", "invalid_enum", func(s *Snapshot) {
			s.Subagents = []SubagentInfo{{ID: "a", Type: "scout", Status: "canceled"}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := goodSnapshot()
			c.change(&s)
			expect(t, ValidateSnapshot(s, func(h string) bool { return h == "h" }), c.path, c.code)
		})
	}
}

func TestValidateItem(t *testing.T) {
	tool := Item{ID: "1", Type: ItemTool, CallID: "c", Name: "run", Tool: ToolExecute, State: StateRunning}
	with := func(it Item, change func(*Item)) Item { change(&it); return it }
	for _, c := range []struct {
		name, path, code string
		item             Item
	}{
		{"text", "", "", Item{ID: "1", Type: ItemText}},
		{"tool", "", "", tool},
		{"plan", "", "", Item{ID: "1", Type: ItemPlan, Entries: []PlanEntry{{"a", "active"}}}},
		{"notice", "", "", Item{ID: "1", Type: ItemNotice, Level: LevelInfo}},
		{"no id", "$.id", "invalid_string", Item{Type: ItemText}},
		{"unknown type", "$.type", "invalid_enum", Item{ID: "1", Type: "poem"}},
		{"no call id", "$.callId", "invalid_string", with(tool, func(i *Item) { i.CallID = "" })},
		{"no name", "$.name", "invalid_string", with(tool, func(i *Item) { i.Name = "" })},
		{"unknown kind", "$.kind", "invalid_enum", with(tool, func(i *Item) { i.Tool = "hammer" })},
		{"no state", "$.state", "invalid_enum", with(tool, func(i *Item) { i.State = "" })},
		{"sub-agent state", "$.state", "invalid_enum", Item{ID: "1", Type: ItemSubagent, State: "asleep"}},
		{"plan status", "$.entries[1].status", "invalid_enum", Item{ID: "1", Type: ItemPlan, Entries: []PlanEntry{{"a", "done"}, {"b", "maybe"}}}},
		{"notice level", "$.level", "invalid_enum", Item{ID: "1", Type: ItemNotice}},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, ValidateItem(c.item), c.path, c.code) })
	}
}

func expect(t *testing.T, got []Issue, path, code string) {
	t.Helper()
	if path == "" {
		if len(got) > 0 {
			t.Errorf("issues %+v", got)
		}
		return
	}
	if !slices.ContainsFunc(got, func(i Issue) bool { return i.Path == path && i.Code == code }) {
		t.Errorf("issues %+v, want %s at %s", got, code, path)
	}
}

func TestUTF16Len(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "привет": 6, "👩‍👩‍👧": 8, "\xff": 1} {
		if got := UTF16Len(s); got != want {
			t.Errorf("UTF16Len(%q) = %d, not %d", s, got, want)
		}
	}
}
