package handoff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// placeApp is a tab of ours.
const placeApp = "app"

// Preview is what the dialog shows before anything happens.
func (m *Manager) Preview(ctx context.Context, chatID string) (model.HandoffPreview, error) {
	rel, busy, err := m.o.Chats.Inspect(ctx, chatID)
	if err != nil {
		return model.HandoffPreview{}, err
	}
	p := model.HandoffPreview{Running: busy, Places: m.places()}
	h, err := m.possible(rel)
	if err != nil {
		p.Why = err.Error()
		return p, nil
	}
	cmd, lost, err := m.command(ctx, h, rel)
	if err != nil {
		p.Why = err.Error()
		return p, nil
	}
	p.Command, p.Lost, p.Printed = cmd, lost, Printed(cmd)
	switch {
	case rel.Hand.State != model.HandApp && rel.Hand.State != "":
		p.Why = "The session is not the app's now."
	case busy:
		p.Why = "The agent is working: continue after this turn, or stop and continue."
	default:
		p.CanNow = true
	}
	return p, nil
}

func (m *Manager) places() []model.PlaceChoice {
	list := []model.PlaceChoice{}
	if m.o.Tabs != nil {
		list = append(list, model.PlaceChoice{ID: placeApp, Label: "A tab here", Default: true})
	}
	if m.o.Natives != nil {
		for _, c := range m.o.Natives.Choices() {
			c.Default = c.Default && len(list) == 0
			list = append(list, c)
		}
	}
	return list
}

// possible says why a chat can never be handed over, if so.
func (m *Manager) possible(rel chats.Released) (agent.Harness, error) {
	h, err := m.handover(rel.Harness)
	switch {
	case rel.Kind == agent.KindConfined:
		return h, chats.Fail(chats.CodeUnsupported, "A confined chat keeps no session of the agent and cannot be continued in a terminal.")
	case err != nil:
		return h, err
	case rel.Handle.NativeID == "":
		return h, chats.Fail(chats.CodeUnsupported, "The agent has no session yet. Send it a message first.")
	}
	if st, err := os.Stat(rel.Cwd); err != nil || !st.IsDir() {
		return h, chats.Fail(chats.CodeUnavailable, "The folder %s is not there any more.", rel.Cwd)
	}
	return h, nil
}

func (m *Manager) command(ctx context.Context, h agent.Harness, rel chats.Released) (agent.Command, []string, error) {
	o := m.o.Overrides(rel.Harness)
	cmd, lost, err := h.Handover.TerminalCommand(ctx, agent.TerminalRequest{Handle: rel.Handle, Mode: rel.Mode, Model: rel.Model,
		Thinking: rel.Thinking, Binary: o.Binary, Args: o.Args})
	if err == nil && len(cmd.Argv) == 0 {
		err = errors.New("the agent names no command")
	}
	if cmd.Cwd == "" {
		cmd.Cwd = rel.Cwd
	}
	return cmd, lost, err
}

// Printed is the command as a line for a POSIX shell, quoted once.
func Printed(cmd agent.Command) string {
	var words []string
	if cmd.Cwd != "" {
		words = append(words, "cd", "--", quote(cmd.Cwd), "&&")
	}
	names := make([]string, 0, len(cmd.Env))
	for k := range cmd.Env {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		words = append(words, k+"="+quote(cmd.Env[k]))
	}
	for _, a := range cmd.Argv {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

func quote(s string) string {
	if q, err := syntax.Quote(s, syntax.LangPOSIX); err == nil {
		return q
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
}

// ToTerminal hands a chat's session to a terminal. The agent is ended and proved
// gone, and its transcript still, before the command is run or shown.
func (m *Manager) ToTerminal(ctx context.Context, r Request) (Result, error) {
	if r.When == "" {
		r.When = chats.WhenNow
	}
	if r.When != chats.WhenNow && r.When != chats.WhenAfterTurn && r.When != chats.WhenStop {
		return Result{}, chats.Fail(chats.CodeInvalid, "A chat is handed over now, afterTurn or stop, not %q.", r.When)
	}
	rel, _, err := m.o.Chats.Inspect(ctx, r.ChatID)
	if err != nil {
		return Result{}, err
	}
	h, err := m.possible(rel)
	if err != nil {
		return Result{}, err
	}
	if err := m.known(&r); err != nil {
		return Result{}, err
	}
	// What has begun is finished even when the window that asked is closed.
	type answer struct {
		res Result
		err error
	}
	out := make(chan answer, 1)
	if !m.spawn(func() {
		res, err := m.release(m.ctx, h, r)
		out <- answer{res, err}
	}) {
		return Result{}, chats.Fail(chats.CodeUnavailable, "The host is being stopped.")
	}
	select {
	case a := <-out:
		return a.res, a.err
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
}

// known checks the place before anything is given up for it.
func (m *Manager) known(r *Request) error {
	if r.PrintOnly {
		return nil
	}
	list := m.places()
	for _, c := range list {
		if c.ID == r.Place || (r.Place == "" && c.Default) {
			r.Place = c.ID
			return nil
		}
	}
	if r.Place == "" && len(list) > 0 {
		r.Place = list[0].ID
		return nil
	}
	return chats.Fail(chats.CodeInvalid, "There is no terminal %q here. Print the command and run it yourself.", r.Place)
}

var errCrash = errors.New("crashed")

func (m *Manager) release(ctx context.Context, h agent.Harness, r Request) (res Result, err error) {
	w := m.ward(r.ChatID)
	done, err := w.pass(ctx)
	if err != nil {
		return res, err
	}
	defer done()
	var tree []processes.Identity
	rel, err := m.o.Chats.Release(ctx, r.ChatID, r.When, model.Hand{State: model.HandReleasing, Since: now()}, func(pid int) { tree = treeOf(pid) })
	if err != nil {
		if rel.ChatID != "" { // it was begun
			m.back(ctx, w, rel, err)
		}
		return res, err
	}
	if m.o.crash("release:closed") != nil {
		return res, errCrash
	}
	if err := m.endAll(ctx, tree); err != nil {
		m.back(ctx, w, rel, err)
		return res, err
	}
	if m.o.crash("release:gone") != nil {
		return res, errCrash
	}
	// What the agent wrote last is read now, and nothing may come after it.
	if err := m.read(ctx, h, r.ChatID, rel.Handle, rel.Applied, ""); err != nil {
		err = chats.Fail(chats.CodeBusy, "The agent's transcript did not come to rest: %v", err)
		m.back(ctx, w, rel, err)
		return res, err
	}
	o, err := h.Handover.Owner(ctx, rel.Handle, nil)
	if err == nil && foreign(o, nil) {
		err = chats.Fail(chats.CodeNotOwner, "Somebody else has the session open: %s.", o.Evidence)
	}
	if err != nil {
		m.back(ctx, w, rel, err)
		return res, err
	}
	cmd, _, err := m.command(ctx, h, rel)
	if err != nil {
		m.back(ctx, w, rel, err)
		return res, err
	}
	if m.o.crash("release:still") != nil {
		return res, errCrash
	}
	m.giveUp(ctx, w)
	return m.launch(ctx, w, rel, r, cmd)
}

// launch runs the command (or lets the person do so) and posts the sentry.
func (m *Manager) launch(ctx context.Context, w *ward, rel chats.Released, r Request, cmd agent.Command) (res Result, err error) {
	res.Printed = Printed(cmd)
	f := watchFor{hand: model.Hand{State: model.HandMirror, Since: now(), Ownership: &agent.Ownership{
		Owner: agent.OwnerTerminal, Link: agent.LinkProved, Since: now(), Evidence: "the app started the command"}}}
	if r.PrintOnly {
		f.print = true
		f.hand.Note = notePrinted
		f.hand.Ownership = &agent.Ownership{Owner: agent.OwnerNobody, Evidence: "the command was printed"}
	} else {
		var pid func(context.Context) (int, error)
		var place model.Place
		place, pid, err = m.open(ctx, rel, r.Place, cmd)
		if err != nil {
			err = &chats.Error{Code: chats.CodeUnavailable, Message: "The terminal could not be opened: " + err.Error() + ". The command is: " + res.Printed}
			m.back(ctx, w, rel, err)
			return res, err
		}
		f.hand.Place = &place
		res.TerminalID = place.TerminalID
		f.launched = m.report(pid)
	}
	if m.o.crash("release:launched") != nil {
		return res, errCrash
	}
	if err := m.o.Chats.SetHand(ctx, r.ChatID, f.hand); err != nil {
		return res, err
	}
	res.Hand = f.hand
	return res, m.post(r.ChatID, rel.Handle, f)
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

// back gives a session that could not be handed over back to its chat, and says
// what happened.
func (m *Manager) back(ctx context.Context, _ *ward, rel chats.Released, why error) {
	if m.ctx.Err() != nil {
		return
	}
	hand := model.Hand{State: model.HandApp, Since: now(), Note: "Not continued in a terminal: " + why.Error()}
	if err := m.o.Chats.SetHand(ctx, rel.ChatID, hand); err != nil {
		m.o.Log.Warn("a session could not be given back to its chat", "chat", rel.ChatID, "err", err)
	}
}

// TakeBack takes a session back from a terminal: at once when it is free, by
// asking the terminal's agent to exit with force.
func (m *Manager) TakeBack(ctx context.Context, chatID string, force bool) (model.Hand, error) {
	rel, busy, err := m.o.Chats.Inspect(ctx, chatID)
	if err != nil {
		return model.Hand{}, err
	}
	if rel.Hand.State == model.HandApp || rel.Hand.State == "" {
		return rel.Hand, nil
	}
	if busy {
		return rel.Hand, chats.Fail(chats.CodeBusy, "The running turn is finished first.")
	}
	w := m.ward(chatID)
	w.mu.Lock()
	s := w.sentry
	w.mu.Unlock()
	if s == nil {
		if rel.Hand.State == model.HandReleasing {
			return rel.Hand, chats.Fail(chats.CodeBusy, "The session is on its way to the terminal.")
		}
		if s, rel, err = m.summon(ctx, w); err != nil || s == nil {
			return rel.Hand, err
		}
	}
	c := takeBack{force: force, out: make(chan error, 1)}
	select {
	case s.cmds <- c:
		select {
		case err = <-c.out:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	case <-s.done: // taken back meanwhile
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if rel, _, ierr := m.o.Chats.Inspect(ctx, chatID); ierr == nil {
		return rel.Hand, err
	}
	return model.Hand{}, err
}

// summon returns the sentry of a session that is not the app's, posting one when
// there is none. It waits for a passing under way: our own agent may be just
// ending. No sentry and no error: the session is the app's again.
func (m *Manager) summon(ctx context.Context, w *ward) (*sentry, chats.Released, error) {
	done, err := w.pass(ctx)
	if err != nil {
		return nil, chats.Released{}, err
	}
	defer done()
	rel, _, err := m.o.Chats.Inspect(ctx, w.chatID)
	if err != nil || rel.Hand.State == model.HandApp || rel.Hand.State == "" {
		return nil, rel, err
	}
	if err := m.post(w.chatID, rel.Handle, watchFor{hand: rel.Hand}); err != nil {
		return nil, rel, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sentry, rel, nil
}

// treeOf is a process with all that descends from it, now.
func treeOf(pid int) []processes.Identity {
	if pid <= 0 {
		return nil
	}
	t, err := processes.Snapshot()
	if err != nil {
		id, err := processes.Identify(pid)
		if err != nil {
			return nil
		}
		return []processes.Identity{id}
	}
	var list []processes.Identity
	if p, ok := t.Get(pid); ok {
		list = append(list, p.Identity)
	}
	for _, p := range t.Descendants(pid) {
		list = append(list, p.Identity)
	}
	return list
}

// endAll proves that none of these processes lives: what the close left is ended
// by TERM, then KILL.
func (m *Manager) endAll(ctx context.Context, tree []processes.Identity) error {
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		var left []processes.Identity
		for _, id := range tree {
			if id.Alive() {
				left = append(left, id)
			}
		}
		if len(left) == 0 {
			return nil
		}
		tree = left
		if sig == 0 {
			continue
		}
		for _, id := range left {
			_ = id.Signal(sig)
		}
		m.awaitGone(ctx, left)
	}
	for _, id := range tree {
		if id.Alive() {
			return &chats.Error{Code: chats.CodeBusy, Message: fmt.Sprintf("Process %d of the agent did not end, so the session is not handed over.", id.Pid), Fix: fmt.Sprintf("kill -9 %d", id.Pid)}
		}
	}
	return nil
}

func (m *Manager) awaitGone(ctx context.Context, ids []processes.Identity) {
	ctx, cancel := context.WithTimeout(ctx, m.o.GoneWithin)
	defer cancel()
	for _, id := range ids {
		gone := make(chan struct{})
		stop, err := m.o.Exits.Watch(id, func() { close(gone) })
		if err != nil {
			continue
		}
		select {
		case <-gone:
		case <-ctx.Done():
		}
		stop()
	}
}
