package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/api"
)

func (p *program) rulesCommand() *cobra.Command {
	c := p.jsonFlag(&cobra.Command{
		Use: "rules", Short: "List what is allowed in projects without asking", Args: args(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(s *session) error {
				got, err := api.Call[api.Rules](c.Context(), s.Client, "approvals.rules", api.None{})
				if err != nil {
					return err
				}
				return p.showRules(got)
			})
		},
	})
	c.AddCommand(&cobra.Command{
		Use: "revoke RULE", Short: "Ask again for what a rule allows", Args: args(1, "one rule"),
		RunE: func(c *cobra.Command, a []string) error {
			return p.with(c.Context(), func(s *session) error {
				_, err := api.Call[api.Rules](c.Context(), s.Client, "approvals.revokeRule", api.RuleRef{ID: a[0]})
				return err
			})
		},
	})
	return c
}

func (p *program) showRules(got api.Rules) error {
	if p.json {
		return printJSON(p.out, got)
	}
	if len(got.Rules) == 0 {
		fmt.Fprintln(p.out, "Nothing is allowed without asking.")
	}
	for _, r := range got.Rules {
		fmt.Fprintf(safely{p.out}, "%s  %s  %s  %s %s\n", r.ID, r.Project, r.Harness, r.Tool, r.Pattern)
	}
	return nil
}

func (p *program) auditCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "audit", Short: "List approvals with who answered them, newest first", Args: args(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(s *session) error {
				r := api.AuditRequest{}
				for left := limit; limit == 0 || left > 0; {
					r.Limit = left
					got, err := api.Call[api.Audit](c.Context(), s.Client, "approvals.audit", r)
					if err != nil {
						return err
					}
					if err := p.showAudit(got); err != nil {
						return err
					}
					if left -= len(got.Entries); got.Next == "" {
						break
					}
					r.Cursor = got.Next
				}
				return nil
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 100, "how many; 0: all")
	return p.jsonFlag(c)
}

// showAudit prints a page; with --json one entry a line.
func (p *program) showAudit(got api.Audit) error {
	for _, e := range got.Entries {
		if p.json {
			if err := printJSON(p.out, e); err != nil {
				return err
			}
			continue
		}
		by := ""
		if a := e.Answer; a != nil {
			by = orElse(a.Label, a.OptionID) + " by " + orElse(a.Where, a.By)
			if a.Rule != "" {
				by += " (rule " + a.Rule + ")"
			}
		}
		fmt.Fprintf(safely{p.out}, "%s  %s  %s  %s  %s\n", time.UnixMilli(e.At).Format(time.DateTime), e.ID, e.State, e.Title, by)
		for _, x := range e.Refused {
			fmt.Fprintf(safely{p.out}, "    refused: %s\n", x.Where)
		}
	}
	return nil
}
