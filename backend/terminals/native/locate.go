package native

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// Locate tells where a process runs: the nearest ancestor that is a terminal
// of ours, a multiplexer's server or a known terminal app decides. Only tmux
// costs more than reading the process table (two calls of its command).
func (n *Terminals) Locate(ctx context.Context, t *processes.Table, pid int) Spot {
	p, ok := t.Get(pid)
	if !ok || p.Zombie {
		return Spot{Place: model.Place{Kind: "none", WhyNot: "the process has ended"}}
	}
	chain := append([]processes.Proc{p}, t.Ancestors(pid)...)
	if n.opt.Ours != nil {
		if id, ok := n.opt.Ours(t, pid); ok {
			return Spot{Place: model.Place{Kind: "tab", TerminalID: id, Label: "Terminal tab", CanFocus: true}}
		}
	}
	for i, a := range chain {
		if i == 0 {
			continue
		}
		name := programOf(a)
		switch {
		case name == "tmux":
			return n.locateTmux(ctx, t, chain[:i+1])
		case name == "screen":
			return n.locateScreen(ctx, t, chain[:i+1])
		case name == "zellij":
			return n.locateZellij(ctx, t, chain[:i+1])
		case name == "sshd" || name == "sshd-session":
			return external("ssh", "it runs in a remote login over ssh; go to the machine that is logged in")
		}
		if app, ok := appOf(n.opt.GOOS, name); ok {
			return n.inApp(app, a, chain[:i])
		}
	}
	if p.UID >= 0 && len(chain) == 1 {
		return external("External", "its parents cannot be seen (a container, or another user)")
	}
	return external("External", "it descends from no terminal that is known here")
}

func external(label, why string) Spot {
	return Spot{Place: model.Place{Kind: "external", Label: label, External: true, WhyNot: why}}
}

// inApp is a process below an app; the variables that name its window are
// those of the process that is the app's own child: what runs deeper may have
// inherited another terminal's.
func (n *Terminals) inApp(app App, owner processes.Proc, below []processes.Proc) Spot {
	s := Spot{App: owner.Identity, AppID: app.ID, Env: map[string]string{}}
	for i := len(below) - 1; i >= 0; i-- {
		if env, err := processes.Environ(below[i].Pid); err == nil {
			s.Env = pick(env)
			break
		}
	}
	for _, p := range below {
		if p.TTY != 0 {
			s.TTY = ttyPath(p.Pid)
			break
		}
	}
	s.Place = model.Place{Kind: "terminal", App: app.ID, Label: app.Label, External: true}
	s.Place.CanFocus, s.Place.WhyNot = n.canFocus(app, s)
	return s
}

// programOf is what a process is, by its executable; a script's interpreter
// is not looked through, no terminal app is a script.
func programOf(p processes.Proc) string {
	if exe, err := processes.Exe(p.Pid); err == nil && exe != "" {
		name := filepath.Base(exe)
		// Debian's multi-call names and Nix's wrappers.
		name = strings.TrimSuffix(strings.TrimPrefix(name, "."), "-wrapped")
		return name
	}
	// Another user's executable cannot be read; the name is then only shown.
	name, _, _ := strings.Cut(p.Comm, ":")
	return name
}

func variable(chain []processes.Proc, name string) string {
	for _, p := range chain {
		env, err := processes.Environ(p.Pid)
		if err != nil {
			continue
		}
		for _, e := range env {
			if v, ok := strings.CutPrefix(e, name+"="); ok && v != "" {
				return v
			}
		}
	}
	return ""
}
