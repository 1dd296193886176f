package terminals

import (
	"runtime"
	"slices"
	"strings"
)

// otherTerminals are the variables by which other terminals and multiplexers
// tell programs where they run. In a terminal of ours they would lie.
var otherTerminals = []string{
	"TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "TERMINFO", "LC_TERMINAL", "LC_TERMINAL_VERSION",
	"ITERM_", "KITTY_", "WEZTERM_", "ALACRITTY_", "GHOSTTY_", "KONSOLE_", "GNOME_TERMINAL_", "TILIX_", "TERMINATOR_",
	"VTE_VERSION", "XTERM_", "WINDOWID", "TMUX", "TMUX_PANE", "STY", "ZELLIJ", "WT_SESSION", "COLORFGBG",
	"COLUMNS", "LINES", "NO_COLOR_FORCED", "__CFBundleIdentifier", "SSH_TTY", "INSIDE_EMACS", "VSCODE_",
}

func belongsToAnotherTerminal(key string) bool {
	return slices.ContainsFunc(otherTerminals, func(o string) bool {
		return key == o || strings.HasSuffix(o, "_") && strings.HasPrefix(key, o) || o == "ZELLIJ" && strings.HasPrefix(key, "ZELLIJ_")
	})
}

// environment is what a program in one of our terminals gets: base without
// other terminals' variables, what a terminal says about itself, then extra.
func environment(base []string, extra map[string]string, version string) []string {
	values := map[string]string{}
	for _, e := range base {
		if k, v, ok := strings.Cut(e, "="); ok && k != "" && !belongsToAnotherTerminal(k) {
			values[k] = v
		}
	}
	values["TERM"] = "xterm-256color"
	values["COLORTERM"] = "truecolor"
	values["TERM_PROGRAM"] = "Whippletree"
	values["TERM_PROGRAM_VERSION"] = version
	localeUTF8(values)
	for k, v := range extra {
		values[k] = v
	}
	out := make([]string, 0, len(values))
	for k, v := range values {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// localeUTF8 makes the character set UTF-8: what a window draws. A program
// started by a desktop on macOS has no locale at all.
func localeUTF8(values map[string]string) {
	utf8 := func(v string) bool {
		v = strings.ToLower(v)
		return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
	}
	for _, k := range []string{"LC_ALL", "LC_CTYPE"} {
		if v := values[k]; v != "" {
			if utf8(v) {
				return
			}
			delete(values, k)
		}
	}
	if utf8(values["LANG"]) {
		return
	}
	values["LANG"] = "C.UTF-8"
	if runtime.GOOS == "darwin" {
		values["LANG"] = "en_US.UTF-8"
	}
}
