package native

// xterm: one process and one window each; WINDOWID is its window.
func xterm() App {
	return App{
		ID: "xterm", Label: "xterm", OS: "linux", Display: "x11",
		Binaries: []string{"xterm", "uxterm"}, Processes: []string{"xterm"},
		Open: func(o Opening) []string {
			return []string{o.Path, "-T", o.Title, "-e", o.Script}
		},
		Focus: func(s Spot) Plan { return Plan{Window: s.windowID(), ByPid: s.App.Pid, Raise: true, Exact: true} },
	}
}
