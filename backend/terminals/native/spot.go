package native

import (
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Spot is where a process runs, with what is needed to go there. Place is
// what the row shows; the rest is of the moment and is read again to focus.
type Spot struct {
	Place model.Place
	// App is the process that owns the window, zero when none is known.
	App processes.Identity
	// AppID is the app's id, "" when none is known.
	AppID string
	// TTY is the path of the terminal device, "" when unknown.
	TTY string
	// Env are the terminal's own variables, of a process that runs directly in
	// it: inside tmux those of the attached client, never the agent's.
	Env map[string]string
	// Pane is set inside tmux, screen and Zellij.
	Pane *Pane
}

// terminalVariables are the ones that name a place in a terminal app.
var terminalVariables = []string{
	"TERM_PROGRAM", "TERM_SESSION_ID", "ITERM_SESSION_ID", "KITTY_WINDOW_ID", "KITTY_LISTEN_ON", "KITTY_PID",
	"WEZTERM_PANE", "WEZTERM_UNIX_SOCKET", "ALACRITTY_WINDOW_ID", "ALACRITTY_SOCKET", "GHOSTTY_RESOURCES_DIR",
	"KONSOLE_DBUS_SERVICE", "KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW", "GNOME_TERMINAL_SCREEN",
	"GNOME_TERMINAL_SERVICE", "TILIX_ID", "TERMINATOR_UUID", "WINDOWID", "TMUX", "TMUX_PANE", "STY", "WINDOW",
	"ZELLIJ_SESSION_NAME", "ZELLIJ_PANE_ID", "SSH_TTY", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"SWAYSOCK", "HYPRLAND_INSTANCE_SIGNATURE", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "__CFBundleIdentifier",
}

func pick(env []string) map[string]string {
	out := map[string]string{}
	for _, e := range env {
		k, v, ok := strings.Cut(e, "=")
		if !ok || v == "" {
			continue
		}
		for _, name := range terminalVariables {
			if k == name {
				out[k] = v
			}
		}
	}
	return out
}

// windowID is the X11 window of WINDOWID, 0 when there is none.
func (s Spot) windowID() uint64 { return toWindow(s.Env["WINDOWID"]) }

func toWindow(v string) uint64 {
	id, err := strconv.ParseUint(v, 0, 32)
	if err != nil {
		return 0
	}
	return id
}

func isDigits(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

func itoa(n int) string { return strconv.Itoa(n) }

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
