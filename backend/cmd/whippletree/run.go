package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func (p *program) runCommand() *cobra.Command {
	var r runRequest
	c := &cobra.Command{
		Use:   "run [flags] TEXT",
		Short: "Start a chat with an agent and show its turn",
		Long:  "Starts a chat in a folder, shows the turn as it goes and exits as the turn ended. Approvals are asked here when this is a terminal; elsewhere answer them with `whippletree approve`.",
		Args:  args(1, "one text"),
		RunE: func(c *cobra.Command, a []string) error {
			r.text = a[0]
			return p.with(c.Context(), func(s *session) error { return p.run(c.Context(), s, r) })
		},
	}
	c.Flags().StringVar(&r.provider, "provider", "", "agent to use (default: the first one that can run)")
	c.Flags().StringVar(&r.cwd, "cwd", "", "folder to work in (default: this one)")
	c.Flags().StringVar(&r.model, "model", "", "model id")
	c.Flags().StringVar(&r.mode, "mode", "", "mode id")
	c.Flags().StringVar(&r.options, "options", "", "options of the agent beyond these, as JSON or as @FILE")
	return p.jsonFlag(c)
}

type runRequest struct{ provider, cwd, model, mode, options, text string }

// readOptions takes JSON, or @FILE that holds it.
func readOptions(arg string) (json.RawMessage, error) {
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		return os.ReadFile(file)
	}
	if arg != "" && !json.Valid([]byte(arg)) {
		return nil, fail(exitUsage, "", "the options are not JSON")
	}
	return json.RawMessage(arg), nil
}

func (p *program) run(ctx context.Context, s *session, r runRequest) error {
	harness, err := p.pick(ctx, s, r.provider)
	if err != nil {
		return err
	}
	cwd := p.cwd
	if r.cwd != "" {
		if cwd, err = filepath.Abs(r.cwd); err != nil {
			return err
		}
	}
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		return fail(exitUsage, "", "%s is not a folder", cwd)
	}
	options, err := readOptions(r.options)
	if err != nil {
		return err
	}
	create := api.CreateChat{
		ClientID: uuid.NewString(), Harness: harness, Kind: agent.KindWorkspace, Cwd: cwd, Model: r.model, Mode: r.mode, Options: options,
	}
	made, err := api.Call[api.ChatResult](ctx, s.Client, "chats.create", create)
	if code := codeText(err); code == api.CodeTrustNeeded {
		if err := p.askTrust(ctx, s, harness, cwd); err != nil {
			return err
		}
		made, err = api.Call[api.ChatResult](ctx, s.Client, "chats.create", create)
	}
	if err != nil {
		return err
	}
	return p.prompt(ctx, s, made.Chat, r.text)
}

func codeText(err error) string {
	var failed *api.Error
	if errors.As(err, &failed) {
		return failed.Code
	}
	return ""
}

// pick finds the agent to use. A demonstration is used only when it is named.
func (p *program) pick(ctx context.Context, s *session, name string) (string, error) {
	list, err := api.Call[api.Harnesses](ctx, s.Client, "harnesses.list", api.HarnessList{Look: name == ""})
	if err != nil {
		return "", err
	}
	if name != "" {
		for _, h := range list.Harnesses {
			if name == h.Harness || name == h.Provider {
				return h.Harness, nil
			}
		}
		return "", fail(exitNotFound, "whippletree providers", "there is no agent %q", name)
	}
	for _, h := range list.Harnesses {
		if h.Enabled && !h.Demo && h.Availability != nil && h.Availability.Available {
			return h.Harness, nil
		}
	}
	return "", fail(exitUnavailable, "whippletree providers", "no agent can run; name one with --provider (rehearsal is a demonstration)")
}

// prompt sends a text and shows its turn to the end. Ctrl-C stops the turn.
func (p *program) prompt(ctx context.Context, s *session, chat model.ChatSummary, text string) error {
	id := uuid.NewString()
	var to watcher
	var js *lines
	if p.json {
		js = newLines(p.out)
		js.begin(chat)
		to = js
	} else {
		to = newPlain(p.out, p.err, func(c model.ApprovalCard) { p.asked(ctx, s, c) })
	}
	f := newFollower(to, id)
	if err := f.start(ctx, s.Client, chat.ID, false); err != nil {
		return err
	}
	if _, err := api.Call[api.SendResult](ctx, s.Client, "chats.send", api.SendPrompt{ChatID: chat.ID, ClientID: id, Text: text}); err != nil {
		return err
	}
	end, err := f.wait(ctx, s.Client)
	if err != nil { // interrupted here: the agent must not go on unseen
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
		defer cancel()
		if _, err := api.Call[api.StopResult](stop, s.Client, "chats.stop", api.ChatRef{ChatID: chat.ID}); err != nil {
			return err
		}
		if end, err = f.wait(stop, s.Client); err != nil {
			return err
		}
	}
	f.mu.Lock() // nothing is shown after this
	defer f.mu.Unlock()
	if js != nil {
		js.ended(end)
	} else {
		to.(*plain).endLine()
	}
	return outcome(end)
}

// asked shows an approval; in a terminal it is answered here.
func (p *program) asked(ctx context.Context, s *session, c model.ApprovalCard) {
	fmt.Fprint(safely{p.err}, describe(c))
	if !terminal(p.in) || len(c.Options) == 0 {
		fmt.Fprintf(p.err, "  answer: whippletree approve %s OPTION\n", c.ID)
		return
	}
	go func() { // beside the reader of events
		fmt.Fprint(p.err, "  number: ")
		text, err := bufio.NewReader(p.in).ReadString('\n')
		if err != nil {
			return
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > len(c.Options) {
			fmt.Fprintf(p.err, "  not answered; whippletree approve %s OPTION\n", c.ID)
			return
		}
		if err := answer(ctx, s, p, api.AnswerApproval{
			ChatID: c.ChatID, ApprovalID: c.ID, Revision: c.Revision, Answer: agent.ApprovalAnswer{OptionID: c.Options[n-1].ID},
		}); err != nil {
			fmt.Fprintln(p.err, "whippletree:", err)
		}
	}()
}

// describe shows all that decides, and the options as numbers.
func describe(c model.ApprovalCard) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  ? %s  [%s]\n", c.Title, c.ID)
	if c.Description != "" {
		fmt.Fprintf(&b, "    %s\n", c.Description)
	}
	if v := c.Preview; v != nil {
		for _, line := range strings.Split(strings.TrimRight(v.Command+v.Diff, "\n"), "\n") {
			if line != "" {
				fmt.Fprintf(&b, "    | %s\n", line)
			}
		}
		if v.Cwd != "" {
			fmt.Fprintf(&b, "    in %s\n", v.Cwd)
		}
		for _, f := range v.Files {
			fmt.Fprintf(&b, "    %s\n", f)
		}
	}
	if c.Plan != nil {
		fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(c.Plan.Text, "\n", "\n    "))
	}
	for _, q := range c.Questions {
		fmt.Fprintf(&b, "    %s\n", q.Text)
	}
	for i, o := range c.Options {
		fmt.Fprintf(&b, "    %d) %s  (%s)\n", i+1, o.Label, o.ID)
	}
	return b.String()
}

func terminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && isTerminal(f.Fd())
}
