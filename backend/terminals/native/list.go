package native

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/whippletree-app/whippletree/backend/processes"
)

// Options of Terminals. Env is needed.
type Options struct {
	// Env is the user's environment ("K=V"): PATH, DISPLAY and the like.
	Env []string
	// Exits reaps the terminals that were opened, without a goroutine here.
	Exits *processes.ExitWatcher
	// Ours tells which terminal of ours a process runs in; may be nil.
	Ours func(t *processes.Table, pid int) (id string, ok bool)
	// GOOS is the system to look for, the running one by default.
	GOOS string
	// Applications are the folders of macOS apps, /Applications by default.
	Applications []string
}

// Terminals finds, opens and focuses the terminals of the desktop.
type Terminals struct {
	opt Options
	env map[string]string
}

// New makes one. It starts nothing.
func New(opt Options) *Terminals {
	if opt.GOOS == "" {
		opt.GOOS = runtime.GOOS
	}
	if opt.Applications == nil {
		opt.Applications = []string{"/Applications", "/System/Applications/Utilities", "/Applications/Utilities"}
	}
	n := &Terminals{opt: opt, env: map[string]string{}}
	for _, e := range opt.Env {
		if k, v, ok := strings.Cut(e, "="); ok {
			n.env[k] = v
		}
	}
	return n
}

// Choice is an installed terminal app.
type Choice struct {
	ID      string
	Label   string
	Path    string
	Default bool
	Limits  string
}

// List are the installed apps that can show a window now, the default one
// first: $TERMINAL, else what this host runs below, else the first of Apps.
func (n *Terminals) List() []Choice {
	var out []Choice
	preferred := filepath.Base(firstWord(n.env["TERMINAL"]))
	at := -1
	for _, a := range Apps() {
		if a.OS != n.opt.GOOS || !n.displayFor(a) {
			continue
		}
		path := n.find(a)
		if path == "" {
			continue
		}
		if at < 0 && (preferred == a.ID || preferred == filepath.Base(path)) {
			at = len(out)
		}
		out = append(out, Choice{ID: a.ID, Label: a.Label, Path: path, Limits: a.Limits})
	}
	if len(out) == 0 {
		return nil
	}
	if at > 0 {
		c := out[at]
		copy(out[1:at+1], out[:at])
		out[0] = c
	}
	out[0].Default = true
	return out
}

func firstWord(s string) string {
	f := strings.Fields(s)
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

func (n *Terminals) displayFor(a App) bool {
	if n.opt.GOOS == "darwin" {
		return true
	}
	x11, wayland := n.env["DISPLAY"] != "", n.env["WAYLAND_DISPLAY"] != ""
	switch a.Display {
	case "x11":
		return x11
	case "wayland":
		return wayland
	}
	return x11 || wayland
}

func (n *Terminals) find(a App) string {
	if n.opt.GOOS == "darwin" {
		for _, dir := range n.opt.Applications {
			path := filepath.Join(dir, a.Bundle)
			if st, err := os.Stat(path); err == nil && st.IsDir() {
				return path
			}
		}
		return ""
	}
	for _, b := range a.Binaries {
		if path := n.lookPath(b); path != "" {
			return path
		}
	}
	return ""
}

func (n *Terminals) lookPath(name string) string {
	for _, dir := range filepath.SplitList(n.env["PATH"]) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

func byID(id string) (App, bool) {
	for _, a := range Apps() {
		if a.ID == id {
			return a, true
		}
	}
	return App{}, false
}
