package host

import (
	"context"
	"path/filepath"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/chats"
	"github.com/whippletree-app/whippletree/backend/handoff"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

func (h *Host) newHandoff(run string) (*handoff.Manager, error) {
	launches, locks := filepath.Join(run, "launch"), h.lockDir()
	for _, dir := range []string{launches, locks} {
		if err := privateDir(dir); err != nil {
			return nil, err
		}
	}
	return handoff.New(handoff.Options{
		Chats: h.chats, Store: h.store, Harnesses: h.harnesses, Overrides: h.overrides,
		Tabs: tabs{h.terminals}, Natives: natives{h.native, launches}, Exits: h.exits,
		Watch:   func(dir string) handoff.Watch { return h.watcher.Watch(dir) },
		PlaceOf: h.placeOf, RunDir: launches, LockDir: locks, Holder: h.epoch, Log: h.log,
	}), nil
}

// lockDir is one fixed folder of the user for all their hosts: two hosts with
// different homes may meet on one session (DECISIONS 27).
func (h *Host) lockDir() string {
	if h.o.UserHome == "" {
		return filepath.Join(h.o.Home, "locks")
	}
	return filepath.Join(h.o.UserHome, ".local", "state", "whippletree", "locks")
}

// tabs opens tabs of ours for package handoff.
type tabs struct{ terminals *terminals.Manager }

func (t tabs) OpenTab(ctx context.Context, s handoff.TabSpec) (model.Terminal, error) {
	return t.terminals.Create(ctx, terminals.CreateSpec{Cwd: s.Cwd, Argv: s.Argv, Env: s.Env, Title: s.Title, ChatID: s.ChatID})
}

// afterReap lets nobody write before what an earlier host left is gone. It
// keeps everything else of the guard.
type afterReap struct {
	*handoff.Manager
	reaped <-chan struct{}
}

func (g afterReap) MayWrite(ctx context.Context, c chats.Claim) error {
	select {
	case <-g.reaped:
		return g.Manager.MayWrite(ctx, c)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Host) bindHandoff() {
	s := h.server
	api.HandleConcurrent(s, "handoff.preview", func(ctx context.Context, _ *api.Caller, r api.ChatRef) (model.HandoffPreview, error) {
		return h.handoff.Preview(ctx, r.ChatID)
	})
	api.HandleConcurrent(s, "handoff.toTerminal", func(ctx context.Context, _ *api.Caller, r api.HandoffRequest) (api.HandoffResult, error) {
		if r.Place == "" && !r.PrintOnly {
			r.Place = h.settings.Values().Terminal.App
		}
		got, err := h.handoff.ToTerminal(ctx, handoff.Request{ChatID: r.ChatID, Place: r.Place, When: chats.When(r.When), PrintOnly: r.PrintOnly})
		return api.HandoffResult{Hand: got.Hand, TerminalID: got.TerminalID, Printed: got.Printed}, err
	})
	api.HandleConcurrent(s, "handoff.withdraw", func(ctx context.Context, _ *api.Caller, r api.ChatRef) (api.HandResult, error) {
		hand, err := h.handoff.Withdraw(ctx, r.ChatID)
		return api.HandResult{Hand: hand}, err
	})
	api.HandleConcurrent(s, "handoff.takeBack", func(ctx context.Context, _ *api.Caller, r api.TakeBack) (api.HandResult, error) {
		hand, err := h.handoff.TakeBack(ctx, r.ChatID, r.Force)
		return api.HandResult{Hand: hand}, err
	})
}
