package agent

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// genItem draws an item of any type.
func genItem() *rapid.Generator[Item] {
	return rapid.Custom(func(t *rapid.T) Item {
		str := func(label string) string { return rapid.String().Draw(t, label) }
		it := Item{
			ID: str("id"), ParentID: str("parent"), At: rapid.Int64().Draw(t, "at"),
			Type: rapid.SampledFrom([]ItemType{ItemUser, ItemText, ItemReasoning, ItemTool, ItemPlan, ItemSubagent, ItemCompaction}).Draw(t, "type"),
		}
		switch it.Type {
		case ItemTool:
			it.CallID, it.Name, it.Title, it.Output = str("call"), str("name"), str("title"), str("output")
			it.Tool = rapid.SampledFrom([]ToolKind{ToolRead, ToolEdit, ToolExecute}).Draw(t, "kind")
			it.State = rapid.SampledFrom([]ItemState{StateRunning, StateCompleted, StateFailed}).Draw(t, "state")
			code := rapid.Int().Draw(t, "code")
			it.Detail = &Detail{Execute: &ExecuteDetail{Command: str("command"), ExitCode: &code}}
		case ItemPlan:
			it.Entries = []PlanEntry{{str("step"), "done"}}
		default:
			it.Text = str("text")
		}
		return it
	})
}

// TestRowIgnoresTimes: what differs between live stream and mirror
// is not part of the row.
func TestRowIgnoresTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genItem().Draw(t, "item")
		b := a
		b.At, b.StartedAt, b.EndedAt = rapid.Int64().Draw(t, "at2"), 5, 6
		b.ClientID, b.NativeID, b.Level = "client", "native", LevelInfo
		b.OutputSize, b.Cancelable, b.Locations = 9, true, []Location{{Path: "/x"}}
		if !SameRow(a, b) {
			t.Fatalf("%s\n%s", RowBytes(a), RowBytes(b))
		}
	})
}

// TestRowSurvivesTheStore: writing an item as JSON and reading it gives the
// same row.
func TestRowSurvivesTheStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genItem().Draw(t, "item")
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var b Item
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		if !SameRow(a, b) {
			t.Fatalf("%s\n%s", RowBytes(a), RowBytes(b))
		}
	})
}

// TestRowSeesEveryChange: each compared field makes another row.
func TestRowSeesEveryChange(t *testing.T) {
	base := Item{ID: "1", Type: ItemTool, CallID: "c", Name: "n", Tool: ToolExecute, State: StateRunning,
		Detail: &Detail{Execute: &ExecuteDetail{Command: "ls"}}}
	for name, change := range map[string]func(*Item){
		"id": func(i *Item) { i.ID = "2" }, "type": func(i *Item) { i.Type = ItemText },
		"parent": func(i *Item) { i.ParentID = "p" }, "text": func(i *Item) { i.Text = "x" },
		"kind": func(i *Item) { i.Tool = ToolRead }, "title": func(i *Item) { i.Title = "x" },
		"state": func(i *Item) { i.State = StateFailed }, "output": func(i *Item) { i.Output = "x" },
		"detail":  func(i *Item) { i.Detail = &Detail{Execute: &ExecuteDetail{Command: "ls -l"}} },
		"entries": func(i *Item) { i.Entries = []PlanEntry{{"a", "done"}} },
		"agent":   func(i *Item) { i.AgentType = "scout" },
	} {
		other := base
		change(&other)
		if SameRow(base, other) {
			t.Errorf("a change of the %s is not seen", name)
		}
	}
}

func TestCloseAt(t *testing.T) {
	at := time.UnixMilli(42)
	for _, c := range []struct {
		name       string
		item, want Item
	}{
		{"running tool", Item{Type: ItemTool, State: StateRunning}, Item{Type: ItemTool, State: StateCanceled, EndedAt: 42}},
		{"finished tool", Item{Type: ItemTool, State: StateCompleted}, Item{Type: ItemTool, State: StateCompleted}},
		{"open text", Item{Type: ItemText}, Item{Type: ItemText, EndedAt: 42}},
		{"ended text", Item{Type: ItemText, EndedAt: 7}, Item{Type: ItemText, EndedAt: 7}},
		{"plan", Item{Type: ItemPlan}, Item{Type: ItemPlan}},
	} {
		c.item.CloseAt(StateCanceled, at)
		if !SameRow(c.item, c.want) || c.item.EndedAt != c.want.EndedAt || c.item.Open() {
			t.Errorf("%s: %+v", c.name, c.item)
		}
	}
}

func TestHidden(t *testing.T) {
	for _, c := range []struct {
		it   Item
		want bool
	}{
		{Item{Type: ItemText, EndedAt: 1}, true},
		{Item{Type: ItemReasoning, EndedAt: 1}, true},
		{Item{Type: ItemText}, false},
		{Item{Type: ItemText, EndedAt: 1, Truncated: true}, false},
		{Item{Type: ItemText, EndedAt: 1, Text: "x"}, false},
		{Item{Type: ItemCompaction, State: StateCompleted, TakenBack: true}, true},
		{Item{Type: ItemCompaction, State: StateCompleted}, false},
		{Item{Type: ItemTool, State: StateCompleted}, false},
	} {
		if got := c.it.Hidden(); got != c.want {
			t.Errorf("%+v: %v", c.it, got)
		}
	}
}
