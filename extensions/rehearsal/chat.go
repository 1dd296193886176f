package rehearsal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/processes"
	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// openDeadline bounds the time from the start of the process to its hello.
const openDeadline = 15 * time.Second

type provider struct{ *kit }

// Availability: the agent is a part of our own binary, so that it is missing
// only when that is.
func (p *provider) Availability(context.Context) (agent.Availability, error) {
	start, err := p.LaunchOf(ID)
	if err != nil {
		return agent.Availability{}, err
	}
	path := p.Executable
	if start.Binary != "" {
		path = start.Binary
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return agent.Availability{Reason: agent.ReasonNotInstalled, Detail: "make build"}, nil
	}
	n := 0
	if list, err := os.ReadDir(p.home(start.Env).Transcripts()); err == nil {
		for _, e := range list {
			if filepath.Ext(e.Name()) == ".jsonl" {
				n++
			}
		}
	}
	return agent.Availability{
		Available: true, Version: wire.Release, Path: path, SignedInAs: "nobody: a demonstration",
		StoredSessions: &n,
	}, nil
}

// Catalog asks a process of its own that keeps nothing.
func (p *provider) Catalog(ctx context.Context, cwd string) (agent.Catalog, error) {
	if cwd == "" {
		cwd = p.Host.Home
	}
	start, err := p.LaunchOf(ID)
	if err != nil {
		return agent.Catalog{}, err
	}
	var got agent.Catalog
	events := catalogOnly{take: func(c agent.Catalog) { got = c }}
	s, err := p.Open(ctx, agent.OpenRequest{Kind: agent.KindConfined, WorkingDirectory: cwd,
		Binary: start.Binary, Args: start.Args, Env: start.Env}, events)
	if err != nil {
		return agent.Catalog{}, err
	}
	err = s.Close(ctx)
	got.FetchedAt = p.Time().UnixMilli()
	return got, err
}

func (p *provider) Open(ctx context.Context, req agent.OpenRequest, events agent.Events) (agent.ChatSession, error) {
	argv, err := p.argv(req)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for k, v := range req.Env {
		env[k] = v
	}
	home := p.home(env)
	if req.Resume != nil {
		home = p.home(req.Resume.Env)
	}
	env[wire.HomeVariable] = string(home)
	if err := os.MkdirAll(string(home), 0o700); err != nil {
		return nil, fmt.Errorf("the rehearsal's data folder cannot be made: %w", err)
	}
	proc, err := p.StartProcess(processes.Spec{
		Argv: argv, Dir: req.WorkingDirectory, Env: p.Environ(env), Purpose: "agent", Owner: req.ChatID,
	})
	if err != nil {
		return nil, err
	}
	s := newSession(proc, events)
	hello := func(h wire.Hello) {
		r := ready(p.kit, home, req, h)
		if r.Handle != nil && r.Handle.Meta != nil {
			written := *r.Handle
			written.Meta = nil
			s.unwritten = &written
		}
		events.Ready(r)
		events.Catalog(catalog(h))
	}
	ctx, cancel := context.WithTimeout(ctx, openDeadline)
	defer cancel()
	if err := s.start(ctx, hello); err != nil {
		err = explain(err, proc)
		closing, stop := context.WithTimeout(context.WithoutCancel(ctx), openDeadline)
		defer stop()
		return nil, errors.Join(err, s.Close(closing))
	}
	return s, nil
}

// explain adds what the process said before it failed to open.
func explain(err error, proc *agentkit.Process) error {
	var said *wire.Error
	if errors.As(err, &said) {
		return said
	}
	text := "the rehearsal did not start"
	if lines, n := proc.NoiseLines(); n > 0 && len(lines) > 0 {
		text += fmt.Sprintf("; it printed %q", lines[0])
	}
	if tail := proc.Stderr(); tail != "" {
		text += ": " + tail
	}
	return fmt.Errorf("%s: %w", text, err)
}

// unwrittenMeta marks a session that nobody has talked to: it has no file yet,
// and opening it again begins it under its id. Any other session without a
// file is lost, and saying so is better than to begin anew in silence.
var unwrittenMeta = json.RawMessage(`{"unwritten":true}`)

func isUnwritten(h agent.Handle) bool {
	var m struct {
		Unwritten bool `json:"unwritten"`
	}
	return json.Unmarshal(h.Meta, &m) == nil && m.Unwritten
}

func ready(k *kit, home wire.Home, req agent.OpenRequest, h wire.Hello) agent.Ready {
	r := agent.Ready{
		Agent: agent.AgentInfo{Name: "Rehearsal", Version: h.Release}, Pid: h.Pid,
		Model: h.Settings.Model, Mode: h.Settings.Mode, Thinking: h.Settings.Thinking,
		Abilities: []agent.Ability{
			agent.AbilityImages, agent.AbilityDocuments, agent.AbilityReasoning, agent.AbilityApprovals,
			agent.AbilityInterrupt, agent.AbilityInputDuringTurn, agent.AbilitySteer, agent.AbilityQueue,
			agent.AbilityModels, agent.AbilityModes, agent.AbilityThinking, agent.AbilityUsage, agent.AbilityCommands,
		},
	}
	if req.Kind == agent.KindWorkspace && h.Session != "" {
		hd := k.handle(home, h.Session, req.WorkingDirectory)
		if !h.Resumed {
			hd.Meta = unwrittenMeta
		}
		r.Handle = &hd
		r.Abilities = append(r.Abilities, agent.AbilitySubagents, agent.AbilityTerminal)
	}
	return r
}

func catalog(h wire.Hello) agent.Catalog {
	c := agent.Catalog{Models: []agent.Model{}, Modes: []agent.Mode{}, Features: []agent.Feature{}, Commands: []agent.CommandInfo{}}
	var levels []agent.Thinking
	for _, t := range h.Thinking {
		levels = append(levels, agent.Thinking{ID: t.ID, Label: t.Label, Default: t.Default})
	}
	for _, m := range h.Models {
		c.Models = append(c.Models, agent.Model{
			ID: m.ID, Label: m.Label, Description: m.About, Default: m.Default,
			Input: []string{"text", "image", "file"}, Context: 200_000, Thinking: levels,
		})
	}
	for _, m := range h.Modes {
		c.Modes = append(c.Modes, agent.Mode{ID: m.ID, Label: m.Label, Description: m.About, Tier: agent.Tier(m.Tier), Default: m.Default})
	}
	for _, m := range h.Commands {
		c.Commands = append(c.Commands, agent.CommandInfo{Name: m.Name, Description: m.About, ArgumentHint: m.Hint, Kind: "command"})
	}
	if raw, err := json.Marshal(c); err == nil {
		sum := sha256.Sum256(raw)
		c.Hash = hex.EncodeToString(sum[:8])
	}
	return c
}

// catalogOnly takes the catalog and ignores everything else.
type catalogOnly struct {
	agent.Events
	take func(agent.Catalog)
}

func (c catalogOnly) Catalog(v agent.Catalog) { c.take(v) }
func (catalogOnly) Ready(agent.Ready)         {}
func (catalogOnly) Exit(agent.Exit)           {}
func (catalogOnly) Failure(string, string)    {}
func (catalogOnly) Settings(agent.Settings)   {}
func (catalogOnly) Title(string)              {}
