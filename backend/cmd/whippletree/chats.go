package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// printJSON prints one document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table prints rows with aligned columns.
func table(w io.Writer, head string, rows [][]string) error {
	t := tabwriter.NewWriter(safely{w}, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ReplaceAll(head, " ", "\t"))
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	return t.Flush()
}

func (p *program) chatsCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use: "chats [TEXT]", Short: "List the chats, or those with a text in their title, folder or id", Args: func(c *cobra.Command, a []string) error {
			if len(a) > 1 {
				return fail(exitUsage, c.CommandPath()+" --help", "%s takes one text", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, a []string) error {
			return p.with(c.Context(), func(s *session) error {
				list, err := listChats(c.Context(), s, strings.Join(a, ""))
				if err != nil {
					return err
				}
				return showChats(p.out, api.Chats{Chats: list}, p.json)
			})
		},
	})
}

func showChats(w io.Writer, got api.Chats, js bool) error {
	if js {
		return printJSON(w, got)
	}
	var rows [][]string
	for _, c := range got.Chats {
		rows = append(rows, []string{c.ID, c.Harness, string(c.State), string(c.Hand.State), c.Cwd, oneLine(c.Title)})
	}
	return table(w, "ID AGENT STATE OWNER FOLDER TITLE", rows)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// find looks a chat up by its id, a beginning of it, or the session's id.
func (p *program) find(ctx context.Context, s *session, id string) (model.ChatSummary, error) {
	list, err := listChats(ctx, s, id)
	if err != nil {
		return model.ChatSummary{}, err
	}
	return findChat(list, id)
}

func findChat(list []model.ChatSummary, id string) (model.ChatSummary, error) {
	var found []model.ChatSummary
	for _, c := range list {
		if c.ID == id || (c.Handle != nil && c.Handle.NativeID == id) {
			return c, nil
		}
		if len(id) >= 4 && strings.HasPrefix(c.ID, id) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return model.ChatSummary{}, fail(exitNotFound, "whippletree chats", "there is no chat %q", id)
	}
	return model.ChatSummary{}, fail(exitUsage, "whippletree chats", "%d chats begin with %q", len(found), id)
}

// withChat is with for commands that name a chat.
func (p *program) withChat(ctx context.Context, id string, f func(*session, model.ChatSummary) error) error {
	return p.with(ctx, func(s *session) error {
		c, err := p.find(ctx, s, id)
		if err != nil {
			return err
		}
		return f(s, c)
	})
}

func (p *program) attachCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use: "attach CHAT|TERMINAL", Short: "Show a chat or a terminal and what happens in it", Args: args(1, "one chat or terminal"),
		Long: "Shows a chat until Ctrl-C. A terminal of Whippletree is shown and typed into until its program ends or Ctrl-] is typed.",
		RunE: func(c *cobra.Command, a []string) error {
			ctx := c.Context()
			return p.with(ctx, func(s *session) error {
				ours, err := isOurTerminal(ctx, s, a[0])
				if err != nil {
					return err
				}
				if ours {
					return p.attachTerminal(ctx, s, a[0])
				}
				chat, err := p.find(ctx, s, a[0])
				if err != nil {
					return err
				}
				return p.attachChat(ctx, s, chat)
			})
		},
	})
}

func (p *program) attachChat(ctx context.Context, s *session, chat model.ChatSummary) error {
	var to watcher
	if p.json {
		l := newLines(p.out)
		l.begin(chat)
		to = l
	} else {
		pl := newPlain(p.out, p.err, func(c model.ApprovalCard) { p.asked(ctx, s, c) })
		pl.user = true
		to = pl
	}
	if err := newFollower(to, "").start(ctx, s.Client, chat.ID, true); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.Done():
		return fail(exitInterrupted, "whippletree attach "+chat.ID, "the host ended")
	}
}

func (p *program) sendCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use: "send CHAT TEXT", Short: "Send a prompt to a chat and show its turn", Args: args(2, "a chat and a text"),
		RunE: func(c *cobra.Command, a []string) error {
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) error {
				return p.prompt(c.Context(), s, chat, a[1])
			})
		},
	})
}

func (p *program) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop CHAT", Short: "Stop the running turn of a chat", Args: args(1, "one chat"),
		RunE: func(c *cobra.Command, a []string) error {
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) error {
				got, err := api.Call[api.StopResult](c.Context(), s.Client, "chats.stop", api.ChatRef{ChatID: chat.ID})
				if err == nil && got.Error != "" {
					err = fail(exitFailed, "whippletree stop "+chat.ID, "it is still stopping: %s", got.Error)
				}
				return err
			})
		},
	}
}

func (p *program) approvalsCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use: "approvals", Short: "List what agents wait for", Args: args(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(s *session) error {
				got, err := api.Call[api.Approvals](c.Context(), s.Client, "approvals.list", api.None{})
				if err != nil {
					return err
				}
				return showApprovals(p.out, got, p.json)
			})
		},
	})
}

func showApprovals(w io.Writer, got api.Approvals, js bool) error {
	if js {
		return printJSON(w, got)
	}
	if len(got.Approvals) == 0 {
		fmt.Fprintln(w, "Nothing waits for you.")
	}
	for _, c := range got.Approvals {
		fmt.Fprint(safely{w}, describe(c))
	}
	return nil
}

func (p *program) approveCommand() *cobra.Command {
	var always bool
	c := &cobra.Command{
		Use: "approve APPROVAL OPTION", Short: "Answer an approval with exactly one of its options", Args: args(2, "an approval and an option"),
		RunE: func(c *cobra.Command, a []string) error {
			return p.with(c.Context(), func(s *session) error {
				return answer(c.Context(), s, p, api.AnswerApproval{
					ApprovalID: a[0], Answer: agent.ApprovalAnswer{OptionID: a[1]}, Remember: always,
				})
			})
		},
	}
	c.Flags().BoolVar(&always, "always-in-project", false, "allow exactly this command or path in this project from now on (whippletree rules)")
	return c
}

func answer(ctx context.Context, s *session, p *program, r api.AnswerApproval) error {
	got, err := api.Call[api.AnswerResult](ctx, s.Client, "approvals.answer", r)
	if err != nil {
		return err
	}
	if !got.Won {
		by := "somebody"
		if a := got.Card.Answer; a != nil {
			by = orElse(a.Where, a.By)
		}
		return fail(exitFailed, "", "it was answered before, in %s", by)
	}
	fmt.Fprintf(p.err, "answered %s\n", r.Answer.OptionID)
	if o := got.Card.Remember; r.Remember && o != nil {
		fmt.Fprintf(safely{p.err}, "from now on in %s: %s %s\n", o.Project, o.Tool, o.Pattern)
	}
	return nil
}

func (p *program) trustCommand() *cobra.Command {
	var no bool
	c := &cobra.Command{
		Use: "trust FOLDER", Short: "Say whether agents may start what a folder brings along", Args: args(1, "one folder"),
		RunE: func(c *cobra.Command, a []string) error {
			state := "trusted"
			if no {
				state = "untrusted"
			}
			dir, err := absolute(p.cwd, a[0])
			if err != nil {
				return err
			}
			return p.with(c.Context(), func(s *session) error {
				q, err := api.Call[model.TrustQuestion](c.Context(), s.Client, "trust.grant", api.TrustGrant{Cwd: dir, State: state})
				if err == nil {
					p.line("%s is %s", q.Root, q.State)
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&no, "no", false, "keep its hooks and servers from starting")
	return c
}

// askTrust shows what a folder would start. It is a person's to answer.
func (p *program) askTrust(ctx context.Context, s *session, harness, cwd string) error {
	q, err := api.Call[model.TrustQuestion](ctx, s.Client, "trust.check", api.TrustCheck{Harness: harness, Cwd: cwd})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.err, "In %s the agent would start by itself:\n", q.Root)
	for _, st := range q.Starts {
		fmt.Fprintf(safely{p.err}, "  %s %s: %s  (%s)\n", st.Kind, st.Name, st.Command, st.Source)
	}
	refused := fail(exitUnavailable, "whippletree trust "+q.Root, "the folder is not trusted yet")
	if !terminal(p.in) {
		return refused
	}
	fmt.Fprint(p.err, "Trust this folder? [y = yes, n = start without them, anything else = no chat] ")
	var word string
	if _, err := fmt.Fscanln(p.in, &word); err != nil && !errors.Is(err, io.EOF) && word == "" {
		return refused
	}
	state := map[string]string{"y": "trusted", "n": "untrusted"}[strings.ToLower(word)]
	if state == "" {
		return refused
	}
	_, err = api.Call[model.TrustQuestion](ctx, s.Client, "trust.grant", api.TrustGrant{Cwd: cwd, State: state})
	return err
}
