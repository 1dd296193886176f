package chats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// listen arms the deadline of silence for a running turn.
func (c *chat) listen() {
	c.heard = c.now()
	c.deadline(dlSilence, c.heard.Add(c.m.o.Timing().SilentAfter))
}

// quiet is the end of a time without a word of the agent.
func (c *chat) quiet(now time.Time) {
	if !c.turn.open {
		return
	}
	bound := c.m.o.Timing().SilentAfter
	if next := c.heard.Add(bound); next.After(now) {
		c.deadline(dlSilence, next)
		return
	}
	if c.turn.implicit && c.ownAsks() == 0 {
		c.turn.end = agent.TurnEnd{Outcome: agent.OutcomeCompleted,
			Text: fmt.Sprintf("The agent had started this by itself and was silent for %s.", bound)}
		c.step(hapEnded)
		return
	}
	c.showSilence()
}

func (c *chat) showSilence() {
	c.silent = c.wall() - c.now().Sub(c.heard).Milliseconds()
	c.publishDetail()
}

// rest arms the release of an idle agent.
func (c *chat) rest() {
	c.awake, c.idleSince = c.asleep(), c.now()
	c.due[dlIdle] = noTime
	if after := c.m.o.Timing().IdleAfter; after > 0 {
		c.due[dlIdle] = c.now().Add(after)
	}
	c.arm()
}

// idleOut releases an idle agent; it is resumed at the next prompt. The setting
// may have changed since the deadline was armed.
func (c *chat) idleOut() {
	after := c.m.o.Timing().IdleAfter
	if after <= 0 {
		return
	}
	if due := c.idleSince.Add(after); due.After(c.now()) {
		c.deadline(dlIdle, due)
		return
	}
	if c.phase == phIdle && c.live != nil && !c.turn.open && c.resumable() {
		c.forget()
	}
}

// resumable says that a new process goes on where the living one stands. A
// confined chat has nothing to resume from and keeps its process.
func (c *chat) resumable() bool {
	return c.rec.Kind == agent.KindWorkspace && c.rec.Handle != nil
}

// sleepCounts is the sleep of the machine that an agent's connections are not
// believed to have survived.
const sleepCounts = 5 * time.Second

// asleep is how long the machine has slept since it was booted.
func (c *chat) asleep() time.Duration {
	if c.m.o.Asleep == nil {
		return 0
	}
	return c.m.o.Asleep()
}

// overslept says that the machine slept since the agent last did something: what
// it holds open to its service is likely dead, and would fail only after minutes.
func (c *chat) overslept() bool { return c.asleep()-c.awake >= sleepCounts }

// expectAnswer arms the deadline for a sign of life after a prompt was handed to
// the agent, or after something was said while it seemed to work.
func (c *chat) expectAnswer() {
	c.spoke = false
	c.deadline(dlAnswer, c.now().Add(c.m.o.AnswerBound))
}

// unanswered: the agent got something and gave no sign since. A program that is
// provably not there any more fails the turn; else its silence is shown.
func (c *chat) unanswered() {
	if !c.turn.open || c.phase != phRunning || c.spoke {
		return
	}
	l := c.live
	if pid := l.ready.Pid; pid > 0 && c.m.o.Frozen != nil && c.m.o.Frozen(pid) {
		c.step(hapDead)
		return
	}
	p, ok := l.session.(agent.Pinger)
	if !ok {
		c.doubt()
		return
	}
	n := c.turn.n
	c.call(l, func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, c.m.o.AnswerBound*5/4, errNoAnswer)
		defer cancel()
		return nil, p.Ping(ctx)
	}, func(_ any, err error) {
		if l != c.live || n != c.turn.n || !c.turn.open || c.phase != phRunning || c.spoke {
			return
		}
		switch {
		case err == nil:
			c.doubt()
		case errors.Is(err, errNoAnswer) && !c.suspect: // slow is not dead
			c.showSilence()
		default:
			c.step(hapDead)
		}
	})
}

// doubt shows the silence of an agent whose program is there as far as anybody
// can tell: at once only when there is a reason, for models take their time.
func (c *chat) doubt() {
	if c.suspect {
		c.showSilence()
	}
}

var errNoAnswer = errors.New("the agent's program does not answer")

// deadEnd is the end of a turn whose agent does not answer.
var deadEnd = agent.TurnEnd{Outcome: agent.OutcomeFailed, Reason: "unresponsive",
	Text: "The agent's program does not answer any more. It is ended; the next message starts it anew."}

// afterSleep looks at a turn that seemed to run while the machine slept, when a
// person says something.
func (c *chat) afterSleep() {
	if c.turn.open && c.phase == phRunning && c.overslept() {
		c.awake = c.asleep()
		c.suspect = true
		c.expectAnswer()
		c.publish(eventNotice, agent.Notice{Level: agent.LevelInfo, Text: "The computer slept while the agent was working. If it stays silent, stop it: your message is sent then."})
	}
}
