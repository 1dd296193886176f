package main

import (
	"context"
	"errors"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// listChats reads all pages of the chats that match; "" is all. One that moved
// while they were read is in the answer once, as it was seen last.
func listChats(ctx context.Context, s *session, find string) ([]model.ChatSummary, error) {
	return pages(func(r api.Listing) ([]model.ChatSummary, string, error) {
		r.Find = find
		got, err := api.Call[api.Chats](ctx, s.Client, "chats.list", r)
		return got.Chats, got.Next, err
	}, func(c model.ChatSummary) string { return c.ID })
}

// listSessions reads all pages of the sessions that match; "" is all.
func listSessions(ctx context.Context, s *session, find string) ([]model.Session, error) {
	return pages(func(r api.Listing) ([]model.Session, string, error) {
		r.Find = find
		got, err := api.Call[api.Sessions](ctx, s.Client, "sessions.list", r)
		return got.Sessions, got.Next, err
	}, func(x model.Session) string { return x.Key.Harness + "/" + x.Key.ID })
}

// pages begins anew, three times at most, when the place to go on is gone.
func pages[T any](read func(api.Listing) ([]T, string, error), id func(T) string) ([]T, error) {
	for try := 1; ; try++ {
		list, at := []T{}, map[string]int{}
		var r api.Listing
		for {
			got, next, err := read(r)
			var said *api.Error
			if errors.As(err, &said) && said.Code == api.CodeConflict && try < 3 {
				break
			}
			if err != nil {
				return nil, err
			}
			for _, x := range got {
				if i, ok := at[id(x)]; ok {
					list[i] = x
					continue
				}
				at[id(x)] = len(list)
				list = append(list, x)
			}
			if r.Cursor = next; next == "" {
				return list, nil
			}
		}
	}
}
