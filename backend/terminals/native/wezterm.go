package native

// WezTerm: its command line selects the pane; raising the window is up to the
// window system.
func wezterm() App {
	return App{
		ID: "wezterm", Label: "WezTerm", OS: "linux",
		Binaries: []string{"wezterm"}, Processes: []string{"wezterm-gui"},
		Open: func(o Opening) []string {
			return []string{o.Path, "start", "--cwd", o.Cwd, "--", o.Script}
		},
		Focus: func(s Spot) Plan {
			p := Plan{ByPid: s.App.Pid, Raise: true}
			if pane := s.Env["WEZTERM_PANE"]; isDigits(pane) {
				p.Commands = [][]string{{"wezterm", "cli", "activate-pane", "--pane-id", pane}}
				p.Exact = true
				return p
			}
			p.Why = "the process does not name its WezTerm pane"
			return p
		},
	}
}
