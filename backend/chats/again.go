package chats

import (
	"context"
	"slices"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// answerAgain takes an answer to a card whose answer the agent did not
// acknowledge. Which of them the agent gets is not known until it says so, so
// the card keeps them all.
func (c *chat) answerAgain(a *ask, who Caller, r Answer) (bool, model.ApprovalCard, error) {
	if err := fits(a.card.Approval, r.Answer); err != nil {
		return false, a.card, err
	}
	if r.Remember {
		return false, a.card, Fail(CodeInvalid, "Whether the agent got the first answer is not known, so that this one is not remembered.")
	}
	var s agent.Reanswerer
	if c.live != nil && c.live.exit == nil {
		s, _ = c.session().(agent.Reanswerer)
	}
	if s == nil {
		return false, a.card, &Error{
			Code: CodeUnsupported, Message: "This agent cannot be given an answer a second time. Stop the turn and ask it again.",
			Fix: "whippletree stop " + c.id,
		}
	}
	rec := model.RecordedAnswer{ApprovalAnswer: r.Answer, By: who.By, Where: who.Where, At: c.wall()}
	for _, o := range a.card.Options {
		if o.ID == r.Answer.OptionID {
			rec.Label = o.Label
		}
	}
	if a.card.Answer != nil {
		a.card.Earlier = append(slices.Clone(a.card.Earlier), *a.card.Answer)
	}
	a.card.Answer, a.card.State = &rec, model.CardSent
	a.ackBy = c.now().Add(c.m.o.AckBound)
	if c.due[dlAck].IsZero() {
		c.deadline(dlAck, a.ackBy)
	}
	c.storeCard(a.card)
	c.publishCard(a)
	c.refresh()
	id := strings.TrimPrefix(a.card.ID, CardID(c.id, ""))
	c.call(c.live, func(ctx context.Context) (any, error) { return nil, s.Reanswer(ctx, id, r.Answer) }, func(_ any, err error) {
		// Still the same request, and still not acknowledged.
		if err != nil && c.findAsk(a.card.ID) == a && a.card.State == model.CardSent {
			a.card.State = model.CardUnconfirmed
			c.storeCard(a.card)
			c.publishCard(a)
			c.publish(eventNotice, agent.Notice{Level: agent.LevelWarning, Text: "The answer could not be given again: " + err.Error()})
		}
	})
	return true, a.card, nil
}
