package host

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
	"github.com/whippletree-app/whippletree/backend/model"
)

// observed is what the host sees of sessions it does not own.
type observed struct {
	host *Host
}

func (h *Host) newObserved(_ *agentkit.Host, _ []agent.Harness) (*observed, error) {
	return &observed{host: h}, nil
}

func (o *observed) start()                     {}
func (o *observed) stop(context.Context) error { return nil }
func (o *observed) switched(string, bool)      {}
func (h *Host) activity()                      {}

func (h *Host) placeOf(int) model.Place { return model.Place{Kind: "external", External: true} }
