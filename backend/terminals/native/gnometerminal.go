package native

// GNOME Terminal: all windows belong to one server process and no tab can be
// chosen from outside. The client ends at once; the shell is the server's child.
func gnomeTerminal() App {
	const why = "GNOME Terminal does not say which of its windows and tabs holds a process"
	return App{
		ID: "gnome-terminal", Label: "GNOME Terminal", OS: "linux",
		Binaries: []string{"gnome-terminal"}, Processes: []string{"gnome-terminal-server"},
		Open: func(o Opening) []string {
			return []string{o.Path, "--window", "--working-directory=" + o.Cwd, "--title=" + o.Title, "--", o.Script}
		},
		Focus:  func(s Spot) Plan { return Plan{ByPid: s.App.Pid, Raise: true, Why: why} },
		Limits: why,
	}
}
