package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// byName recognises a process by the first word of its command line.
type byName string

func (n byName) Recognize(_ string, argv []string) agent.Recognition {
	return agent.Recognition{Agent: argv[0] == string(n)}
}

func proc(pid, ppid int, comm string, tty uint64) processes.Proc {
	return processes.Proc{
		Identity: processes.Identity{Pid: pid, Start: uint64(pid), Boot: "b"}, Ppid: ppid, Comm: comm, TTY: tty, UID: 1000,
	}
}

// Case of DECISIONS 13: positive proof, everything else is refused.
func TestWhoMayAnswer(t *testing.T) {
	rows := []processes.Proc{
		proc(1, 0, "systemd", 0),
		// A terminal app with a shell, the command in it, and an agent in it.
		proc(10, 1, "xterm", 0), proc(11, 10, "bash", 5), proc(12, 11, "whippletree", 5),
		proc(13, 11, "claude", 5), proc(14, 13, "bash", 5), proc(15, 14, "whippletree", 5),
		// Double-forked by the agent: nothing is above it but the first process.
		proc(20, 1, "whippletree", 0),
		// A tab of ours.
		proc(30, 1, "zsh", 6), proc(31, 30, "whippletree", 6),
		// ssh.
		proc(40, 1, "sshd", 0), proc(41, 40, "bash", 7), proc(42, 41, "whippletree", 7),
		// tmux that somebody looks at from xterm, and its pane.
		proc(50, 1, "tmux: server", 0), proc(51, 50, "bash", 8), proc(52, 51, "whippletree", 8),
		proc(53, 11, "tmux: client", 5),
		// A tmux that an agent started for itself.
		proc(55, 1, "tmux: server", 0), proc(56, 55, "bash", 8), proc(57, 56, "whippletree", 8),
		// screen that an agent started for itself: nobody is attached.
		proc(60, 1, "SCREEN", 0), proc(61, 60, "bash", 9), proc(62, 61, "whippletree", 9),
		// Our window, started by the desktop; one started by an agent.
		proc(70, 1, "whippletree-desk", 0), proc(71, 13, "whippletree-desk", 0),
		// A terminal app started by an agent is below the agent no more than its
		// window is: the person types in it.
		proc(80, 13, "xterm", 0), proc(81, 80, "bash", 4), proc(82, 81, "whippletree", 4),
		// A terminal app itself does not answer.
		proc(90, 1, "kitty", 0),
	}
	p := &people{
		recognizers: []agent.Recognizer{byName("claude")},
		windows:     []string{"/opt/whippletree-desktop"},
		ours: func(pid int) string {
			if pid == 30 {
				return "a terminal tab"
			}
			return ""
		},
		client: func(_ *processes.Table, pid int) int {
			if pid == 52 {
				return 53
			}
			return 0
		},
		table: func() (*processes.Table, error) { return processes.NewTable(rows), nil },
		argv: func(pid int) ([]string, error) {
			for _, r := range rows {
				if r.Pid == pid {
					return []string{r.Comm}, nil
				}
			}
			return nil, errors.New("no such process")
		},
		exe: func(pid int) (string, error) {
			if pid == 70 || pid == 71 {
				return "/opt/whippletree-desktop", nil
			}
			return "/bin/x", nil
		},
	}
	for _, tc := range []struct {
		name  string
		pid   int
		where string
		why   string
	}{
		{"typed in a terminal app", 12, "xterm", ""},
		{"run by an agent in that terminal", 15, "", "below the agent claude"},
		{"double-forked", 20, "", "descends from no terminal"},
		{"typed in a tab of ours", 31, "a terminal tab", ""},
		{"over ssh", 42, "ssh", ""},
		{"in tmux with somebody attached", 52, "tmux in xterm", ""},
		{"in a tmux of an agent's own", 57, "", "shown in no terminal"},
		{"in a multiplexer that nobody sees", 62, "", "shown in no terminal"},
		{"the window", 70, "window", ""},
		{"a window that an agent started", 71, "", "started by the agent"},
		{"typed in a terminal that an agent opened", 82, "xterm", ""},
		{"a terminal app itself", 90, "", "descends from no terminal"},
		{"a process that ended", 999, "", "has ended"},
	} {
		where, err := p.who(tc.pid)
		if where != tc.where || (err == nil) != (tc.why == "") || (err != nil && !strings.Contains(err.Error(), tc.why)) {
			t.Errorf("%s: %q, %v", tc.name, where, err)
		}
	}
}
