package native

// kitty: its remote control selects the exact window where the user switched
// it on; else its window of the system is raised.
func kitty() App {
	return App{
		ID: "kitty", Label: "kitty", OS: "linux",
		Binaries: []string{"kitty"}, Processes: []string{"kitty"},
		Open: func(o Opening) []string {
			return []string{o.Path, "--directory=" + o.Cwd, "--title=" + o.Title, o.Script}
		},
		Focus: func(s Spot) Plan {
			p := Plan{Window: s.windowID(), ByPid: s.App.Pid, Raise: true}
			if to, id := s.Env["KITTY_LISTEN_ON"], s.Env["KITTY_WINDOW_ID"]; to != "" && isDigits(id) {
				p.Commands = [][]string{{"kitty", "@", "--to", to, "focus-window", "--match", "id:" + id}}
				p.Exact = true
				return p
			}
			p.Why = "the tab cannot be chosen: kitty's remote control is off (allow_remote_control and listen_on in kitty.conf)"
			return p
		},
		Limits: "the tab is chosen only with allow_remote_control and listen_on",
	}
}
