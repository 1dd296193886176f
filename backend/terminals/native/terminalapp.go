package native

// Terminal of macOS. The script is opened as a document, which asks for no
// automation permission; a tab is found by its terminal device, which does.
func terminalApp() App {
	return App{
		ID: "terminal-app", Label: "Terminal", OS: "darwin",
		Bundle: "Terminal.app", Processes: []string{"Terminal"},
		Open: func(o Opening) []string {
			return []string{"open", "-b", "com.apple.Terminal", o.Script}
		},
		Focus: func(s Spot) Plan {
			if s.TTY == "" {
				return Plan{Commands: [][]string{{"open", "-b", "com.apple.Terminal"}}, Why: "the process has no terminal device to find its tab by"}
			}
			return Plan{Commands: [][]string{osascript(terminalFocus, s.TTY)}, Exact: true}
		},
		Limits: "choosing the tab asks once for permission to control Terminal",
	}
}

// osascript runs lines with its values as arguments: nothing is put into the
// text of a script.
func osascript(lines []string, args ...string) []string {
	argv := []string{"osascript"}
	for _, l := range lines {
		argv = append(argv, "-e", l)
	}
	return append(append(argv, "--"), args...)
}

var terminalFocus = []string{
	`on run argv`,
	`tell application "Terminal"`,
	`repeat with w in windows`,
	`repeat with t in tabs of w`,
	`if tty of t is item 1 of argv then`,
	`set selected of t to true`,
	`set index of w to 1`,
	`activate`,
	`return`,
	`end if`,
	`end repeat`,
	`end repeat`,
	`end tell`,
	`error "no tab has this terminal"`,
	`end run`,
}
