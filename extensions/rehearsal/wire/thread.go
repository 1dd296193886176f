package wire

import (
	"bytes"
	"encoding/json"
)

// ParseRecord reads one line of a session file. NUL bytes that a crash left
// around a record are dropped. ok is false for a line that is no record.
func ParseRecord(line []byte) (rec Record, ok bool) {
	line = bytes.TrimSpace(bytes.Trim(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), "\x00"))
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &rec) != nil {
		return Record{}, false
	}
	return rec, rec.ID != "" && rec.Type != ""
}

// Leaf is a line of records that the newest record does not descend from.
type Leaf struct {
	ID      string // its last record
	Records []Record
}

// Thread returns the records a resume follows (from the newest record up by
// its parents) in file order, and the leaves it leaves out.
func Thread(all []Record) (thread []Record, leaves []Leaf) {
	if len(all) == 0 {
		return nil, nil
	}
	index := make(map[string]int, len(all))
	isParent := make(map[string]bool, len(all))
	for i, r := range all {
		index[r.ID] = i
		isParent[r.Parent] = true
	}
	taken := make([]bool, len(all))
	climb := func(i int) (path []int) {
		for !taken[i] {
			taken[i] = true
			path = append(path, i)
			up, ok := index[all[i].Parent]
			if !ok || up >= i {
				break
			}
			i = up
		}
		return path
	}
	climb(len(all) - 1)
	for i, r := range all {
		if taken[i] {
			thread = append(thread, r)
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		if taken[i] || isParent[all[i].ID] {
			continue
		}
		leaf := Leaf{ID: all[i].ID}
		path := climb(i)
		for j := len(path) - 1; j >= 0; j-- {
			leaf.Records = append(leaf.Records, all[path[j]])
		}
		leaves = append(leaves, leaf)
	}
	return thread, leaves
}
