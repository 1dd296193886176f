package native

// foot: Wayland only; whether its window can be raised depends on the compositor.
func foot() App {
	return App{
		ID: "foot", Label: "foot", OS: "linux", Display: "wayland",
		Binaries: []string{"foot"}, Processes: []string{"foot"},
		Open: func(o Opening) []string {
			return []string{o.Path, "--working-directory=" + o.Cwd, "--title=" + o.Title, o.Script}
		},
		Focus:  func(s Spot) Plan { return Plan{ByPid: s.App.Pid, Raise: true, Exact: true} },
		Limits: "raised under sway and Hyprland only",
	}
}
