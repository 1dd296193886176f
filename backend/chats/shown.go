package chats

import (
	"encoding/json"
	"slices"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// payloadBytes is what a row may take in an event, with room for the envelope.
const payloadBytes = agent.LimitPayloadBytes - 4<<10

// shown is the row as a window gets it: long fields are shortened and named in
// Cut. What JSON escaping or many fields still make too long loses its bodies;
// the whole of everything is fetched by id.
func shown(row model.Row) model.Row {
	if row.Cut == nil { // a row that the store gave out is shortened already
		row = store.Shorten(row)
	}
	if rough(row) < payloadBytes/6 {
		return row
	}
	for _, keep := range []int{16 << 10, 4 << 10, 1 << 10} {
		if b, err := json.Marshal(row); err == nil && len(b) <= payloadBytes {
			return row
		}
		row = squeeze(row, keep)
	}
	return row
}

func rough(row model.Row) int {
	n := len(row.Text) + len(row.Output)
	for _, a := range row.Attachments {
		n += len(a.Bytes)
	}
	if d := row.Detail; d != nil {
		if d.Edit != nil {
			n += len(d.Edit.Diff) + len(d.Edit.Old) + len(d.Edit.New)
		}
		if d.Write != nil {
			n += len(d.Write.Content)
		}
		if d.Execute != nil {
			n += len(d.Execute.Command)
		}
		if d.Task != nil {
			n += len(d.Task.Prompt)
		}
		if d.MCP != nil {
			n += len(d.MCP.Input)
		}
		if d.Unknown != nil {
			n += len(d.Unknown.Input) + len(d.Unknown.Output)
		}
	}
	return n
}

// squeeze shortens every text field to keep bytes.
func squeeze(row model.Row, keep int) model.Row {
	cut := map[string]int64{}
	for k, v := range row.Cut {
		cut[k] = v
	}
	short := func(name string, s *string) {
		if len(*s) <= keep {
			return
		}
		if _, ok := cut[name]; !ok {
			cut[name] = int64(len(*s))
		}
		*s = string(wholeRunes([]byte((*s)[:keep])))
	}
	short("text", &row.Text)
	short("output", &row.Output)
	if row.Detail != nil {
		d := *row.Detail
		if d.Edit != nil {
			e := *d.Edit
			short("diff", &e.Diff)
			short("old", &e.Old)
			short("new", &e.New)
			d.Edit = &e
		}
		if d.Write != nil {
			w := *d.Write
			short("content", &w.Content)
			d.Write = &w
		}
		if d.Execute != nil {
			x := *d.Execute
			short("command", &x.Command)
			d.Execute = &x
		}
		if d.Task != nil {
			t := *d.Task
			short("prompt", &t.Prompt)
			d.Task = &t
		}
		raw := func(name string, r *json.RawMessage) {
			if len(*r) > keep {
				cut[name] = int64(len(*r))
				*r = nil
			}
		}
		if d.MCP != nil {
			m := *d.MCP
			raw("input", &m.Input)
			d.MCP = &m
		}
		if d.Unknown != nil {
			u := *d.Unknown
			raw("input", &u.Input)
			raw("result", &u.Output)
			d.Unknown = &u
		}
		row.Detail = &d
	}
	row.Cut = cut
	return row
}

// page takes rows from the end of a list while they fit one payload.
func page(rows []model.Row, fromEnd bool) []model.Row {
	total, n := 0, 0
	for n < len(rows) {
		i := n
		if fromEnd {
			i = len(rows) - 1 - n
		}
		rows[i] = shown(rows[i])
		b, err := json.Marshal(rows[i])
		if err != nil {
			break
		}
		if total += len(b); total > payloadBytes*3/4 && n > 0 {
			break
		}
		n++
	}
	if fromEnd {
		return rows[len(rows)-n:]
	}
	return rows[:n]
}

// cardBytes is what a card may take: several of them stand in one snapshot.
const cardBytes = 64 << 10

// shownCard is the card as a window gets it. What decides is never shortened
// silently: the field says so in its own text, and the tool's row has the whole.
func shownCard(card model.ApprovalCard) model.ApprovalCard {
	b, err := json.Marshal(card)
	if err != nil || len(b) <= cardBytes {
		return card
	}
	const keep = 8 << 10
	short := func(s *string) {
		if len(*s) > keep {
			*s = string(wholeRunes([]byte((*s)[:keep]))) + "\n[... shortened, the tool's row has the whole ...]"
		}
	}
	if card.Preview != nil {
		p := *card.Preview
		short(&p.Command)
		short(&p.Diff)
		if len(p.Input) > keep {
			p.Input = nil
		}
		if len(p.Files) > 200 {
			p.Files = p.Files[:200]
		}
		card.Preview = &p
	}
	if card.Plan != nil {
		p := *card.Plan
		short(&p.Text)
		card.Plan = &p
	}
	short(&card.Description)
	short(&card.Title)
	return card
}

// queueBytes is what a queue may take: it stands in a snapshot beside rows.
const queueBytes = 96 << 10

// shownQueue is the queue as a window gets it: without the bytes of attachments,
// which the window that sent them has, and with long texts shortened.
func shownQueue(queue []model.QueueEntry) []model.QueueEntry {
	list := append([]model.QueueEntry{}, queue...)
	for i := range list {
		list[i].Attachments = slices.Clone(list[i].Attachments)
		for j := range list[i].Attachments {
			list[i].Attachments[j].Bytes = nil
		}
	}
	total := 0
	for _, e := range list {
		total += len(e.Text)
	}
	keep := appendLimit
	if total > queueBytes/2 {
		keep = min(keep, queueBytes/2/len(list))
	}
	for ; keep >= 32; keep /= 2 {
		for i := range list {
			if e := &list[i]; len(e.Text) > keep {
				e.Text, e.Cut = string(wholeRunes([]byte(e.Text[:keep]))), len(queue[i].Text)
			}
		}
		if b, err := json.Marshal(list); err != nil || len(b) <= queueBytes {
			break
		}
	}
	return list
}
