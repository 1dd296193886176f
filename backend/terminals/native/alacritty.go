package native

// Alacritty: one shell per window, no tabs.
func alacritty() App {
	return App{
		ID: "alacritty", Label: "Alacritty", OS: "linux",
		Binaries: []string{"alacritty"}, Processes: []string{"alacritty"},
		Open: func(o Opening) []string {
			return []string{o.Path, "--working-directory", o.Cwd, "--title=" + o.Title, "-e", o.Script}
		},
		Focus: func(s Spot) Plan {
			p := Plan{Window: s.windowID(), ByPid: s.App.Pid, Raise: true, Exact: true}
			if id := s.Env["ALACRITTY_WINDOW_ID"]; p.Window == 0 && isDigits(id) {
				p.Window = toWindow(id)
			}
			return p
		},
	}
}
