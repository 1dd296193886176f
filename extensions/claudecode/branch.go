package claudecode

import (
	"slices"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// chain is the tree of a transcript's records. Two writers, or going back to
// an earlier message, make branches; a resume follows one of them.
type chain struct {
	parent map[string]string
	order  []string        // in file order
	prompt map[string]bool // records that a person wrote
	rows   map[string]bool // records that become rows
	text   map[string]string
	// One answer of the model is several records, and parallel tools answer
	// each to its own call: neither is a branch.
	message map[string]string   // record -> message id
	of      map[string][]string // message id -> records
	results map[string][]string // record -> tool results that hang on it
	leaf    string              // where the newest last-prompt record points
	// rewound is set once a person went back; the records before from that hang
	// on the leaf were taken back then.
	rewound bool
	from    int
	last    string
}

func newChain() *chain {
	return &chain{
		parent: map[string]string{}, prompt: map[string]bool{}, rows: map[string]bool{}, text: map[string]string{},
		message: map[string]string{}, of: map[string][]string{}, results: map[string][]string{},
	}
}

// add takes the next record of the file.
func (c *chain) add(r *record) {
	if r.Type == "last-prompt" && (r.LeafUUID != "" || r.Rewound) {
		c.leaf = r.LeafUUID
		if r.Rewound {
			c.rewound, c.from = true, len(c.order)
		}
		return
	}
	if r.UUID == "" || r.IsSidechain {
		return
	}
	if _, known := c.parent[r.UUID]; known {
		return
	}
	parent := r.ParentUUID
	if parent == "" {
		parent = r.LogicalParent
	}
	if parent == "" && r.Type == "system" && r.Subtype == "compact_boundary" {
		parent = c.last // the chain begins anew after a compaction
	}
	if _, known := c.parent[parent]; !known {
		parent = ""
	}
	c.parent[r.UUID] = parent
	c.order = append(c.order, r.UUID)
	c.last = r.UUID
	switch r.Type {
	case "assistant":
		c.rows[r.UUID] = true
		c.message[r.UUID] = r.Message.ID
		c.of[r.Message.ID] = append(c.of[r.Message.ID], r.UUID)
	case "user":
		c.rows[r.UUID] = true
		if r.answers() {
			c.results[parent] = append(c.results[parent], r.UUID)
		}
	}
	if text, _, ok := r.prompt(); ok {
		c.prompt[r.UUID] = true
		c.text[r.UUID] = cutTo(firstLine(text), 120)
	}
}

// path returns the records on the branch that a resume would follow: from the
// leaf of the newest last-prompt record back to the beginning, and onwards from
// it along the newest records.
func (c *chain) path() map[string]bool {
	leaf := c.leaf
	if _, known := c.parent[leaf]; !known && !(c.rewound && leaf == "") {
		leaf = c.last
	}
	for _, id := range c.order[c.from:] { // what came after the leaf, in file order
		// Behind a way back to the beginning a new beginning counts.
		if p := c.parent[id]; p == leaf && (p != "" || c.rewound) {
			leaf = id
		}
	}
	return c.pathTo(leaf)
}

// branches lists what the path leaves out, one entry for each end.
func (c *chain) branches(on map[string]bool) []agent.Branch {
	hasChild := map[string]bool{}
	for id, p := range c.parent {
		if !on[id] {
			hasChild[p] = true
		}
	}
	var list []agent.Branch
	for _, id := range slices.Backward(c.order) {
		if on[id] || hasChild[id] {
			continue
		}
		b := agent.Branch{LeafID: id}
		for at := id; at != "" && !on[at]; at = c.parent[at] {
			if c.rows[at] {
				b.Items++
			}
			if c.prompt[at] {
				b.Text = c.text[at]
			}
		}
		if b.Items > 0 {
			list = append(list, b)
		}
	}
	slices.Reverse(list)
	return list
}

// pathTo returns the records from the beginning to the given one, with all
// parts of the messages on the way and what the tools answered to them.
func (c *chain) pathTo(id string) map[string]bool {
	on := map[string]bool{}
	// A parent is always an earlier record (see add), so this ends.
	for ; id != ""; id = c.parent[id] {
		c.put(on, id)
	}
	return on
}

func (c *chain) put(on map[string]bool, id string) {
	if on[id] {
		return
	}
	on[id] = true
	for _, res := range c.results[id] {
		c.put(on, res)
	}
	if msg := c.message[id]; msg != "" {
		for _, part := range c.of[msg] {
			c.put(on, part)
		}
	}
}

// extend takes a record that was just added to a path which ended at tip. It
// stays the same path unless the record turns off earlier.
func (c *chain) extend(on map[string]bool, tip, id string) map[string]bool {
	parent := c.parent[id]
	part := c.message[id] != "" && len(c.of[c.message[id]]) > 1 && on[c.of[c.message[id]][0]]
	if on[parent] && (parent == tip || part || slices.Contains(c.results[parent], id)) {
		on[id] = true
		return on
	}
	return c.pathTo(id)
}
