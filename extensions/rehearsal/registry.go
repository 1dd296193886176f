package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// maxEntry bounds a registry file, in bytes.
const maxEntry = 64 << 10

var entryName = regexp.MustCompile(`^([1-9][0-9]{0,9})\.json$`)

// claim is a registry entry whose process was found to be the one it names.
type claim struct {
	live wire.Live
	id   processes.Identity
}

// errStale says that an entry names a process that is gone, or another one.
var errStale = errors.New("the process it names is gone")

// readClaim reads one entry and checks it against its process. An entry is
// never believed without that: it stays behind after a kill, and its pid may
// be somebody else's by now.
func readClaim(path string) (claim, error) {
	m := entryName.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return claim{}, os.ErrNotExist
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return claim{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return claim{}, errors.New("the entry is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEntry+1))
	if err != nil {
		return claim{}, err
	}
	var c claim
	switch {
	case len(data) > maxEntry:
		return claim{}, errors.New("the entry is too large")
	case json.Unmarshal(data, &c.live) != nil:
		return claim{}, errors.New("the entry cannot be read")
	case strconv.Itoa(c.live.Pid) != m[1] || !wire.ValidSession(c.live.Session) || !filepath.IsAbs(c.live.Cwd):
		return claim{}, errors.New("the entry contradicts itself")
	}
	c.id, err = processes.Identify(c.live.Pid)
	switch {
	case errors.Is(err, processes.ErrGone):
		return claim{}, errStale
	case err != nil:
		return claim{}, err
	case strconv.FormatUint(c.id.Start, 10) != c.live.StartTicks:
		return claim{}, errStale
	}
	return c, nil
}

// holders are the live processes that have a session open.
func holders(home wire.Home, session string) ([]claim, error) {
	list, err := os.ReadDir(home.Sessions())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []claim
	for _, e := range list {
		if !entryName.MatchString(e.Name()) {
			continue
		}
		c, err := readClaim(filepath.Join(home.Sessions(), e.Name()))
		if err == nil && c.live.Session == session {
			out = append(out, c)
		}
		if err != nil && !errors.Is(err, errStale) && !errors.Is(err, os.ErrNotExist) {
			return out, fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	return out, nil
}

// snapshot turns a claim into what the host is told.
func snapshot(c claim) agent.Snapshot {
	l := c.live
	s := agent.Snapshot{
		ID: l.Session, Harness: ID, Pid: l.Pid, PidStartedAt: l.StartTicks, Cwd: l.Cwd,
		Title: cut(l.Title, agent.LimitTitle), Model: cut(l.Model, agent.LimitModel), Mode: l.Mode,
		StatusAt: l.UpdatedAt, Tool: cut(l.Tool, agent.LimitTool), LastTurnEndedAt: l.LastTurnAt,
		Link: agent.LinkProved, StartedAt: l.StartedAt, Supersedes: l.Before,
		Evidence: "sessions/" + strconv.Itoa(l.Pid) + ".json says " + cut(l.Status, 64),
	}
	switch l.Status {
	case wire.StatusIdle:
		s.Status = agent.StatusIdle
	case wire.StatusRunning:
		s.Status = agent.StatusRunning
	case wire.StatusWaiting:
		s.Status, s.WaitingFor = agent.StatusWaiting, cut(l.WaitingFor, agent.LimitWaitingFor)
		s.WaitingKind = agent.WaitUnknown
		switch l.WaitingKind {
		case "permission":
			s.WaitingKind = agent.WaitApproval
		case "question":
			s.WaitingKind = agent.WaitQuestion
		case "plan":
			s.WaitingKind = agent.WaitPlan
		}
	}
	switch l.LastTurn {
	case wire.OutcomeCompleted, wire.OutcomeFailed:
		s.LastTurn = l.LastTurn
	case wire.OutcomeStopped:
		s.LastTurn = "interrupted"
	}
	for _, h := range l.Helpers[:min(len(l.Helpers), agent.LimitSubagents)] {
		status := map[string]string{
			wire.StateRunning: "running", wire.StateDone: "completed", wire.StateFailed: "failed",
		}[h.State]
		if status == "" {
			status = "cancelled"
		}
		s.Subagents = append(s.Subagents, agent.SubagentInfo{
			ID: h.ID, Type: cut(h.Role, agent.LimitSubagentType), Title: cut(h.Title, agent.LimitSubagentTitle), Status: status,
		})
	}
	return s
}

// cut shortens to n UTF-16 units at most.
func cut(s string, n int) string {
	if agent.UTF16Len(s) <= n {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && agent.UTF16Len(string(r)) > n-1 {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}
