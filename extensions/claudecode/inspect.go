package claudecode

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// Inspect asks the program for its sign-in, its MCP servers, the hooks that are
// set up and how much of the plan is used. Nothing of it reaches a model. A part
// that a version does not tell is a note.
func (s *session) Inspect(ctx context.Context) (agent.Inspection, error) {
	var i inspection
	s.mu.Lock()
	account := s.account
	s.mu.Unlock()
	i.Account = &agent.Account{
		Email: account.Email, Organization: account.Organization, Plan: account.Subscription,
		Source: known(account.APIKeySource, account.TokenSource),
	}
	for _, part := range []struct {
		what string
		ask  map[string]any
		take func(json.RawMessage) error
	}{
		{"its MCP servers", map[string]any{"subtype": "mcp_status"}, i.servers},
		{"its hooks", map[string]any{"subtype": "get_hooks_listing"}, i.hooks},
		{"its use of the plan", map[string]any{"subtype": "get_usage", "skip_behaviors": true}, i.plan},
	} {
		raw, err := s.control(ctx, part.ask)
		if err == nil {
			err = part.take(raw)
		}
		if ctx.Err() != nil {
			return agent.Inspection{}, context.Cause(ctx)
		}
		if err != nil {
			i.Notes = append(i.Notes, "Claude Code does not tell "+part.what+": "+err.Error())
		}
	}
	return i.Inspection, nil
}

// inspection is filled part by part.
type inspection struct{ agent.Inspection }

// servers reads mcp_status. How a server is started is left out: its arguments
// and environment may hold secrets.
func (i *inspection) servers(raw json.RawMessage) error {
	var got struct {
		Servers []struct {
			Name   string `json:"name"`
			Status string `json:"status"`
			Scope  string `json:"scope"`
			Error  string `json:"error"`
			Tools  []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return err
	}
	i.Servers = []agent.ServerState{}
	for _, s := range got.Servers {
		state := agent.ServerState{Name: s.Name, Status: s.Status, Scope: s.Scope, Error: cutTo(firstLine(s.Error), agent.LimitError)}
		for _, t := range s.Tools {
			state.Tools = append(state.Tools, t.Name)
		}
		i.Servers = append(i.Servers, state)
	}
	slices.SortFunc(i.Servers, func(a, b agent.ServerState) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// hooks reads get_hooks_listing.
func (i *inspection) hooks(raw json.RawMessage) error {
	var got struct {
		Hooks []struct {
			Event    string `json:"event"`
			Matcher  string `json:"matcher"`
			Source   string `json:"source"`
			Label    string `json:"sourceLabel"`
			Type     string `json:"type"`
			Command  string `json:"commandText"`
			Shown    string `json:"displayText"`
			Disabled bool   `json:"disabled"`
		} `json:"hooks"`
		Policy struct {
			AllDisabled bool `json:"allDisabled"`
		} `json:"policy"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return err
	}
	i.Hooks = []agent.HookState{}
	for _, h := range got.Hooks {
		i.Hooks = append(i.Hooks, agent.HookState{
			Event: h.Event, Matcher: h.Matcher, Source: or(h.Label, h.Source), Type: h.Type, Command: or(h.Command, h.Shown),
			Disabled: h.Disabled || got.Policy.AllDisabled,
		})
	}
	return nil
}

// plan reads get_usage: what this session used so far (its cost is an estimate),
// and the windows of the plan where the sign-in has one, in percent.
func (i *inspection) plan(raw json.RawMessage) error {
	type window struct {
		Percent *float64 `json:"utilization"`
		Resets  string   `json:"resets_at"`
		Name    string   `json:"display_name"`
	}
	var got struct {
		Session struct {
			Cost   float64 `json:"total_cost_usd"`
			Models map[string]struct {
				Input      int `json:"inputTokens"`
				Output     int `json:"outputTokens"`
				CacheRead  int `json:"cacheReadInputTokens"`
				CacheWrite int `json:"cacheCreationInputTokens"`
			} `json:"model_usage"`
		} `json:"session"`
		Plan   *string                    `json:"subscription_type"`
		Limits map[string]json.RawMessage `json:"rate_limits"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return err
	}
	u := agent.Usage{CostUSD: got.Session.Cost}
	for _, m := range got.Session.Models {
		u.Input, u.Output, u.CacheRead, u.CacheWrite = u.Input+m.Input, u.Output+m.Output, u.CacheRead+m.CacheRead, u.CacheWrite+m.CacheWrite
	}
	i.Session = &u
	if got.Plan == nil && got.Limits == nil {
		return nil // a sign-in without a plan
	}
	i.Plan = &agent.PlanUse{Windows: []agent.PlanWindow{}}
	if got.Plan != nil {
		i.Plan.Name = *got.Plan
	}
	add := func(label string, w window) {
		if w.Percent == nil {
			return
		}
		p := agent.PlanWindow{Label: label, UsedPercent: *w.Percent}
		if at, err := time.Parse(time.RFC3339, w.Resets); err == nil {
			p.ResetsAt = at.UnixMilli()
		}
		i.Plan.Windows = append(i.Plan.Windows, p)
	}
	for _, kind := range sortedKeys(got.Limits) {
		if kind == "model_scoped" {
			var list []window
			_ = json.Unmarshal(got.Limits[kind], &list) // of another shape: not shown
			for _, w := range list {
				add("7 days, "+w.Name, w)
			}
			continue
		}
		var w *window
		if label := windows[kind]; label != "" && json.Unmarshal(got.Limits[kind], &w) == nil && w != nil {
			add(label, *w)
		}
	}
	return nil
}

// known is the first source of a sign-in that is one.
func known(sources ...string) string {
	for _, s := range sources {
		if s != "" && s != "none" {
			return s
		}
	}
	return ""
}

var _ agent.Inspector = (*session)(nil)
