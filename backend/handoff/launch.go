package handoff

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// launch runs the command (or lets the person do so) and posts the sentry.
func (m *Manager) launch(ctx context.Context, rel chats.Released, r Request, cmd agent.Command) (res Result, err error) {
	res.Printed = Printed(cmd)
	f := watchFor{hand: model.Hand{State: model.HandMirror, Since: now(), Ownership: &agent.Ownership{
		Owner: agent.OwnerTerminal, Link: agent.LinkProved, Since: now(), Evidence: "the app started the command"}}}
	if r.PrintOnly {
		f.print = true
		f.hand.Note = notePrinted
		f.hand.Ownership = &agent.Ownership{Owner: agent.OwnerNobody, Evidence: "the command was printed"}
	} else {
		// Stored before anything is opened: a host that is killed from here on leaves
		// a terminal behind that is just starting.
		going := model.Hand{State: model.HandReleasing, Since: now(), Place: m.destination(r.Place)}
		if err := m.o.Chats.SetHand(ctx, r.ChatID, going); err != nil {
			m.back(ctx, rel, err)
			return res, err
		}
		var pid func(context.Context) (int, error)
		var place model.Place
		place, pid, err = m.open(ctx, rel, r.Place, cmd)
		if err != nil {
			err = &chats.Error{Code: chats.CodeUnavailable, Message: "The terminal could not be opened: " + err.Error() + ". The command is: " + res.Printed}
			m.back(ctx, rel, err)
			return res, err
		}
		f.hand.Place = &place
		res.TerminalID = place.TerminalID
		f.launched = m.report(pid)
	}
	if m.o.crash(r.ChatID, "release:launched") != nil {
		return res, errCrash
	}
	if err := m.o.Chats.SetHand(ctx, r.ChatID, f.hand); err != nil {
		return res, err
	}
	res.Hand = f.hand
	return res, m.post(r.ChatID, rel.Handle, f)
}

// destination is where the command is about to be run.
func (m *Manager) destination(id string) *model.Place {
	p := model.Place{Kind: "terminal", App: id, Label: id}
	if id == placeApp {
		p = model.Place{Kind: "tab"}
	}
	for _, c := range m.places() {
		if c.ID == id {
			p.Label = c.Label
		}
	}
	return &p
}

// report waits beside everything for the launch to tell the agent's pid.
func (m *Manager) report(pid func(context.Context) (int, error)) <-chan launch {
	out := make(chan launch, 1)
	m.spawn(func() {
		ctx, cancel := context.WithTimeout(m.ctx, m.o.OwnerWithin)
		defer cancel()
		n, err := pid(ctx)
		l := launch{err: err}
		if err == nil {
			l.id, l.err = processes.Identify(n)
		}
		out <- l
	})
	return out
}

func (m *Manager) open(ctx context.Context, rel chats.Released, place string, cmd agent.Command) (model.Place, func(context.Context) (int, error), error) {
	title := "Chat"
	if s, ok := m.o.Chats.Summary(rel.ChatID); ok && s.Title != "" {
		title = s.Title
	}
	if place != placeApp {
		return m.o.Natives.Open(ctx, place, cmd, title)
	}
	file, err := m.recordFile()
	if err != nil {
		return model.Place{}, nil, err
	}
	t, err := m.o.Tabs.OpenTab(ctx, TabSpec{ChatID: rel.ChatID, Title: title, Argv: recorded(file, cmd.Argv), Env: cmd.Env, Cwd: cmd.Cwd})
	if err != nil {
		return model.Place{}, nil, err
	}
	p := model.Place{Kind: "tab", TerminalID: t.ID, Label: t.Title, CanFocus: true}
	return p, func(ctx context.Context) (int, error) { return m.readRecord(ctx, file) }, nil
}

// recordFile names a fresh launch record.
func (m *Manager) recordFile() (string, error) {
	dir, err := os.MkdirTemp(m.o.RunDir, "launch-")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "pid"), nil
}

// recorded is argv behind a line of shell that writes down the process id which
// the agent is going to have, and then becomes the agent.
func recorded(file string, argv []string) []string {
	const script = `printf '%s\n' "$$" > "$1.new" && mv -f -- "$1.new" "$1"; shift; exec "$@"`
	return append([]string{"/bin/sh", "-c", script, "sh", file}, argv...)
}

func (m *Manager) readRecord(ctx context.Context, file string) (int, error) {
	dir := filepath.Dir(file)
	defer os.RemoveAll(dir)
	wakes, stop := m.watchDirs(ctx, []string{dir})
	defer stop()
	for {
		b, err := os.ReadFile(file)
		if err == nil {
			return strconv.Atoi(strings.TrimSpace(string(b)))
		}
		select {
		case <-wakes:
		case <-ctx.Done():
			return 0, errors.New("the terminal did not report the command's process")
		}
	}
}
