package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func (p *program) archiveCommand() *cobra.Command {
	var undo bool
	c := &cobra.Command{
		Use: "archive CHAT", Short: "Put a chat away; it stays readable and can be found", Args: args(1, "one chat"),
		RunE: func(c *cobra.Command, a []string) error {
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) error {
				value, err := json.Marshal(!undo)
				if err == nil {
					_, err = api.Call[api.SettingResult](c.Context(), s.Client, "chats.set", api.ChatSetting{ChatID: chat.ID, Name: "archived", Value: value})
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "bring it back")
	return c
}

func (p *program) removeCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "remove CHAT", Short: "Delete a chat for good; the agent's own session stays", Args: args(1, "one chat"),
		RunE: func(c *cobra.Command, a []string) error {
			ctx := c.Context()
			return p.withChat(ctx, a[0], func(s *session, chat model.ChatSummary) error {
				got, err := api.Call[api.Removal](ctx, s.Client, "chats.removal", api.ChatRef{ChatID: chat.ID})
				if err != nil {
					return err
				}
				describeRemoval(p.err, got)
				if !yes {
					if !terminal(p.in) {
						return fail(exitUsage, "whippletree remove --yes "+chat.ID, "nothing was deleted")
					}
					fmt.Fprint(p.err, "Delete it? [y/N] ")
					var word string
					if _, err := fmt.Fscanln(p.in, &word); err != nil || word != "y" && word != "Y" {
						return fail(exitCanceled, "", "nothing was deleted")
					}
				}
				_, err = api.Call[api.None](ctx, s.Client, "chats.remove", api.ChatRef{ChatID: chat.ID})
				return err
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// describeRemoval says what goes and what stays.
func describeRemoval(out io.Writer, r api.Removal) {
	w := safely{out}
	fmt.Fprintf(w, "%s: %d rows are deleted from Whippletree", orElse(oneLine(r.Chat.Title), r.Chat.ID), r.Rows)
	if r.Queued > 0 {
		fmt.Fprintf(w, ", %d prompts that were not sent", r.Queued)
	}
	fmt.Fprintln(w, ".")
	if r.Running {
		fmt.Fprintln(w, "Its turn is stopped first.")
	}
	switch {
	case r.AgentFile != "":
		fmt.Fprintf(w, "The agent's own session stays: %s\n", r.AgentFile)
	case r.AgentSession != "":
		fmt.Fprintf(w, "The agent's own session %s stays with the agent.\n", r.AgentSession)
	}
	if r.Backups != "" {
		fmt.Fprintf(w, "Copies of the database from before an update may still hold it: %s\n", r.Backups)
	}
	if r.InTerminal {
		fmt.Fprintln(w, "It goes on in its terminal.")
	}
}

func (p *program) removedCommand() *cobra.Command {
	var forget bool
	c := &cobra.Command{
		Use: "removed", Short: "List the archived chats that were deleted after the days you set", Args: args(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(s *session) error {
				if forget {
					_, err := api.Call[api.None](c.Context(), s.Client, "chats.forgetRemoved", api.None{})
					return err
				}
				got, err := api.Call[api.RemovedChats](c.Context(), s.Client, "chats.removed", api.None{})
				if err != nil {
					return err
				}
				return showRemoved(p.out, got, p.json, time.Local)
			})
		},
	}
	c.Flags().BoolVar(&forget, "forget", false, "empty this list")
	return p.jsonFlag(c)
}

func showRemoved(w io.Writer, got api.RemovedChats, js bool, zone *time.Location) error {
	if js {
		return printJSON(w, got)
	}
	if len(got.Removed) == 0 {
		fmt.Fprintln(w, "Nothing was deleted by itself.")
	}
	for _, r := range got.Removed {
		fmt.Fprintf(safely{w}, "%s  %s  %d rows  %s  %s\n", time.UnixMilli(r.At).In(zone).Format(time.DateTime), r.Agent, r.Rows, r.Cwd, oneLine(r.Title))
	}
	return nil
}
