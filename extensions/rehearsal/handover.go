package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

type handover struct{ *kit }

// locate checks a handle and finds its data.
func (k *kit) locate(h agent.Handle) (wire.Home, error) {
	if !wire.ValidSession(h.NativeID) {
		return "", fmt.Errorf("%q is not the id of a rehearsal session", cut(h.NativeID, 80))
	}
	return k.home(h.Env), nil
}

// TerminalCommand implements [agent.Handover]. Nothing is lost on the way: the
// terminal takes mode, model and thinking level.
func (k *handover) TerminalCommand(_ context.Context, req agent.TerminalRequest) (agent.Command, []string, error) {
	home, err := k.locate(req.Handle)
	if err != nil {
		return agent.Command{}, nil, err
	}
	binary := k.Executable
	if req.Binary != "" {
		binary = req.Binary
	}
	argv := []string{binary, ID}
	if _, err := os.Lstat(home.Transcript(req.Handle.NativeID)); errors.Is(err, os.ErrNotExist) && isUnwritten(req.Handle) {
		argv = append(argv, "--session-id", req.Handle.NativeID) // nobody talked to it yet
	} else {
		argv = append(argv, "--resume", req.Handle.NativeID)
	}
	for _, f := range []struct{ flag, value string }{
		{"--mode", req.Mode}, {"--model", req.Model}, {"--thinking", req.Thinking},
	} {
		if f.value != "" {
			argv = append(argv, f.flag, f.value)
		}
	}
	argv = append(argv, req.Args...)
	env := map[string]string{wire.HomeVariable: string(home)}
	return agent.Command{Argv: argv, Env: env, Cwd: req.Handle.Cwd}, nil, nil
}

// Owner implements [agent.Handover]: whoever has the session open, by the
// checked registry.
func (k *handover) Owner(_ context.Context, h agent.Handle, ignore []int) (agent.Ownership, error) {
	home, err := k.locate(h)
	if err != nil {
		return agent.Ownership{}, err
	}
	all, err := holders(home, h.NativeID)
	if err != nil {
		return agent.Ownership{Owner: agent.OwnerUnclear, Evidence: cut("a live registry entry cannot be read: "+plain(err), agent.LimitEvidence)}, nil
	}
	var others []claim
	for _, c := range all {
		ours := false
		for _, pid := range ignore {
			ours = ours || pid == c.id.Pid
		}
		if !ours {
			others = append(others, c)
		}
	}
	if len(others) == 0 {
		text := "no live process has this session in " + wire.HomeVariable + "/sessions"
		return agent.Ownership{Owner: agent.OwnerNobody, Evidence: text}, nil
	}
	c := others[0]
	o := agent.Ownership{
		Owner: agent.OwnerTerminal, Pid: c.id.Pid, Since: c.live.StartedAt, Link: agent.LinkProved,
		Evidence: "sessions/" + strconv.Itoa(c.id.Pid) + ".json names this session and its process lives",
	}
	switch {
	case len(others) > 1:
		var pids []string
		for _, c := range others {
			pids = append(pids, strconv.Itoa(c.id.Pid))
			o.Faces = append(o.Faces, c.id.Pid)
		}
		o.Owner, o.Link = agent.OwnerUnclear, agent.LinkAmbiguous
		o.Evidence = cut("several processes have this session open: "+strings.Join(pids, ", "), agent.LimitEvidence)
	case c.live.Face != "terminal":
		o.Owner = agent.OwnerUnclear
		o.Evidence = "process " + strconv.Itoa(c.id.Pid) + " drives this session for another program"
	}
	return o, nil
}

// Tip implements [agent.Handover]: a resume keeps the id.
func (k *handover) Tip(_ context.Context, h agent.Handle) (agent.Handle, error) {
	_, err := k.locate(h)
	return h, err
}

// ChangeDirs implements [agent.Handover].
func (k *handover) ChangeDirs(h agent.Handle) []string {
	return []string{k.home(h.Env).Sessions()}
}

// RequestExit implements [agent.ExitRequester]: TERM, after the process was
// checked to be the owner still.
func (k *handover) RequestExit(_ context.Context, h agent.Handle, o agent.Ownership) error {
	home, err := k.locate(h)
	if err != nil {
		return err
	}
	c, err := readClaim(home.Live(o.Pid))
	if errors.Is(err, errStale) || errors.Is(err, os.ErrNotExist) {
		return nil // it has gone meanwhile
	}
	if err != nil {
		return err
	}
	if c.live.Session != h.NativeID || !c.id.Alive() {
		return fmt.Errorf("process %d does not have this session open any more", o.Pid)
	}
	err = syscall.Kill(c.id.Pid, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// ProjectStarts implements [agent.ProjectStarter]: a rehearsal starts nothing
// of a folder.
func (p *provider) ProjectStarts(context.Context, string) ([]agent.ProjectStart, error) {
	return []agent.ProjectStart{}, nil
}

var _ interface {
	agent.Handover
	agent.ExitRequester
	agent.Importer
} = (*handover)(nil)

var _ interface {
	agent.ChatProvider
	agent.Cataloger
	agent.ProjectStarter
	agent.Importer
} = (*provider)(nil)

var _ interface {
	agent.ChatSession
	agent.Steerer
	agent.ModelSetter
	agent.ModeSetter
	agent.ThinkingSetter
	agent.UsageReporter
} = (*session)(nil)
