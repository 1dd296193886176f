package agent

import (
	"bytes"
	"encoding/json"
)

// rowKey is the part of an item over which rows are compared: id, type,
// parent, text, tool kind, title, state and detail; not times, notices and
// approvals (DECISIONS 33).
type rowKey struct {
	ID, ParentID string
	Type         ItemType
	Text         string
	Tool         ToolKind
	Title        string
	State        ItemState
	Detail       *Detail
	Entries      []PlanEntry
	CallID, Name string
	Output       string
	AgentType    string
}

// RowBytes is the canonical form under which the same row is byte-equal in
// live stream, replay, mirror and import.
func RowBytes(it Item) []byte {
	b, err := json.Marshal(rowKey{
		ID: it.ID, ParentID: it.ParentID, Type: it.Type, Text: it.Text, Tool: it.Tool,
		Title: it.Title, State: it.State, Detail: it.Detail, Entries: it.Entries,
		CallID: it.CallID, Name: it.Name, Output: it.Output, AgentType: it.AgentType,
	})
	if err != nil { // only a broken RawMessage can fail
		return []byte(err.Error())
	}
	return b
}

// SameRow reports whether two items are the same row.
func SameRow(a, b Item) bool { return bytes.Equal(RowBytes(a), RowBytes(b)) }
