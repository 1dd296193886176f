package host

import (
	"context"
	"encoding/json"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
)

// pageBytes is how much of a file a page is made of; pageText bounds one text of
// it in bytes.
const (
	pageBytes = 256 << 10
	pageText  = 32 << 10
)

// sessionRows reads a page of a session on disk, from its end.
func (h *Host) sessionRows(ctx context.Context, _ *api.Caller, r api.SessionPageRequest) (api.SessionPage, error) {
	x, on, ok := h.harnesses.Harness(r.Handle.Harness)
	pages, can := x.Handover.(agent.PageReader)
	switch {
	case !ok:
		return api.SessionPage{}, notFound("There is no agent %q.", r.Handle.Harness)
	case !on:
		return api.SessionPage{}, &api.Error{Code: api.CodeUnavailable, Message: x.Identity.DisplayName + " is switched off in Settings."}
	case !can:
		return api.SessionPage{}, &api.Error{Code: api.CodeUnsupported, Message: "Sessions of " + x.Identity.DisplayName + " cannot be read page by page."}
	}
	var before agent.Position
	if r.Before != nil {
		before = *r.Before
	}
	rows, from, err := pages.ReadPage(ctx, r.Handle, before, pageBytes)
	if err != nil {
		return api.SessionPage{}, &api.Error{Code: api.CodeUnavailable, Message: "The session cannot be read: " + err.Error() + "."}
	}
	return fitPage(rows, from), nil
}

// fitPage keeps as many of the last rows as an answer holds. A page is cut where
// its rows say that it can be.
func fitPage(rows []agent.PagedItem, from agent.Position) api.SessionPage {
	page := api.SessionPage{Items: make([]agent.Item, len(rows))}
	size, first := 2, 0
	for i := len(rows) - 1; i >= 0; i-- {
		it := rows[i].Item
		it.Text, it.Output = cutText(it.Text, pageText), cutText(it.Output, pageText)
		page.Items[i] = it
		raw, err := json.Marshal(it)
		if err != nil {
			continue
		}
		if size += len(raw) + 1; size > room && first == 0 {
			first = i + 1
		}
	}
	for first > 0 && first < len(rows) && rows[first].At == rows[first-1].At {
		first++
	}
	if first >= len(rows) && first > 0 { // one turn is more than an answer holds: its end
		first = lastFitting(page.Items)
		from = rows[0].At
	} else if first > 0 {
		from = rows[first].At
	}
	page.Items = page.Items[first:]
	if from.Offset > 0 {
		page.Before = &from
	}
	return page
}

// lastFitting is the index of the first of the last items that an answer holds.
func lastFitting(items []agent.Item) int {
	size := 2
	for i := len(items) - 1; i >= 0; i-- {
		raw, err := json.Marshal(items[i])
		if err != nil {
			return i + 1
		}
		if size += len(raw) + 1; size > room {
			return i + 1
		}
	}
	return 0
}
