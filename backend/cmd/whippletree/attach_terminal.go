package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/charmbracelet/x/term"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

// detachKey is Ctrl-]: everything else goes to the terminal.
const detachKey = 0x1d

// attachTerminal shows a terminal of ours in this one until its program ends,
// standard input ends or Ctrl-] is typed.
func (p *program) attachTerminal(ctx context.Context, s *session, id string) error {
	over := make(chan struct{})
	var once sync.Once
	end := func() { once.Do(func() { close(over) }) }
	_, err := s.Subscribe(ctx, api.TopicTerminals, api.Subscriber{
		Snapshot: func(raw json.RawMessage) {
			var list []model.Terminal
			_ = json.Unmarshal(raw, &list)
			for _, t := range list {
				if t.ID == id && t.Running {
					return
				}
			}
			end()
		},
		Event: func(e api.Event) {
			var t model.Terminal
			var gone api.Removed
			_ = json.Unmarshal(e.Data, &t)
			_ = json.Unmarshal(e.Data, &gone)
			if (e.Type == api.EventUpsert && t.ID == id && !t.Running) || (e.Type == api.EventRemove && len(gone.IDs) == 1 && gone.IDs[0] == id) {
				end()
			}
		},
	})
	if err != nil {
		return err
	}
	cols, rows := p.size()
	show := func(b []byte) { _, _ = p.out.Write(b) } // the keeper's stream is made for a terminal
	st, _, err := s.Attach(ctx, api.AttachTerminal{ID: id, Cols: cols, Rows: rows, Focus: true}, api.TerminalReader{Replay: show, Output: show, Closed: end})
	if err != nil {
		return err
	}
	if isTerminal(p.in.Fd()) {
		old, err := term.MakeRaw(p.in.Fd())
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(p.in.Fd(), old) }()
		resized := make(chan os.Signal, 1)
		signal.Notify(resized, syscall.SIGWINCH)
		defer signal.Stop(resized)
		go p.resizes(ctx, s, id, resized, over)
	}
	go func() { // ends with the process: a read of standard input cannot be taken back
		if !p.typed(st) {
			return // input that is no terminal's has ended: what comes is still shown
		}
		end()
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return nil
	}
}

// typed passes on what is typed; true: the person detached.
func (p *program) typed(st *api.ClientStream) bool {
	buf := make([]byte, 4096)
	for {
		n, err := p.in.Read(buf)
		b := buf[:n]
		i := bytes.IndexByte(b, detachKey)
		if i >= 0 {
			b = b[:i]
		}
		if len(b) > 0 && st.Input(b) != nil {
			return true
		}
		if i >= 0 || err != nil {
			return i >= 0
		}
	}
}

func (p *program) resizes(ctx context.Context, s *session, id string, resized <-chan os.Signal, over <-chan struct{}) {
	for {
		select {
		case <-resized:
			cols, rows := p.size()
			_, _ = api.Call[api.None](ctx, s.Client, "terminals.resize", api.ResizeTerminal{ID: id, Cols: cols, Rows: rows})
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// size is this terminal's; 0 leaves the other one alone.
func (p *program) size() (cols, rows int) {
	f, ok := p.out.(*os.File)
	if !ok {
		return 0, 0
	}
	w, h, err := term.GetSize(f.Fd())
	if err != nil {
		return 0, 0
	}
	return w, h
}

// isOurTerminal tells whether an id names a terminal of ours.
func isOurTerminal(ctx context.Context, s *session, id string) (bool, error) {
	list, err := api.Call[api.Terminals](ctx, s.Client, "terminals.list", api.None{})
	if err != nil {
		return false, err
	}
	for _, t := range list.Terminals {
		if t.ID == id {
			return true, nil
		}
	}
	return false, nil
}
