package claudecode

import (
	"context"
	"errors"
	"io/fs"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// maxPage bounds how far a page goes back to begin with a prompt, in bytes.
const maxPage = 32 << 20

// pageLine bounds one line of a page in bytes.
const pageLine = 1 << 20

// placed is a record with where it stands.
type placed struct {
	record
	offset int64
}

// ReadPage implements [agent.PageReader]. A page begins with something that a
// person said, so that a tool's call and its result are in one. Which branch is
// shown is known from the page itself and from the page behind it. A call without
// a result is open: a page says nothing of processes.
func (h *handover) ReadPage(ctx context.Context, hd agent.Handle, before agent.Position, n int64) ([]agent.PagedItem, agent.Position, error) {
	if err := checkID(hd.NativeID); err != nil {
		return nil, agent.Position{}, err
	}
	path, ok := transcriptPath(configDir(h.host, hd.Env), hd.NativeID, hd.Cwd)
	if !ok {
		return nil, agent.Position{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	for n = max(n, 1); ; n *= 4 {
		list, from, err := readRecords(path, before.Offset, n)
		if err != nil || ctx.Err() != nil {
			return nil, agent.Position{}, errors.Join(err, context.Cause(ctx))
		}
		begin := 0
		for begin < len(list) && from > 0 && !list[begin].begins() {
			begin++
		}
		if begin == len(list) && from > 0 && n < maxPage {
			continue // one long turn
		}
		if begin < len(list) && begin > 0 {
			from, list = list[begin].offset, list[begin:]
		}
		rows, parent := pageRows(list, before)
		at := agent.Position{Offset: from, RecordID: parent}
		if from == 0 {
			at.RecordID = ""
		}
		return rows, at, nil
	}
}

// begins reports whether a page can begin with a record.
func (p *placed) begins() bool {
	_, _, ok := p.prompt()
	return ok && p.UUID != "" && !p.IsSidechain
}

// readRecords reads the records of about n bytes before an offset, 0 being the
// end.
func readRecords(path string, before, n int64) (list []placed, from int64, err error) {
	recs := newRecords()
	take := func(l agentkit.Line) {
		eachRecord(recs, l, func(r *record) { list = append(list, placed{*r, l.Offset}) })
	}
	tail, from, err := agentkit.TailFirst(path, n)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, tail.Close()) }()
	tail.SetMaxLine(pageLine)
	if before == 0 {
		_, err = tail.Read(take)
	} else {
		from, err = tail.Before(before, n, take)
	}
	return list, from, err
}

// pageRows makes the rows of the branch that goes on behind the page. parent is
// the record before the first one of that branch.
func pageRows(list []placed, before agent.Position) (rows []agent.PagedItem, parent string) {
	c := newChain()
	for i := range list {
		c.add(&list[i].record)
	}
	on := c.path()
	if before.RecordID != "" {
		if _, known := c.parent[before.RecordID]; !known { // all of the page was left behind
			return nil, before.RecordID
		}
		on = c.pathTo(before.RecordID)
	}
	at := map[string]int{}
	var place agent.Position
	rs := newRows(func(it agent.Item) {
		if i, ok := at[it.ID]; ok {
			rows[i].Item = it
			return
		}
		at[it.ID] = len(rows)
		rows = append(rows, agent.PagedItem{Item: it, At: place})
	})
	first := true
	for i := range list {
		r := &list[i].record
		if r.UUID == "" || r.IsSidechain || !on[r.UUID] {
			continue
		}
		if first {
			first, parent = false, or(r.ParentUUID, r.LogicalParent)
		}
		if list[i].begins() || len(rows) == 0 {
			place = agent.Position{Offset: list[i].offset, RecordID: or(r.ParentUUID, r.LogicalParent)}
		}
		rs.add(r, -1)
	}
	return rows, parent
}

var _ agent.PageReader = (*handover)(nil)
