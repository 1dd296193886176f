package chats

import (
	"context"

	"github.com/whippletree-app/whippletree/backend/model"
)

// step moves the turn. It is the only place that changes the phase. What the
// windows see of a move is published once, after its last action: nobody sees a
// chat between two of them.
func (c *chat) step(h happening) {
	c.steps++
	mv := table[c.phase][h]
	c.phase = mv.to
	for _, a := range mv.acts {
		c.act(a)
	}
	c.steps--
	if c.steps > 0 {
		return
	}
	c.refresh()
	if later := c.whenOpen; len(later) > 0 && c.phase != phOpening {
		c.whenOpen = nil
		for _, do := range later {
			do()
		}
	}
}

// act does one thing of a move.
func (c *chat) act(a action) {
	switch a {
	case actProbe:
		c.startProbe()
	case actPark:
		c.park("")
	case actOpen:
		c.open()
	case actPrompt:
		c.prompt()
	case actBeginAgent:
		c.beginAgent()
	case actAbort:
		c.live.cancel(context.Canceled)
	case actAbandon:
		c.forget()
	case actCancel:
		c.cancel()
	case actBound:
		c.bound(c.m.o.StopBound)
	case actDyingBound:
		c.bound(min(dyingBound, c.m.o.StopBound))
	case actClearBound:
		c.owedErr = ""
		c.deadline(dlBound, noTime)
	case actKill:
		c.deadline(dlBound, noTime)
		c.kill()
	case actRestart:
		c.restart()
	case actEnd:
		c.end(c.turn.end)
	case actEndCanceled:
		c.end(c.canceledEnd())
	case actEndKilled:
		c.end(c.killedEnd())
	case actEndCrashed:
		c.end(c.crashedEnd())
	case actEndDead:
		c.end(deadEnd)
	case actEndRefused, actEndOpen:
		c.refuse(c.turn.end)
	case actForget:
		c.forget()
	case actWithdraw:
		c.withdrawAll()
	case actLate:
		c.tl.late++
	case actPump:
		c.pump()
	}
}

// public is the turn's state as a window shows it.
func (p phase) public() model.TurnState {
	switch p {
	case phIdle, phProbing:
		return model.TurnIdle
	case phOpening:
		return model.TurnOpening
	case phRunning, phDying:
		return model.TurnRunning
	}
	return model.TurnStopping
}

// busy says that the session may still be written to by our agent.
func (c *chat) busy() bool { return c.phase != phIdle || c.turn.open }
