package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/api"
)

func (p *program) searchCommand() *cobra.Command {
	var r api.SearchRequest
	var chat string
	var limit int
	var sessions bool
	c := p.jsonFlag(&cobra.Command{
		Use: "search TEXT", Short: "Find where something was said or done, newest first", Args: args(1, "one text (quote it)"),
		Long: "All words must occur in one message, tool call or output, also inside other words, whatever their case. " +
			`Words in double quotes belong together: whippletree search '"connection pool" timeout'`,
		RunE: func(c *cobra.Command, a []string) error {
			ctx := c.Context()
			return p.with(ctx, func(s *session) error {
				r.Text = a[0]
				if sessions {
					r.In = "sessions"
				}
				if chat != "" {
					found, err := p.find(ctx, s, chat)
					if err != nil {
						return err
					}
					r.ChatID = found.ID
				}
				if r.Cwd != "" {
					var err error
					if r.Cwd, err = absolute(p.cwd, r.Cwd); err != nil {
						return err
					}
				}
				got, err := searchAll(ctx, s, r, limit)
				if err != nil {
					return err
				}
				return showFound(p.out, p.err, got, p.json, time.Local)
			})
		},
	})
	c.Flags().IntVar(&limit, "limit", 50, "how many places; 0: all")
	c.Flags().StringVar(&chat, "chat", "", "only in this chat")
	c.Flags().StringVar(&r.Harness, "agent", "", "only in chats with this agent")
	c.Flags().StringVar(&r.Cwd, "cwd", "", "only in this folder and below")
	c.Flags().BoolVar(&sessions, "sessions", false, "in stored sessions that are no chats (setting search.sessions)")
	return c
}

// searchAll reads pages until there are enough hits or no more.
func searchAll(ctx context.Context, s *session, r api.SearchRequest, limit int) (api.SearchResult, error) {
	var all api.SearchResult
	for page := 0; ; page++ {
		r.Limit = 200
		if limit > 0 {
			r.Limit = min(200, limit-len(all.Hits))
		}
		got, err := api.Call[api.SearchResult](ctx, s.Client, "search.find", r)
		if err != nil {
			return all, err
		}
		if page == 0 {
			all = got
		} else {
			all.Hits = append(all.Hits, got.Hits...)
		}
		all.Next = got.Next
		if r.Cursor = got.Next; r.Cursor == "" || limit > 0 && len(all.Hits) >= limit {
			return all, nil
		}
	}
}

func showFound(w, notes io.Writer, got api.SearchResult, js bool, zone *time.Location) error {
	if got.Off {
		return fail(exitUnavailable, "whippletree settings set search.sessions true", "stored sessions are not read for the search")
	}
	if js {
		return printJSON(w, got)
	}
	for _, c := range got.Titles {
		fmt.Fprintf(safely{w}, "%s  %s  %s\n", c.ID, c.Harness, oneLine(c.Title))
	}
	for _, h := range got.Hits {
		place := h.ChatID
		if h.Key != nil {
			place = h.Key.Harness + "/" + h.Key.ID
		}
		at := ""
		if h.At > 0 {
			at = time.UnixMilli(h.At).In(zone).Format("2006-01-02 15:04")
		}
		fmt.Fprintf(safely{w}, "%s  %s  %s  %s  %s\n    %s\n", place, h.Agent, at, h.Type, oneLine(h.Title), oneLine(h.Text))
	}
	switch {
	case len(got.Hits)+len(got.Titles) == 0:
		fmt.Fprintln(w, "Nothing was found.")
	case got.Next != "":
		fmt.Fprintln(notes, "There may be more: --limit 0 shows all.")
	}
	return nil
}
