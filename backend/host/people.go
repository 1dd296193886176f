package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// terminalApps are programs in which a person types, by the name of their
// process. A process below one, with no agent in between, is a person's.
var terminalApps = map[string]string{
	"alacritty": "Alacritty", "foot": "foot", "ghostty": "Ghostty", "gnome-terminal-": "GNOME Terminal",
	"gnome-terminal-server": "GNOME Terminal", "kgx": "GNOME Console", "gnome-console": "GNOME Console",
	"ptyxis": "Ptyxis", "ptyxis-agent": "Ptyxis", "kitty": "kitty", "konsole": "Konsole", "yakuake": "Yakuake",
	"lxterminal": "LXTerminal", "qterminal": "QTerminal", "mate-terminal": "MATE Terminal",
	"xfce4-terminal": "Xfce Terminal", "terminator": "Terminator", "tilix": "Tilix", "rio": "Rio",
	"urxvt": "rxvt", "urxvtd": "rxvt", "rxvt": "rxvt", "st": "st", "xterm": "xterm", "contour": "Contour",
	"wezterm-gui": "WezTerm", "wezterm": "WezTerm", "Terminal": "Terminal", "iTerm2": "iTerm2", "iTermServer": "iTerm2",
	"Warp": "Warp", "stable": "Warp", "Hyper": "Hyper", "Tabby": "Tabby",
}

// logins begin a person's session themselves.
var logins = map[string]string{
	"sshd": "ssh", "sshd-session": "ssh", "login": "a login", "mosh-server": "mosh",
}

// people tells whether a caller is a person: its unbroken ancestry reaches a
// window or terminal of ours, a known terminal, ssh or a login, and no agent is
// in between (DECISIONS 13). It is a guard against a model that has a shell,
// not a security boundary: a program of the same user can always pretend.
type people struct {
	recognizers []agent.Recognizer
	// windows are the paths of our desktop binary.
	windows []string
	// ours names the terminal of ours with this leader; "" when it is none.
	ours func(pid int) string
	// client is the process of the attached client that shows the tmux pane of a
	// process; 0 when nobody does.
	client func(t *processes.Table, pid int) int
	// table reads the processes; argv and exe one of them.
	table func() (*processes.Table, error)
	argv  func(pid int) ([]string, error)
	exe   func(pid int) (string, error)
}

// who says where a caller is, or why it is not taken for a person.
func (p *people) who(pid int) (where string, err error) { return p.whoBelow(pid, 0) }

// maxNested bounds multiplexers inside multiplexers.
const maxNested = 4

func (p *people) whoBelow(pid, nested int) (where string, err error) {
	if nested > maxNested {
		return "", fmt.Errorf("process %d is in too many multiplexers", pid)
	}
	if pid == os.Getpid() {
		return "window", nil // the desktop binary with the host inside it
	}
	table, err := p.table()
	if err != nil {
		return "", fmt.Errorf("the process table cannot be read: %w", err)
	}
	self, ok := table.Get(pid)
	if !ok {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	chain := append([]processes.Proc{self}, table.Ancestors(pid)...)
	for i, proc := range chain {
		if name := p.agent(proc.Pid); name != "" {
			return "", fmt.Errorf("process %d runs below the agent %s (process %d)", pid, name, proc.Pid)
		}
		if i == 0 && p.window(proc.Pid) {
			if err := p.noAgent(chain); err != nil {
				return "", err
			}
			return "window", nil
		}
		if p.ours != nil {
			if name := p.ours(proc.Pid); name != "" {
				return name, nil
			}
		}
		if name := terminalApps[proc.Comm]; name != "" && i > 0 {
			return name, nil
		}
		if name := logins[proc.Comm]; name != "" && i > 0 {
			return name, nil
		}
		if multiplexer(proc.Comm) && i > 0 {
			return p.attached(table, proc, pid, nested)
		}
	}
	last := chain[len(chain)-1]
	return "", fmt.Errorf("process %d descends from no terminal (its line ends at %s, process %d)", pid, last.Comm, last.Pid)
}

func (p *people) noAgent(chain []processes.Proc) error {
	for _, proc := range chain {
		if name := p.agent(proc.Pid); name != "" {
			return fmt.Errorf("the window was started by the agent %s (process %d)", name, proc.Pid)
		}
	}
	return nil
}

// agent names the agent that a process is; "" when it is none.
func (p *people) agent(pid int) string {
	argv, err := p.argv(pid)
	if err != nil || len(argv) == 0 {
		return ""
	}
	exe, _ := p.exe(pid) // "" is allowed
	for _, r := range p.recognizers {
		if got := r.Recognize(exe, argv); got.Agent || got.Helper {
			return filepath.Base(argv[0])
		}
	}
	return ""
}

func (p *people) window(pid int) bool {
	exe, err := p.exe(pid)
	if err != nil {
		return false
	}
	for _, w := range p.windows {
		if exe == w {
			return true
		}
	}
	return false
}

func multiplexer(comm string) bool {
	return strings.HasPrefix(comm, "tmux: server") || comm == "SCREEN" || comm == "screen" || comm == "zellij"
}

// attached asks for the client of the multiplexer in which a person sits: an
// agent can start a server of its own, but nobody looks at that. tmux tells
// whose window shows the pane; of the others any client of this user counts.
func (p *people) attached(table *processes.Table, server processes.Proc, caller, nested int) (string, error) {
	var clients []int
	if strings.HasPrefix(server.Comm, "tmux") {
		if pid := p.client(table, caller); pid != 0 {
			clients = []int{pid}
		}
	} else {
		for _, proc := range table.All() {
			if strings.EqualFold(proc.Comm, server.Comm) && proc.Pid != server.Pid && proc.UID == server.UID && proc.TTY != 0 {
				clients = append(clients, proc.Pid)
			}
		}
	}
	for _, pid := range clients {
		if where, err := p.whoBelow(pid, nested+1); err == nil {
			name, _, _ := strings.Cut(strings.ToLower(server.Comm), ":")
			return name + " in " + where, nil
		}
	}
	return "", fmt.Errorf("%s (process %d) is shown in no terminal of a person", server.Comm, server.Pid)
}
