package program

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/whippletree-app/whippletree/extensions/rehearsal/wire"
)

// Options that every permission offers.
var permissionOptions = []wire.Option{
	{ID: "yes", Label: "Yes", Means: "allow_once", Reach: "once"},
	{ID: "yes-session", Label: "Yes, and don't ask again in this session", Means: "allow_always", Reach: "session"},
	{ID: "no", Label: "No", Means: "reject_once", Reach: "once", Comment: true, About: "You can say what to do instead"},
}

// ask puts a request to the person and keeps the registry true meanwhile.
func (s *stage) ask(a wire.Ask) (wire.Answer, error) {
	a.ID = uuid.NewString()
	kind := map[string]string{wire.AskTool: "permission", wire.AskPlan: "plan", wire.AskQuestion: "question"}[a.Kind]
	posed := func() {
		s.e.reg.update(func(l *wire.Live) {
			l.Status, l.WaitingFor, l.WaitingKind = wire.StatusWaiting, a.Title, kind
		})
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	if s.e.opt.Withdraw {
		stop := time.AfterFunc(30*time.Millisecond, cancel)
		defer stop.Stop()
	}
	ans, err := s.e.face.Ask(ctx, a, posed)
	if s.ctx.Err() != nil {
		return wire.Answer{}, s.ctx.Err()
	}
	s.e.status(wire.StatusRunning)
	if err != nil { // taken back by ourselves
		return wire.Answer{OptionID: "no", Comment: "withdrawn"}, nil
	}
	if ans.Canceled {
		return ans, errStopped
	}
	return ans, nil
}

// permit asks whether a tool may act. why is set when it may not.
func (s *stage) permit(b *wire.Block, tool, title string) (allowed bool, why string, err error) {
	mode := s.e.inForce().Mode
	switch {
	case mode == modePlan:
		return false, "I am in plan mode, so I leave everything as it is.", nil
	case mode == modeFree, mode == modeEdits && tool == "edit", s.e.isAlways(tool):
		return true, "", nil
	}
	ans, err := s.ask(wire.Ask{
		BlockID: b.ID, Kind: wire.AskTool, Title: title, Options: permissionOptions, Tool: b.Tool,
	})
	if err != nil {
		return false, "", err
	}
	switch ans.OptionID {
	case "yes":
		return true, "", nil
	case "yes-session":
		s.e.setAlways(tool)
		return true, "", nil
	}
	return false, ans.Comment, nil
}
