package native

// Konsole: D-Bus selects the session inside its window, then it is raised.
func konsole() App {
	return App{
		ID: "konsole", Label: "Konsole", OS: "linux",
		Binaries: []string{"konsole"}, Processes: []string{"konsole"},
		Open: func(o Opening) []string {
			return []string{o.Path, "--workdir", o.Cwd, "-p", "tabtitle=" + o.Title, "-e", o.Script}
		},
		Focus: func(s Spot) Plan {
			p := Plan{Window: s.windowID(), ByPid: s.App.Pid, Raise: true}
			service, window, session := s.Env["KONSOLE_DBUS_SERVICE"], s.Env["KONSOLE_DBUS_WINDOW"], lastPart(s.Env["KONSOLE_DBUS_SESSION"])
			if service != "" && window != "" && isDigits(session) {
				p.Commands = [][]string{{"dbus-send", "--session", "--print-reply", "--dest=" + service, window,
					"org.kde.konsole.Window.setCurrentSession", "int32:" + session}}
				p.Exact = true
				return p
			}
			p.Why = "the session names no Konsole tab, its window is raised"
			return p
		},
	}
}
