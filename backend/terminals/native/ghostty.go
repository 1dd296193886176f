package native

// Ghostty: an own process per window here, so that its window can be found.
func ghostty() App {
	return App{
		ID: "ghostty", Label: "Ghostty", OS: "linux",
		Binaries: []string{"ghostty"}, Processes: []string{"ghostty"},
		Open: func(o Opening) []string {
			return []string{o.Path, "--gtk-single-instance=false", "--working-directory=" + o.Cwd, "--title=" + o.Title, "-e", o.Script}
		},
		Focus: func(s Spot) Plan {
			return Plan{Window: s.windowID(), ByPid: s.App.Pid, Raise: true, Why: "a tab of Ghostty cannot be chosen from outside"}
		},
		Limits: "raises the window, not the tab",
	}
}
