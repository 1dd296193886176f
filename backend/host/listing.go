package host

import (
	"slices"
	"strings"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// page cuts one page out of a list: what matches, behind the cursor, that fits one
// answer. The cursor is the id of the last one before it.
func page[T any](list []T, r api.Listing, id func(T) string, matches func(T, string) bool) (out []T, next string, total int, err error) {
	if find := strings.ToLower(r.Find); find != "" {
		list = slices.DeleteFunc(list, func(x T) bool { return !matches(x, find) })
	}
	total = len(list)
	if r.Cursor != "" {
		at := slices.IndexFunc(list, func(x T) bool { return id(x) == r.Cursor })
		if at < 0 {
			return []T{}, "", total, &api.Error{Code: api.CodeConflict, Message: "The list changed where it was to go on. Read it from the beginning."}
		}
		list = list[at+1:]
	}
	out = list
	if r.Limit > 0 && len(out) > r.Limit {
		out = out[:r.Limit]
	}
	if out = fit(out); len(out) == 0 && len(list) > 0 {
		out = list[:1] // too large for a page of its own: the connection says so
	}
	if len(out) < len(list) {
		next = id(out[len(out)-1])
	}
	return out, next, total, nil
}

func chatID(c model.ChatSummary) string { return c.ID }

func chatMatches(c model.ChatSummary, find string) bool {
	return strings.HasPrefix(strings.ToLower(c.ID), find) || c.Handle != nil && strings.ToLower(c.Handle.NativeID) == find ||
		strings.Contains(strings.ToLower(c.Title), find) || strings.Contains(strings.ToLower(c.Cwd), find)
}

func sessionID(s model.Session) string { return keyText(s.Key) }

func sessionMatches(s model.Session, find string) bool {
	return strings.HasPrefix(strings.ToLower(s.Key.ID), find) || strings.ToLower(keyText(s.Key)) == find ||
		strings.Contains(strings.ToLower(s.Title), find) || strings.Contains(strings.ToLower(s.Cwd), find)
}
