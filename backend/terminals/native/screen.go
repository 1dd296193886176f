package native

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// locateScreen goes from GNU screen's server to the terminal that shows it.
// chain is the process, its ancestors and, last, the server. A client is proved
// by the server itself, which holds the terminal of each attached one open (seen
// with 4.9.0).
func (n *Terminals) locateScreen(ctx context.Context, t *processes.Table, chain []processes.Proc) Spot {
	server := chain[len(chain)-1]
	// "<pid of the server>.<name>", set by the server for its windows.
	session := variable(chain[:len(chain)-1], "STY")
	if pid, _, _ := strings.Cut(session, "."); pid != itoa(server.Pid) {
		session = "" // inherited from another one
	}
	label := "screen"
	if session != "" {
		_, name, _ := strings.Cut(session, ".")
		label += " " + terminals.Plain(name, 60)
	}
	window := ""
	if session != "" {
		window = variable(chain[:len(chain)-1], "WINDOW")
	}
	if isDigits(window) {
		label += ":" + window
	}
	attach := "attach with: screen -x"
	if session != "" {
		attach += " " + session
	}
	client := n.clientOf(t, server, "screen")
	pane := &Pane{Client: client.Pid}
	if session != "" && isDigits(window) {
		program := "screen"
		if exe, err := processes.Exe(server.Pid); err == nil {
			program = exe // of the version that the server speaks
		}
		pane.Select = []string{program, "-S", session, "-X", "select", window}
	}
	return n.around(ctx, t, Spot{Pane: pane, TTY: ttyPath(chain[0].Pid), Place: model.Place{Kind: "screen", Label: label}},
		"no terminal shows this screen session; "+attach)
}

// locateZellij goes from Zellij's server to the terminal that shows it. Which
// client belongs to which server cannot be seen from outside: only the one
// client of a session that names it counts, or the only one there is.
func (n *Terminals) locateZellij(ctx context.Context, t *processes.Table, chain []processes.Proc) Spot {
	server := chain[len(chain)-1]
	session := variable(chain[:len(chain)-1], "ZELLIJ_SESSION_NAME")
	if argv, err := processes.Argv(server.Pid); err == nil {
		// --server <run dir>/<version>/<session>
		for i, a := range argv[:max(len(argv)-1, 0)] {
			if a == "--server" {
				session = filepath.Base(argv[i+1])
			}
		}
	}
	label, attach := "Zellij", "attach with: zellij attach"
	if session != "" {
		label += " " + terminals.Plain(session, 60)
		attach += " " + session
	}
	var named, any []processes.Proc
	for _, p := range t.All() {
		if p.Pid == server.Pid || p.TTY == 0 || p.UID != server.UID || programOf(p) != "zellij" {
			continue
		}
		any = append(any, p)
		argv, _ := processes.Argv(p.Pid)
		for i, a := range argv {
			if i > 0 && a == session && (argv[i-1] == "attach" || argv[i-1] == "a" || argv[i-1] == "-s" || argv[i-1] == "--session") {
				named = append(named, p)
			}
		}
	}
	pane := &Pane{}
	switch {
	case len(named) == 1:
		pane.Client = named[0].Pid
	case len(named) == 0 && len(any) == 1:
		pane.Client = any[0].Pid
	}
	s := n.around(ctx, t, Spot{Pane: pane, TTY: ttyPath(chain[0].Pid), Place: model.Place{Kind: "zellij", Label: label}},
		"no terminal is known to show this Zellij session; "+attach)
	if s.Place.CanFocus && s.Place.WhyNot == "" {
		s.Place.WhyNot = "the pane inside Zellij is not chosen"
	}
	return s
}

// maxNested bounds multiplexers inside multiplexers: a session may show itself.
const maxNested = 4

type nested struct{}

// around places a multiplexer's pane where its client runs: everything about
// the client is as for any other process, its own variables are the terminal's.
func (n *Terminals) around(ctx context.Context, t *processes.Table, s Spot, detached string) Spot {
	s.Place.External = true
	depth, _ := ctx.Value(nested{}).(int)
	if s.Pane.Client == 0 || depth >= maxNested {
		s.Place.Label += " (detached)"
		s.Place.WhyNot = detached
		return s
	}
	ctx = context.WithValue(ctx, nested{}, depth+1)
	outer := Spot{}
	if _, ok := t.Get(s.Pane.Client); ok {
		outer = n.Locate(ctx, t, s.Pane.Client)
	} else if fresh, err := processes.Snapshot(); err == nil {
		outer = n.Locate(ctx, fresh, s.Pane.Client)
	}
	s.App, s.AppID, s.Env = outer.App, outer.AppID, outer.Env
	s.TTY = outer.TTY // of the client: that is what the app knows
	s.Place.App, s.Place.TerminalID = outer.Place.App, outer.Place.TerminalID
	s.Place.External = outer.Place.Kind != "tab"
	s.Place.CanFocus, s.Place.WhyNot = outer.Place.CanFocus, outer.Place.WhyNot
	if outer.Place.Label != "" {
		s.Place.Label += " in " + outer.Place.Label
	}
	return s
}

// clientOf is the newest process of a program whose terminal the server has
// open, the zero process when there is none.
func (n *Terminals) clientOf(t *processes.Table, server processes.Proc, program string) processes.Proc {
	open := openTTYs(server.Pid)
	var best processes.Proc
	for _, p := range t.All() {
		if p.Pid == server.Pid || p.TTY == 0 || p.UID != server.UID || programOf(p) != program {
			continue
		}
		shown := open[ttyPath(p.Pid)]
		if open == nil { // not readable: the one that started the server is its client
			shown = server.Ppid == p.Pid
		}
		if shown && p.Start >= best.Start {
			best = p
		}
	}
	return best
}
