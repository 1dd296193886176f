package native

// Opening is what an app's argv is made of. All values are plain arguments;
// none goes through a shell.
type Opening struct {
	Path   string // of the program, "" for macOS apps
	Script string // the launch script, an absolute path
	Cwd    string
	Title  string // plain text
}

// App is one terminal app: how it is found, what opens a command in it, how
// its window is raised, and what it cannot do.
type App struct {
	ID    string
	Label string
	// OS is linux or darwin.
	OS string
	// Binaries are searched in PATH, the first found counts (linux).
	Binaries []string
	// Bundle is the app's folder name below /Applications (darwin).
	Bundle string
	// Processes are the names of the executables that own its windows.
	Processes []string
	// Display is what it needs: x11, wayland, or "" for either.
	Display string
	// Open is the argv that opens a new window with the script in it.
	Open func(Opening) []string
	// Focus says how to raise the window of a spot in it.
	Focus func(Spot) Plan
	// Limits says what is not exact, "" for nothing.
	Limits string
}

// Plan is how a place is raised. Commands run first, in order; then the
// window is activated. Exact is what success of all of it means.
type Plan struct {
	Commands [][]string
	// Window is an X11 window, as WINDOWID gives it; ByPid searches the windows
	// of a process instead and needs exactly one.
	Window uint64
	ByPid  int
	// Raise activates a window of the app (Window, ByPid or the compositor).
	Raise bool
	Exact bool
	// Why is said when the result is less than exact.
	Why string
}

// Apps are all known terminal apps, in the order of preference.
func Apps() []App {
	return []App{
		ghostty(), kitty(), wezterm(), alacritty(), foot(), gnomeTerminal(), konsole(), xfceTerminal(), tilix(), xterm(),
		iterm2(), terminalApp(),
	}
}

// appOf finds the app that owns windows by an executable's base name.
func appOf(goos, exe string) (App, bool) {
	for _, a := range Apps() {
		if a.OS != goos {
			continue
		}
		for _, p := range a.Processes {
			if p == exe {
				return a, true
			}
		}
	}
	return App{}, false
}
