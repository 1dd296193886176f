package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/terminals"
)

func (h *Host) bindTerminals() {
	s := h.server
	api.Handle(s, "terminals.list", func(context.Context, *api.Caller, api.None) (api.Terminals, error) {
		return api.Terminals{Terminals: orEmpty(h.terminals.List())}, nil
	})
	api.Handle(s, "terminals.create", func(ctx context.Context, c *api.Caller, r api.CreateTerminal) (api.TerminalResult, error) {
		if err := h.person(c, "open a terminal"); err != nil {
			return api.TerminalResult{}, err
		}
		t, err := h.terminals.Create(ctx, terminals.CreateSpec{
			Cwd: r.Cwd, Argv: r.Argv, Env: r.Env, Cols: r.Cols, Rows: r.Rows, Title: r.Title,
		})
		return api.TerminalResult{Terminal: t}, err
	})
	api.Handle(s, "terminals.attach", h.attach)
	api.Handle(s, "terminals.detach", func(_ context.Context, c *api.Caller, r api.DetachTerminal) (api.None, error) {
		if st := c.Stream(r.Stream); st != nil {
			st.Close()
		}
		return api.None{}, nil
	})
	api.Handle(s, "terminals.resize", func(_ context.Context, _ *api.Caller, r api.ResizeTerminal) (api.None, error) {
		return api.None{}, h.terminals.Resize(r.ID, r.Cols, r.Rows)
	})
	api.Handle(s, "terminals.colors", func(_ context.Context, _ *api.Caller, r api.TerminalColors) (api.None, error) {
		h.terminals.SetColors(terminals.Colors(r))
		return api.None{}, nil
	})
	api.HandleConcurrent(s, "terminals.close", func(ctx context.Context, _ *api.Caller, r api.TerminalRef) (api.None, error) {
		return api.None{}, h.terminals.Close(ctx, r.ID)
	})
	api.Handle(s, "terminals.apps", func(context.Context, *api.Caller, api.None) (api.TerminalApps, error) {
		return api.TerminalApps{Apps: orEmpty(natives{native: h.native}.Choices())}, nil
	})
	api.Handle(s, "terminals.read", func(_ context.Context, _ *api.Caller, r api.ReadTerminal) (api.TerminalText, error) {
		if _, ok := h.terminals.Get(r.ID); !ok {
			return api.TerminalText{}, notFound("There is no terminal %s.", r.ID)
		}
		return api.TerminalText{Lines: orEmpty(h.terminals.Read(r.ID, r.Lines))}, nil
	})
}

// attach shows a terminal on the caller's connection.
func (h *Host) attach(_ context.Context, c *api.Caller, r api.AttachTerminal) (api.Attached, error) {
	if err := h.person(c, "type into a terminal"); err != nil {
		return api.Attached{}, err
	}
	end := &viewer{attached: make(chan struct{})}
	stream := c.OpenStream(end)
	if stream == nil {
		return api.Attached{}, context.Canceled
	}
	a, t, err := h.terminals.Attach(r.ID, r.Cols, r.Rows, r.Focus, func(kind terminals.Frame, p []byte) {
		switch kind {
		case terminals.Replay:
			stream.Replay(p)
		case terminals.ReplayEnd:
			stream.ReplayEnd()
		case terminals.Output:
			stream.Output(p)
		}
	})
	end.attachment = a
	close(end.attached)
	if err != nil {
		stream.Close()
		return api.Attached{}, err
	}
	return api.Attached{Stream: stream.ID(), Terminal: t}, nil
}

// viewer passes on what a window sends.
type viewer struct {
	attached   chan struct{}
	attachment *terminals.Attachment // nil when attaching failed
}

func (v *viewer) Input(p []byte) {
	<-v.attached
	if v.attachment != nil {
		_ = v.attachment.Input(p) // a program that does not read loses what is typed beyond the bound
	}
}

func (v *viewer) Acked(total uint64) {
	<-v.attached
	if v.attachment != nil {
		v.attachment.Ack(total)
	}
}

func (v *viewer) Closed() {
	<-v.attached
	if v.attachment != nil {
		v.attachment.Detach()
	}
}
