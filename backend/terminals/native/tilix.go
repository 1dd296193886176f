package native

import "mvdan.cc/sh/v3/syntax"

// Tilix takes the command as one string, which it splits like a shell; the
// script's path is quoted for it.
func tilix() App {
	return App{
		ID: "tilix", Label: "Tilix", OS: "linux",
		Binaries: []string{"tilix"}, Processes: []string{"tilix"},
		Open: func(o Opening) []string {
			script, err := syntax.Quote(o.Script, syntax.LangPOSIX)
			if err != nil {
				return nil
			}
			return []string{o.Path, "--working-directory=" + o.Cwd, "--title=" + o.Title, "-e", script}
		},
		Focus: func(s Spot) Plan {
			return Plan{ByPid: s.App.Pid, Raise: true, Why: "a tile of Tilix cannot be chosen from outside"}
		},
		Limits: "raises the window, not the tile",
	}
}
