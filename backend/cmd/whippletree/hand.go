package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func absolute(cwd, path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(cwd, path), nil
}

func (p *program) handoffCommand() *cobra.Command {
	var r api.HandoffRequest
	c := &cobra.Command{
		Use: "handoff CHAT", Short: "Continue a chat in a terminal", Args: args(1, "one chat"),
		Long: "Lets go of the agent, proves that it is gone and opens its own program on the same conversation; --print only lets go and prints the command.",
		RunE: func(c *cobra.Command, a []string) error {
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) error {
				r.ChatID = chat.ID
				got, err := api.Call[api.HandoffResult](c.Context(), s.Client, "handoff.toTerminal", r)
				if err != nil {
					return err
				}
				switch {
				case got.Printed != "":
					p.line("%s", got.Printed)
				case got.Hand.Pending != nil:
					p.line("after this turn (whippletree takeback %s withdraws it)", a[0])
				default:
					p.line("%s", got.Hand.State)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&r.PrintOnly, "print", false, "print the command instead of opening it")
	c.Flags().StringVar(&r.Place, "terminal", "", "terminal to open it in: app, or the name of a terminal program")
	c.Flags().StringVar(&r.When, "when", "now", "now, afterTurn or stop")
	return c
}

func (p *program) takebackCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "takeback CHAT", Short: "Take a chat back from its terminal", Args: args(1, "one chat"),
		RunE: func(c *cobra.Command, a []string) error {
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) error {
				got, err := api.Call[api.HandResult](c.Context(), s.Client, "handoff.takeBack", api.TakeBack{ChatID: chat.ID, Force: force})
				if err == nil {
					p.line("%s", got.Hand.State)
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "ask the agent in the terminal to exit first")
	return c
}

func (p *program) focusCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use: "focus SESSION", Short: "Bring the terminal of a session to the front", Args: args(1, "one session"),
		RunE: func(c *cobra.Command, a []string) error {
			return p.with(c.Context(), func(s *session) error { return p.focus(c.Context(), s, a[0]) })
		},
	})
}

func (p *program) focus(ctx context.Context, s *session, id string) error {
	_, own, full := strings.Cut(id, "/")
	if !full {
		own = id
	}
	list, err := listSessions(ctx, s, own)
	if err != nil {
		return err
	}
	key, err := findSession(list, id)
	if err != nil {
		return err
	}
	got, err := api.Call[api.FocusResult](ctx, s.Client, "sessions.focus", api.SessionRef{Key: key})
	if err != nil {
		return err
	}
	if p.json {
		return printJSON(p.out, got)
	}
	if got.Exact == "unavailable" {
		return fail(exitUnavailable, "", "%s", orElse(got.Why, "its terminal cannot be brought to the front"))
	}
	return nil
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(0, "no arguments"),
		Run: func(*cobra.Command, []string) { p.line("whippletree %s (API %d)", version, api.Protocol) },
	}
}

func (p *program) settingsCommand() *cobra.Command {
	c := &cobra.Command{Use: "settings", Short: "Read and change settings", Hidden: true}
	show := func(got api.SettingsResult) error {
		for _, x := range got.Settings.Problems {
			p.line("// %s %s", x.Path, x.Message)
		}
		return printJSON(p.out, got.Settings.Values)
	}
	c.AddCommand(&cobra.Command{
		Use: "get", Args: args(0, "no arguments"), Short: "Print the settings in force",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(s *session) error {
				got, err := api.Call[api.SettingsResult](c.Context(), s.Client, "settings.get", api.None{})
				if err != nil {
					return err
				}
				return show(got)
			})
		},
	}, &cobra.Command{
		Use: "set PATH VALUE", Args: args(2, "a path and a JSON value"), Short: "Change one setting; null removes it",
		RunE: func(c *cobra.Command, a []string) error {
			value := json.RawMessage(a[1])
			if !json.Valid(value) {
				value, _ = json.Marshal(a[1]) // a bare word is a string
			}
			return p.with(c.Context(), func(s *session) error {
				_, err := api.Call[api.SettingsResult](c.Context(), s.Client, "settings.set", api.SetSettings{Path: a[0], Value: value})
				return err
			})
		},
	})
	return c
}

func (p *program) hostCommand() *cobra.Command {
	c := &cobra.Command{Use: "host", Short: "See and stop the host that runs", Hidden: true}
	var force bool
	status := p.jsonFlag(&cobra.Command{
		Use: "status", Args: args(0, "no arguments"), Short: "Tell whether a host runs",
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := p.attachRunning(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			info := s.Host()
			if p.json {
				return printJSON(p.out, info)
			}
			p.line("version %s, process %d, %d windows, %d running turns, %d busy terminals", info.Version, info.Pid, info.Windows, info.RunningTurns, info.Terminals)
			return nil
		},
	})
	stop := &cobra.Command{
		Use: "stop", Args: args(0, "no arguments"), Short: "End the host",
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := p.attachRunning(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			got, err := api.Call[api.GoodbyeResult](c.Context(), s.Client, "host.goodbye", api.Goodbye{QuitHost: true, Force: force})
			if err != nil {
				return err
			}
			if !got.Ending {
				return fail(exitFailed, "whippletree host stop --force", "%d turns and %d terminals are running", got.RunningTurns, got.Terminals)
			}
			<-s.Done()
			return nil
		},
	}
	stop.Flags().BoolVar(&force, "force", false, "also when turns or terminals are running")
	c.AddCommand(status, stop)
	return c
}
