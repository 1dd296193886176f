package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func (p *program) lsCommand() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use: "ls", Short: "List the agent sessions of this computer", Args: args(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(s *session) error {
				if watch {
					return p.watchSessions(c.Context(), s)
				}
				list, err := listSessions(c.Context(), s, "")
				if err != nil {
					return err
				}
				return showSessions(p.out, api.Sessions{Sessions: list}, p.json, time.Now())
			})
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "go on and print every change")
	return p.jsonFlag(c)
}

func showSessions(w io.Writer, got api.Sessions, js bool, now time.Time) error {
	if js {
		return printJSON(w, got)
	}
	var rows [][]string
	for _, s := range got.Sessions {
		rows = append(rows, sessionRow(s, now))
	}
	return table(w, "AGENT STATE SINCE PROJECT PLACE SESSION TITLE", rows)
}

func sessionRow(s model.Session, now time.Time) []string {
	state := string(s.State)
	if s.WaitingKind != "" {
		state += " " + string(s.WaitingKind)
	}
	return []string{
		s.Key.Harness, state, since(s.StateSince, now), s.Project.Name, orElse(s.Place.Label, s.Place.Kind), s.Key.ID, oneLine(s.Title),
	}
}

func since(at int64, now time.Time) string {
	if at == 0 {
		return "-"
	}
	switch d := now.Sub(time.UnixMilli(at)); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}

// changeLine is a line of `ls --watch --json`: all sessions first, then one line
// for each change.
type changeLine struct {
	Type     string          `json:"type"` // reset, upsert, remove
	Sessions []model.Session `json:"sessions,omitempty"`
	Session  *model.Session  `json:"session,omitempty"`
	IDs      []string        `json:"ids,omitempty"`
}

func (p *program) watchSessions(ctx context.Context, s *session) error {
	show := func(c changeLine) {
		if p.json {
			b, err := json.Marshal(c)
			if err == nil {
				p.line("%s", b)
			}
			return
		}
		for _, x := range c.Sessions {
			p.line("%s", printable(strings.Join(sessionRow(x, time.Now()), "  ")))
		}
		if c.Session != nil {
			p.line("%s", printable(strings.Join(sessionRow(*c.Session, time.Now()), "  ")))
		}
		for _, id := range c.IDs {
			p.line("%s  gone", id)
		}
	}
	_, err := s.Subscribe(ctx, api.TopicSessions, api.Subscriber{
		Snapshot: func(raw json.RawMessage) {
			var list []model.Session
			if json.Unmarshal(raw, &list) == nil {
				show(changeLine{Type: "reset", Sessions: list})
			}
		},
		Event: func(e api.Event) {
			c := changeLine{Type: e.Type}
			var err error
			switch e.Type {
			case api.EventUpsert:
				err = json.Unmarshal(e.Data, &c.Session)
			case api.EventRemove:
				var r api.Removed
				err = json.Unmarshal(e.Data, &r)
				c.IDs = r.IDs
			case api.EventReset:
				err = json.Unmarshal(e.Data, &c.Sessions)
			}
			if err == nil {
				show(c)
			}
		},
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.Done():
		return fail(exitInterrupted, "whippletree ls --watch", "the host ended")
	}
}

// findSession looks a session up by "harness/id", its id or a beginning of it.
func findSession(list []model.Session, id string) (model.SessionKey, error) {
	var found []model.SessionKey
	for _, s := range list {
		if s.Key.ID == id || s.Key.Harness+"/"+s.Key.ID == id {
			return s.Key, nil
		}
		if len(id) >= 4 && strings.HasPrefix(s.Key.ID, id) {
			found = append(found, s.Key)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return model.SessionKey{}, fail(exitNotFound, "whippletree ls", "there is no session %q", id)
	}
	return model.SessionKey{}, fail(exitUsage, "whippletree ls", "%d sessions begin with %q", len(found), id)
}

func (p *program) providersCommand() *cobra.Command {
	var refresh bool
	c := &cobra.Command{
		Use: "providers", Short: "List the agents and whether they can run", Args: args(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(s *session) error {
				var got api.Harnesses
				var err error
				if refresh {
					got, err = api.Call[api.Harnesses](c.Context(), s.Client, "harnesses.refresh", api.HarnessRefresh{})
				} else {
					got, err = api.Call[api.Harnesses](c.Context(), s.Client, "harnesses.list", api.HarnessList{Look: true})
				}
				if err != nil {
					return err
				}
				return showProviders(p.out, got, p.json)
			})
		},
	}
	c.Flags().BoolVar(&refresh, "refresh", false, "forget what is known of the agents and ask them anew")
	return p.jsonFlag(c)
}

func showProviders(w io.Writer, got api.Harnesses, js bool) error {
	if js {
		return printJSON(w, got)
	}
	var rows [][]string
	for _, h := range got.Harnesses {
		state, detail := "unknown", ""
		if a := h.Availability; a != nil {
			state, detail = "ready", a.Version
			if !a.Available {
				state, detail = strings.ReplaceAll(string(a.Reason), "_", " "), a.Detail
			}
		}
		rows = append(rows, []string{h.Harness, h.DisplayName, state, oneLine(detail)})
	}
	return table(w, "AGENT NAME STATE DETAIL", rows)
}

func (p *program) doctorCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use: "doctor", Short: "Look for what is wrong and say what helps", Args: args(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			err := p.with(c.Context(), func(s *session) error {
				got, err := api.Call[api.DoctorResult](c.Context(), s.Client, "host.doctor", api.None{})
				if err != nil {
					return err
				}
				return showDoctor(p.out, got, p.json)
			})
			var exit *exitError
			if errors.As(err, &exit) && exit.code == exitNoHost { // what can be said without one
				return showDoctor(p.out, api.DoctorResult{Checks: []model.DoctorCheck{{
					ID: "host", Title: "Host", State: "error", Text: exit.Error(),
					Fix: "tail " + filepath.Join(p.home, "logs", "host.log"),
				}}}, p.json)
			}
			return err
		},
	})
}

func showDoctor(w io.Writer, got api.DoctorResult, js bool) error {
	failed := 0
	for _, c := range got.Checks {
		if c.State == "error" {
			failed++
		}
		if js {
			continue
		}
		fmt.Fprintf(safely{w}, "%-8s %s: %s\n", c.State, c.Title, c.Text)
		if c.Fix != "" {
			fmt.Fprintf(w, "         try: %s\n", c.Fix)
		}
	}
	if js {
		if err := printJSON(w, got); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}
