package native

import "strings"

// iTerm2 finds a session by the id in ITERM_SESSION_ID ("w0t0p0:<id>"), else
// by its terminal device.
func iterm2() App {
	return App{
		ID: "iterm2", Label: "iTerm2", OS: "darwin",
		Bundle: "iTerm.app", Processes: []string{"iTerm2", "iTermServer"},
		Open: func(o Opening) []string {
			return []string{"open", "-b", "com.googlecode.iterm2", o.Script}
		},
		Focus: func(s Spot) Plan {
			_, id, _ := strings.Cut(s.Env["ITERM_SESSION_ID"], ":")
			if id == "" && s.TTY == "" {
				return Plan{Commands: [][]string{{"open", "-b", "com.googlecode.iterm2"}}, Why: "the process names no iTerm2 session"}
			}
			return Plan{Commands: [][]string{osascript(itermFocus, id, s.TTY)}, Exact: true}
		},
		Limits: "choosing the session asks once for permission to control iTerm2",
	}
}

var itermFocus = []string{
	`on run argv`,
	`tell application "iTerm2"`,
	`repeat with w in windows`,
	`repeat with t in tabs of w`,
	`repeat with s in sessions of t`,
	`if id of s is item 1 of argv or tty of s is item 2 of argv then`,
	`select w`,
	`select t`,
	`select s`,
	`activate`,
	`return`,
	`end if`,
	`end repeat`,
	`end repeat`,
	`end repeat`,
	`end tell`,
	`error "no session has this id"`,
	`end run`,
}
