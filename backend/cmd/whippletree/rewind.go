package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func (p *program) rewindCommand() *cobra.Command {
	var files, both, yes bool
	c := p.jsonFlag(&cobra.Command{
		Use: "rewind CHAT MESSAGE", Short: "Go back to before a message of yours", Args: args(2, "a chat and a message"),
		Long: "Shows what going back to before a message of yours would do; with --yes it is done. MESSAGE is the row's id, or a number: 1 is your newest message, 2 the one before.",
		RunE: func(c *cobra.Command, a []string) error {
			r := api.RewindRequest{What: "conversation"}
			switch {
			case both:
				r.What = "both"
			case files:
				r.What = "files"
			}
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) (err error) {
				r.ChatID = chat.ID
				if r.ItemID, err = message(c.Context(), s, chat.ID, a[1]); err != nil {
					return err
				}
				if yes {
					_, err = api.Call[api.None](c.Context(), s.Client, "chats.rewind", r)
					return err
				}
				got, err := api.Call[api.RewindPreview](c.Context(), s.Client, "chats.rewindPreview", r)
				if err != nil {
					return err
				}
				return showRewind(p.out, got, r.What, p.json)
			})
		},
	})
	c.Flags().BoolVar(&files, "files", false, "the files that the agent changed since, not the conversation")
	c.Flags().BoolVar(&both, "both", false, "the conversation and the files")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}

// message finds the row of a message of the person's by its id or by how far
// back it is.
func message(ctx context.Context, s *session, chat, name string) (string, error) {
	back, err := strconv.Atoi(name)
	if err != nil || back < 1 {
		return name, nil
	}
	for before := int64(0); ; {
		got, err := api.Call[api.RowsResult](ctx, s.Client, "chats.rows", api.RowsRequest{ChatID: chat, Before: before, Limit: 200})
		if err != nil {
			return "", err
		}
		for i := len(got.Rows) - 1; i >= 0; i-- {
			if got.Rows[i].Type != agent.ItemUser {
				continue
			}
			if back--; back == 0 {
				return got.Rows[i].ID, nil
			}
		}
		if len(got.Rows) == 0 || got.Rows[0].Seq <= 1 {
			return "", fail(exitNotFound, "whippletree attach "+chat, "there are not that many messages of yours in this chat")
		}
		before = got.Rows[0].Seq
	}
}

func showRewind(w io.Writer, got api.RewindPreview, what string, js bool) error {
	if js {
		return printJSON(w, got)
	}
	w = safely{w}
	if what != "files" {
		if got.Conversation {
			fmt.Fprintf(w, "%d rows would leave the conversation.\n", got.Rows)
		} else {
			fmt.Fprintln(w, "The conversation cannot go back: "+orElse(got.WhyNot, "no reason is given"))
		}
	}
	switch f := got.Files; {
	case f == nil:
		fmt.Fprintln(w, "This agent cannot put files back.")
	case !f.Possible:
		fmt.Fprintln(w, "The files cannot be put back: "+orElse(f.WhyNot, "no reason is given"))
	case len(f.Files) == 0:
		fmt.Fprintln(w, "The agent has changed no file since.")
	case what == "conversation":
		fmt.Fprintf(w, "%d files that the agent changed since would stay as they are (--both puts them back).\n", len(f.Files))
	default:
		fmt.Fprintf(w, "%d files would be put back (+%d -%d lines); what commands changed is not among them:\n", len(f.Files), f.Insertions, f.Deletions)
		for _, name := range f.Files {
			fmt.Fprintln(w, "  "+oneLine(name))
		}
	}
	fmt.Fprintln(w, "Nothing was changed. With --yes it is done.")
	return nil
}
