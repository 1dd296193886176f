package native

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

// tmuxWait bounds one call of tmux: a stopped server would never answer.
const tmuxWait = 2 * time.Second

// Pane is a place inside a multiplexer and the client that shows it.
type Pane struct {
	Client int      // pid of the attached client, 0 = detached
	Select []string // the command that shows it inside its session, nil for none
	// Of tmux alone:
	Program string // the tmux command that speaks to this server
	Socket  string // "" for the default one
	Session string // id, $1
	Window  string // id, @2
	ID      string // %3
}

func (p Pane) argv(args ...string) []string {
	argv := []string{p.Program}
	if p.Socket != "" {
		argv = append(argv, "-S", p.Socket)
	}
	return append(argv, args...)
}

// locateTmux follows the cut in the process tree: the process's pane, its
// session, the client attached to that, the terminal of the client. chain is
// the process, its ancestors and, last, the server.
func (n *Terminals) locateTmux(ctx context.Context, t *processes.Table, chain []processes.Proc) Spot {
	server := chain[len(chain)-1]
	pane := Pane{Program: "tmux"}
	if exe, err := processes.Exe(server.Pid); err == nil {
		pane.Program = exe // of the version that the server speaks
	}
	// "socket,server pid,session": of the process nearest to the server, and
	// only when it names this server.
	for i := len(chain) - 2; i >= 0; i-- {
		v := variable(chain[i:i+1], "TMUX")
		part := strings.Split(v, ",")
		if len(part) >= 2 && part[len(part)-2] == strconv.Itoa(server.Pid) {
			pane.Socket = strings.Join(part[:len(part)-2], ",")
			break
		}
	}
	if pane.Socket == "" {
		pane.Socket = socketOf(server)
	}
	lost := func(why string) Spot {
		s := external("tmux", why)
		s.Place.Kind = "tmux"
		return s
	}
	const paneFormat = "#{pane_pid}\t#{pane_tty}\t#{session_id}\t#{window_id}\t#{pane_id}\t#{window_index}.#{pane_index}\t#{session_name}"
	rows, err := n.tmux(ctx, pane.argv("list-panes", "-a", "-F", paneFormat))
	if err != nil {
		return lost("its tmux server does not answer: " + err.Error())
	}
	tty := ttyPath(chain[0].Pid)
	name := ""
	for _, r := range rows {
		pid, _ := strconv.Atoi(r[0])
		hit := tty != "" && r[1] == tty
		for _, p := range chain[:len(chain)-1] {
			hit = hit || p.Pid == pid
		}
		if hit {
			pane.Session, pane.Window, pane.ID = r[2], r[3], r[4]
			pane.Select = pane.argv("select-window", "-t", pane.Window, ";", "select-pane", "-t", pane.ID)
			name = terminals.Plain(r[6], 60) + ":" + r[5]
			break
		}
	}
	if pane.ID == "" {
		return lost("its tmux server does not list a pane for it")
	}
	s := Spot{Pane: &pane, TTY: tty, Place: model.Place{Kind: "tmux", Label: "tmux " + name, External: true}}
	pane.Client = n.tmuxClient(ctx, pane)
	return n.around(ctx, t, s, "no terminal shows this tmux session; attach with: tmux attach -t "+strings.Split(name, ":")[0])
}

// tmuxClient is the client that was used last of those that show the session.
func (n *Terminals) tmuxClient(ctx context.Context, p Pane) int {
	rows, err := n.tmux(ctx, p.argv("list-clients", "-F", "#{client_pid}\t#{session_id}\t#{client_activity}"))
	if err != nil {
		return 0
	}
	best, at := 0, int64(-1)
	for _, r := range rows {
		pid, _ := strconv.Atoi(r[0])
		active, _ := strconv.ParseInt(r[2], 10, 64)
		if r[1] == p.Session && pid > 0 && active > at {
			best, at = pid, active
		}
	}
	return best
}

// tmux runs a listing and splits its rows; a row with too few columns is left out.
func (n *Terminals) tmux(ctx context.Context, argv []string) ([][]string, error) {
	format := argv[len(argv)-1]
	columns := strings.Count(format, "\t") + 1
	out, err := n.run(ctx, argv, tmuxWait)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, line := range strings.Split(string(out), "\n") {
		if r := strings.SplitN(line, "\t", columns); len(r) == columns {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// socketOf reads -S and -L of the server's own command line; without them the
// default socket is meant.
func socketOf(server processes.Proc) string {
	argv, err := processes.Argv(server.Pid)
	if err != nil {
		return ""
	}
	for i, a := range argv[:max(len(argv)-1, 0)] {
		switch a {
		case "-S":
			return argv[i+1]
		case "-L":
			return filepath.Join("/tmp", fmt.Sprintf("tmux-%d", server.UID), argv[i+1])
		}
	}
	return ""
}

// run runs a short command of the desktop and returns its output.
func (n *Terminals) run(ctx context.Context, argv []string, wait time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	path := argv[0]
	if !filepath.IsAbs(path) {
		if path = n.lookPath(argv[0]); path == "" {
			return nil, fmt.Errorf("%s was not found in PATH", argv[0])
		}
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Env = n.cleanEnv()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s does not answer", filepath.Base(path))
		}
		if exit, ok := err.(*exec.ExitError); ok && len(exit.Stderr) > 0 {
			return nil, fmt.Errorf("%s: %s", filepath.Base(path), terminals.Plain(string(exit.Stderr), 200))
		}
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return out, nil
}
