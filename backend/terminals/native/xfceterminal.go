package native

// Xfce Terminal: one process for all windows by default; an own process makes
// the window findable.
func xfceTerminal() App {
	return App{
		ID: "xfce4-terminal", Label: "Xfce Terminal", OS: "linux",
		Binaries: []string{"xfce4-terminal"}, Processes: []string{"xfce4-terminal"},
		Open: func(o Opening) []string {
			return []string{o.Path, "--disable-server", "--working-directory=" + o.Cwd, "--title=" + o.Title, "-x", o.Script}
		},
		Focus: func(s Spot) Plan {
			return Plan{Window: s.windowID(), ByPid: s.App.Pid, Raise: true, Why: "a tab of Xfce Terminal cannot be chosen from outside"}
		},
		Limits: "raises the window, not the tab",
	}
}
