package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func (p *program) statusCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use: "status CHAT", Short: "Show what the agent of a chat says of itself: sign-in, servers, hooks, use of the plan", Args: args(1, "one chat"),
		Long: "Asks the agent's program, not its model. An agent that does not run is not started for it.",
		RunE: func(c *cobra.Command, a []string) error {
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) error {
				got, err := api.Call[api.StatusResult](c.Context(), s.Client, "chats.status", api.ChatRef{ChatID: chat.ID})
				if err != nil {
					return err
				}
				return showStatus(p.out, got, p.json, time.Now())
			})
		},
	})
}

func showStatus(w io.Writer, got api.StatusResult, js bool, now time.Time) error {
	if js {
		return printJSON(w, got)
	}
	w = safely{w}
	if !got.Live || got.Status == nil {
		fmt.Fprintln(w, "The agent does not run now; the next prompt starts it.")
		return nil
	}
	st := got.Status
	if got.Agent != nil {
		fmt.Fprintf(w, "%s %s\n", got.Agent.Name, got.Agent.Version)
	}
	if a := st.Account; a != nil {
		var parts []string
		for _, part := range []string{a.Email, a.Organization, a.Plan, a.Source} {
			if part != "" {
				parts = append(parts, oneLine(part))
			}
		}
		fmt.Fprintf(w, "signed in: %s\n", orElse(strings.Join(parts, ", "), "not told"))
	}
	if u := st.Session; u != nil {
		fmt.Fprintf(w, "this session: %d tokens in, %d out, %d read from the cache, about $%.2f\n", u.Input+u.CacheWrite, u.Output, u.CacheRead, u.CostUSD)
	}
	if st.Plan != nil {
		for _, win := range st.Plan.Windows {
			fmt.Fprintf(w, "plan: %.0f %% of %s%s\n", win.UsedPercent, oneLine(win.Label), resets(win, now))
		}
	}
	for _, m := range st.Servers {
		fmt.Fprintf(w, "server: %s %s%s\n", oneLine(m.Name), oneLine(m.Status), detail(m.Scope, m.Error, fmt.Sprintf("%d tools", len(m.Tools))))
	}
	for _, h := range st.Hooks {
		off := ""
		if h.Disabled {
			off = "off"
		}
		fmt.Fprintf(w, "hook: %s %s%s\n", oneLine(strings.TrimSpace(h.Event+" "+h.Matcher)), oneLine(h.Command), detail(h.Source, off))
	}
	for _, n := range st.Notes {
		fmt.Fprintln(w, "note: "+oneLine(n))
	}
	return nil
}

func detail(parts ...string) string {
	var list []string
	for _, p := range parts {
		if p = oneLine(p); p != "" && p != "0 tools" {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, "; ") + ")"
}

func resets(w agent.PlanWindow, now time.Time) string {
	if left := time.UnixMilli(w.ResetsAt).Sub(now); w.ResetsAt > 0 && left > 0 {
		return ", begins anew in " + left.Round(time.Minute).String()
	}
	return ""
}

func (p *program) renameCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rename CHAT TITLE", Short: "Give a chat a title, and the agent's own session too where the agent can", Args: args(2, "a chat and a title"),
		RunE: func(c *cobra.Command, a []string) error {
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) error {
				title, err := json.Marshal(a[1])
				if err != nil {
					return err
				}
				_, err = api.Call[api.SettingResult](c.Context(), s.Client, "chats.set", api.ChatSetting{ChatID: chat.ID, Name: "title", Value: title})
				return err
			})
		},
	}
}
