package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/terminals/native"
)

// natives opens a chat's command in the person's own terminal.
type natives struct {
	native *native.Terminals
	run    string
}

func (n natives) Choices() []model.PlaceChoice {
	var out []model.PlaceChoice
	for _, c := range n.native.List() {
		out = append(out, model.PlaceChoice{ID: c.ID, Label: c.Label, Default: c.Default})
	}
	return out
}

func (n natives) Open(ctx context.Context, id string, cmd agent.Command, title string) (model.Place, func(context.Context) (int, error), error) {
	l, err := n.native.Open(ctx, id, native.LaunchSpec{Argv: cmd.Argv, Env: cmd.Env, Cwd: cmd.Cwd, Title: title, RunDir: n.run})
	if err != nil {
		return model.Place{}, nil, err
	}
	place := model.Place{Kind: "terminal", App: id, Label: id, CanFocus: true}
	for _, c := range n.native.List() {
		if c.ID == id {
			place.Label = c.Label
		}
	}
	return place, func(ctx context.Context) (int, error) {
		defer l.Close()
		r, err := l.Wait(ctx)
		return r.Agent.Pid, err
	}, nil
}
