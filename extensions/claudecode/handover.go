package claudecode

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// handover passes conversations between app and terminal. The program does
// not lock a session: two processes on one branch its transcript and a later
// resume drops a branch, so ownership is read from its registry.
type handover struct {
	host *agentkit.Host
	// keep bounds what a mirror holds while it reads a file's tree; 0: keptBytes.
	keep int64
	// memory is the index of stored sessions where the host keeps none.
	memory agentkit.MemoryIndex
}

// TerminalCommand continues the conversation in the agent's own interface.
// The id stays. Everything that a chat can set, the command line can.
func (h *handover) TerminalCommand(_ context.Context, req agent.TerminalRequest) (agent.Command, []string, error) {
	if err := checkID(req.Handle.NativeID); err != nil {
		return agent.Command{}, nil, err
	}
	if !filepath.IsAbs(req.Handle.Cwd) {
		return agent.Command{}, nil, errors.New("the conversation has no folder to start in")
	}
	p := &provider{host: h.host}
	program, err := p.find(req.Binary)
	if err != nil {
		return agent.Command{}, nil, err
	}
	mode := or(req.Mode, modeAsk)
	if !knownMode(mode) {
		return agent.Command{}, nil, failure(fmt.Sprintf("Claude Code has no mode %q", mode))
	}
	// Without the flag the interface starts in a mode that decides by itself.
	open, _ := openArgs(h.host, req.Handle)
	argv := append([]string{program}, append(open, "--permission-mode", mode)...)
	if req.Model != "" && req.Model != "default" {
		argv = append(argv, "--model", req.Model)
	}
	if req.Thinking != "" {
		argv = append(argv, "--effort", req.Thinking)
	}
	return agent.Command{
		Argv: append(argv, req.Args...), Env: locating(h.host, req.Handle.Env), Cwd: req.Handle.Cwd,
	}, nil, nil
}

// Owner says who may write now: a live process that the registry ties to the
// session, or one that was started on it and has not registered yet.
func (h *handover) Owner(_ context.Context, hd agent.Handle, ignore []int) (agent.Ownership, error) {
	if err := checkID(hd.NativeID); err != nil {
		return agent.Ownership{}, err
	}
	config := configDir(h.host, hd.Env)
	r, err := readRegistry(config)
	if err != nil {
		return agent.Ownership{Owner: agent.OwnerUnclear, Evidence: "the list of live sessions cannot be read: " + err.Error()}, nil
	}
	var holders []entry
	for _, e := range r.live {
		if e.SessionID == hd.NativeID && !slices.Contains(ignore, e.Pid) {
			holders = append(holders, e)
		}
	}
	for _, e := range holders {
		if e.link != agent.LinkProved {
			return agent.Ownership{
				Owner: agent.OwnerUnclear, Pid: e.Pid, Link: e.link, Since: e.StartedAt,
				Evidence: e.evidence() + " (its start time is not told, so it cannot be proved)",
			}, nil
		}
	}
	if len(holders) > 0 {
		e := holders[0]
		o := agent.Ownership{
			Owner: agent.OwnerTerminal, Pid: e.Pid, Link: agent.LinkProved, Since: e.StartedAt, Evidence: e.evidence(),
		}
		if len(holders) > 1 {
			o.Link = agent.LinkAmbiguous
			o.Evidence = fmt.Sprintf("%d processes write to this session", len(holders))
			for _, x := range holders {
				o.Faces = append(o.Faces, x.Pid)
			}
		}
		return o, nil
	}
	for _, pid := range append(slices.Clone(r.keys), r.torn...) {
		if o, starting := h.starting(pid, hd.NativeID, ignore, slices.Contains(r.torn, pid)); starting {
			return o, nil
		}
	}
	return agent.Ownership{Owner: agent.OwnerNobody, Evidence: "no live Claude Code names this session"}, nil
}

// starting looks at a process that has a key but no entry (it may still ask for
// trust) or an entry that is half written.
func (h *handover) starting(pid int, id string, ignore []int, torn bool) (agent.Ownership, bool) {
	who, err := agentkit.Identify(pid)
	if err != nil || slices.Contains(ignore, pid) {
		return agent.Ownership{}, false
	}
	argv, err := agentkit.Argv(who.Pid)
	if err == nil {
		if rec := (recognizer{}).Recognize("", argv); rec.SessionID == id {
			return agent.Ownership{
				Owner: agent.OwnerTerminal, Pid: pid, Link: agent.LinkProved, Evidence: "it was started on this session and is starting or ending",
			}, true
		}
	}
	if torn {
		return agent.Ownership{
			Owner: agent.OwnerUnclear, Pid: pid, Evidence: fmt.Sprintf("sessions/%d.json is being written", pid),
		}, true
	}
	return agent.Ownership{}, false
}

// Tip returns the newest id of the conversation. This program keeps the id
// when it resumes; what it starts with /clear or a fork is another
// conversation.
func (h *handover) Tip(_ context.Context, hd agent.Handle) (agent.Handle, error) {
	if err := checkID(hd.NativeID); err != nil {
		return agent.Handle{}, err
	}
	return hd, nil
}

// ChangeDirs are the live registry and the transcript's folder.
func (h *handover) ChangeDirs(hd agent.Handle) []string {
	config := configDir(h.host, hd.Env)
	dirs := []string{sessionsDir(config)}
	if path, _ := transcriptPath(config, hd.NativeID, hd.Cwd); path != "" {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

// RequestExit asks the terminal's process to end, if it still is the one that
// owns the session.
func (h *handover) RequestExit(ctx context.Context, hd agent.Handle, o agent.Ownership) error {
	now, err := h.Owner(ctx, hd, nil)
	if err != nil {
		return err
	}
	if now.Owner != agent.OwnerTerminal || now.Link != agent.LinkProved || now.Pid != o.Pid {
		return errors.New("the process that held this session is not the owner any more")
	}
	who, err := agentkit.Identify(now.Pid)
	if errors.Is(err, agentkit.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return who.Signal(syscall.SIGTERM)
}

var (
	_ agent.Handover      = (*handover)(nil)
	_ agent.ExitRequester = (*handover)(nil)
	_ agent.Importer      = (*handover)(nil)
)
